#!/bin/sh
# SPDX-License-Identifier: MIT
# One meaning per name: no public tag (struct, union, enum tp_*), typedef or
# function is declared in two headers, and all public headers (those of CUDA's
# kernels apart, which need nvcc) compile in one file, in either order: so
# macros and constants do not clash either. Needs CC, CHECK_FLAGS.

cd "$srcdir" || exit 99
LC_ALL=C
export LC_ALL
headers=$(find src formats cuda -name '*.h' ! -path cuda/kernels.h \
    ! -path cuda/launch.h ! -path cuda/warp.h | sort)
bad=0

# A tag is defined where a brace follows it; a function's name stands before
# the first parenthesis of a line that begins a declaration. A function may be
# called like what it gives, in the same header (struct tp_dtype_info).
# shellcheck disable=SC2086 # no blank in our file names
twice=$(awk '
    /^(struct|union|enum) tp_[a-z0-9_]+ *\{/ { seen($2) }
    /^[a-z].*[ *]tp_[a-z0-9_]+\(/ && !/^(return|static inline)/ {
        name = $0
        sub(/\(.*/, "", name)
        sub(/^.*[ *]/, "", name)
        seen(name)
    }
    function seen(name) {
        if (!((name, FILENAME) in known)) {
            known[name, FILENAME] = 1
            where[name] = where[name] " " FILENAME
            count[name]++
        }
    }
    END {
        for (name in count)
            if (count[name] > 1)
                print name ":" where[name]
    }' $headers)
if [ -n "$twice" ]; then
    echo "declared in more than one header:"
    echo "$twice"
    bad=1
fi

one_file()
{
    # shellcheck disable=SC2086 # CC and the flags are lists of words
    sed 's/.*/#include "&"/' |
        $CC $CHECK_FLAGS -fsyntax-only -x c -I. - || bad=1
}
echo "$headers" | one_file
echo "$headers" | sort -r | one_file
count=$(echo "$headers" | wc -l)
echo "$count headers in one file"
test $bad -eq 0 && test "$count" -ge 20
