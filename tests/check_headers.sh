#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone, twice in a row; those of CUDA as C++, with the
# emulator. Needs CC, CXX, CHECK_FLAGS.

cd "$srcdir" || exit 99
headers=$(find src formats cuda mpi plots -name '*.h' | sort)
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
for header in $(find cuda -name '*.cuh' | sort); do
    count=$((count + 1))
    # shellcheck disable=SC2086
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        $CXX -std=c++17 -D_POSIX_C_SOURCE=200809L -Isrc -I. -fsyntax-only \
            -include tests/unit/support/cuda_emulator.h -x c++ - || {
        echo "$header does not stand alone"
        bad=$((bad + 1))
    }
done
echo "$count headers, $bad that do not stand alone"
test $bad -eq 0 && test $count -ge 5
