#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone, twice in a row. Needs CC, CHECK_FLAGS.

cd "$srcdir" || exit 99
headers=$(find src formats cuda plots -name '*.h' | sort)
bad=0
count=0
for header in $headers; do
    count=$((count + 1))
    # shellcheck disable=SC2086 # CC and the flags are lists of words
    printf '#include "%s"\n#include "%s"\ntypedef int tp_unit;\n' \
        "$header" "$header" |
        $CC $CHECK_FLAGS -fsyntax-only -x c -I. - || {
        echo "$header does not stand alone"
        bad=$((bad + 1))
    }
done
echo "$count headers, $bad that do not stand alone"
test $bad -eq 0 && test $count -ge 5
