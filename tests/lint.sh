#!/bin/bash
# SPDX-License-Identifier: MIT
# cppcheck and clang-tidy over all C sources: .cppcheck and .clang-tidy say what
# is not asked and why, tests/lint/exceptions which findings are wrong. Any
# other fails, and so does an exception that is found no more. Seven minutes on
# two processors, so never part of check. Needs: srcdir, CPPFLAGS.

cd "$srcdir" || exit 99
for tool in cppcheck clang-tidy; do
    command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-lint.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
grep -v '^#' .cppcheck > "$work/suppressed"
find src formats mpi -name '*.c' ! -name 'world_open_mpi.c' | LC_ALL=C sort \
    > "$work/files"
# what is included first decides what system headers show
export flags="-std=c11 -Isrc -I. -D_POSIX_C_SOURCE=200809L -D_GNU_SOURCE= \
$CPPFLAGS"

cppcheck -q --std=c11 -j "$(nproc)" -Isrc -I. --inline-suppr \
    --enable=warning,performance,portability \
    --suppressions-list="$work/suppressed" --file-list="$work/files" \
    --template='{file} {id} {line}: {message}' 2> "$work/cppcheck"
# error.c defines what known.h says more of
grep -v 'src/base/error.c' "$work/files" | xargs -P "$(nproc)" -n 8 bash -c '
    clang-tidy --quiet "$@" -- $flags -include tests/lint/known.h' _ \
    > "$work/tidy" 2> "$work/said"
{
    grep -E '^[^ ]+ [a-zA-Z]+ [0-9]+: ' "$work/cppcheck"
    sed -n "s|^$PWD/||; s/^\([^ :]*\):\([0-9]*\):[0-9]*: \(warning\|error\): \
\(.*\) \[\([^]]*\)\]\$/\1 \5 \2: \4/p" "$work/tidy"
} | LC_ALL=C sort -u > "$work/found"
awk '
    NR == FNR { if (!/^#/) known[$1 " " $2] = 1; next }
    { if (($1 " " $2) in known) seen[$1 " " $2] = 1
      else { print "FAIL " $0; bad++ } }
    END {
        for (entry in known) {
            if (!(entry in seen)) { print "FAIL found no more: " entry; bad++ }
        }
        exit bad > 0
    }' tests/lint/exceptions "$work/found"
result=$?
echo "lint: $(wc -l < "$work/files") files, $(wc -l < "$work/found") findings"
[ -s "$work/tidy" ] || {
    echo "FAIL: clang-tidy: $(head -3 "$work/said")"
    exit 1
}
exit $result
