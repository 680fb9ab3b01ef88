#!/bin/bash
# SPDX-License-Identifier: MIT
# cppcheck and clang-tidy over the C sources: .cppcheck and .clang-tidy say what
# is not asked and why, tests/lint/exceptions which findings are wrong. Any
# other fails. With LINT=all (`make lint`, seven minutes on two processors) over
# all, and an exception that is found no more fails, too; else, in `make check`,
# over what every reader is built on. Needs: srcdir, CPPFLAGS.

[ -z "${builddir:-}" ] || builddir=$(cd "$builddir" && pwd)
cd "$srcdir" || exit 99
for tool in cppcheck clang-tidy; do
    command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-lint.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
grep -v '^#' .cppcheck > "$work/suppressed"
if [ "${LINT:-}" = all ]; then
    find src formats mpi -name '*.c' ! -name 'world_open_mpi.c' |
        LC_ALL=C sort > "$work/files"
    grep -v 'src/base/error.c' "$work/files" > "$work/tidied"
else
    printf 'src/base/%s.c\n' bytes file_set find hash memory text \
        > "$work/files"
    cp "$work/files" "$work/tidied"
fi
# what is included first decides what system headers show
export flags="-std=c11 -Isrc -I. -D_POSIX_C_SOURCE=200809L -D_GNU_SOURCE= \
-I${builddir:-.} ${CPPFLAGS:-}"

cppcheck -q --std=c11 -j "$(nproc)" -Isrc -I. --inline-suppr \
    --enable=warning,performance,portability \
    --suppressions-list="$work/suppressed" --file-list="$work/files" \
    --template='{file} {id} {line}: {message}' 2> "$work/cppcheck"
# error.c defines what known.h says more of
xargs -P "$(nproc)" -n 8 bash -c '
    clang-tidy --quiet "$@" -- $flags -include tests/lint/known.h' _ \
    < "$work/tidied" > "$work/tidy" 2> "$work/said"
{
    grep -E '^[^ ]+ [a-zA-Z]+ [0-9]+: ' "$work/cppcheck"
    sed -n "s|^$PWD/||; s/^\([^ :]*\):\([0-9]*\):[0-9]*: \(warning\|error\): \
\(.*\) \[\([^]]*\)\]\$/\1 \5 \2: \4/p" "$work/tidy"
} | LC_ALL=C sort -u > "$work/found"
# an exception is of one finding, or of so many as its third word says
awk -v all="${LINT:-}" '
    NR == FNR {
        if (!/^#/)
            known[$1 " " $2] = $3 ~ /^[0-9]+$/ ? $3 : 1
        next
    }
    ++seen[$1 " " $2] > known[$1 " " $2] { print "FAIL " $0; bad++ }
    END {
        for (entry in known)
            if (all == "all" && seen[entry] < known[entry]) {
                print "FAIL found no more, or less often: " entry
                bad++
            }
        exit bad > 0
    }' tests/lint/exceptions "$work/found"
result=$?
echo "lint: $(wc -l < "$work/files") files, $(wc -l < "$work/found") findings"
if grep -qs 'error:' "$work/said"; then
    echo "FAIL: clang-tidy: $(grep -m 3 'error:' "$work/said")"
    exit 1
fi
exit $result
