#!/bin/sh
# SPDX-License-Identifier: MIT
# The sizes CONTRIBUTING.md promises, measured with universal-ctags: lines of
# functions and files, parameters, and a comment at every prototype.

ctags --version 2> /dev/null | grep -q Universal || {
    echo "skipped: no universal-ctags"
    exit 77
}
cd "$srcdir" || exit 99
sources=$(find src formats cuda mpi -name '*.[ch]' -o -name '*.cu' \
    -o -name '*.cuh' -o -name '*.cpp' -o -name '*_*.inc' | sort)
# shellcheck disable=SC2086 # no blank in our file names
ctags -f - --languages=C,C++,CUDA --langmap=CUDA:.cu.cuh,C:+.inc \
    --kinds-C=fp --kinds-CUDA=fp \
    --kinds-C++=fp --fields=+neS --sort=no $sources |
    awk -f tests/check_size.awk /dev/stdin $sources
