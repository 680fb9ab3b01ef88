#!/bin/sh
# SPDX-License-Identifier: MIT
# One meaning per name: no public tag (struct, union, enum tp_*), typedef,
# function or table is declared in two headers, and no source defines a tag of
# that kind that another file has; all public headers (those of CUDA's kernels
# apart, which need nvcc) compile in one file, in either order: so macros and
# constants do not clash either. Needs CC, CHECK_FLAGS.

cd "$srcdir" || exit 99
LC_ALL=C
export LC_ALL
headers=$(find src formats cuda mpi -name '*.h' ! -path cuda/kernels.h \
    ! -path cuda/launch.h ! -path cuda/warp.h | sort)
sources=$(find src formats cuda mpi -name '*.[ch]' -o -name '*.cu' \
    -o -name '*.cuh' -o -name '*.cpp' | sort)
bad=0

# A tag is defined where a brace follows it; a function's name stands before
# the first parenthesis of a line that begins a declaration, or alone at the
# begin of one. A function may be called like what it gives, in the same header
# (struct tp_dtype_info).
# shellcheck disable=SC2086 # no blank in our file names
twice=$(awk '
    FNR == 1 { header = FILENAME ~ /h$/ }
    /^(struct|union|enum) tp_[a-z0-9_]+ *\{/ { seen($2) }
    header && /^(const )?[a-z].*[ *]tp_[a-z0-9_]+\(/ &&
        !/^(return|static inline|typedef)/ { declared("\\(") }
    header && /^tp_[a-z0-9_]+\(/ { declared("\\(") }
    header && /^extern .*[ *]tp_[a-z0-9_]+(\[.*)?;/ { declared("[[;]") }
    header && /^typedef .*[ *]tp_[a-z0-9_]+;/ { declared(";") }
    function declared(end,    name) {
        name = $0
        sub(/ __attribute__.*/, ";", name)
        sub(end ".*", "", name)
        sub(/^.*[ *]/, "", name)
        seen(name)
    }
    function seen(name) {
        names++
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
        if (names < 100)
            print "names: too few are seen"
    }' $sources)
if [ -n "$twice" ]; then
    echo "in more than one file:"
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
