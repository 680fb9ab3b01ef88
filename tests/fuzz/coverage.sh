#!/bin/bash
# SPDX-License-Identifier: MIT
# coverage.sh SOURCES: which lines the corpora reach. Builds the targets once
# more in coverage.build, with clang's counters, replays tests/fuzz/*.corpus and
# *.repro, and prints the files of formats/, lines, lines missed and percent,
# with the sum last; coverage.build/lines.txt has the text with counts,
# missed.txt the missed lines but for those where only the end of memory or a
# failed call leads, which tests/faults.sh is for. SECURITY.md says why they are
# missed. Needs: clang, llvm-profdata, llvm-cov; SOURCES an unpacked release.

set -e
sources=$(cd "$1" && pwd)
jobs=${FUZZ_JOBS:-$(nproc)}
failed='tp_fail_memory|TP_E_MEMORY|err->code'
failed=$failed'|return (status|added|NULL|nullptr);'
flags='-O1 -g -fprofile-instr-generate -fcoverage-mapping'
mkdir -p coverage.build
cd coverage.build
[ -f Makefile ] || "$sources/configure" --disable-hardening --with-cuda=no \
    --with-mpi=no --with-seccomp=no CC="${CC:-clang}" CXX="${CXX:-clang++}" \
    CFLAGS="$flags" CXXFLAGS="$flags" > configure.log
targets=$(sed -n 's/^FUZZ_REPLAYS += //p' "$sources/tests/Makefile.inc")
# shellcheck disable=SC2086 # a list
make -j "$jobs" $targets > make.log
rm -f ./*.profraw
objects=()
for target in $targets; do
    srcdir=$sources LLVM_PROFILE_FILE=${target##*/}.profraw "./$target"
    objects+=(-object "$target")
done
objects=("${objects[@]:1}") # the first is a word of its own
llvm-profdata merge -o all.profdata ./*.profraw
llvm-cov show -instr-profile=all.profdata "${objects[@]}" \
    "$sources/formats" > lines.txt
llvm-cov report -instr-profile=all.profdata "${objects[@]}" \
    "$sources/formats" | awk '/\.(c|h|cpp|inc) / {
        printf "%-44s %6d %6d %7s\n", $1, $8, $9, $10
        lines += $8; missed += $9
    } END { printf "formats/: %d of %d lines, %.1f %%\n", lines - missed,
        lines, 100 * (lines - missed) / lines }'
awk -F'|' -v failed="$failed" '/^\/.*:$/ {
    file = substr($0, 1, length($0) - 1)
    sub(/.*\/formats\//, "", file)
} $2 ~ /^ *0$/ {
    text = substr($0, length($1 $2) + 3)
    if (text ~ failed)
        failures++
    else
        print file ":" $1 + 0 ":" text > "missed.txt"
} END { printf "missed where memory or a call has failed: %d\n", failures }' \
    lines.txt
awk -F: '{ lines[$1]++ } END { for (file in lines)
    printf "missed otherwise: %-44s %4d\n", file, lines[file] }' missed.txt |
    sort
