#!/bin/bash
# SPDX-License-Identifier: MIT
# ThreadSanitizer over what threads of all commands share (tests/threads), and
# over the same with a race, which it has to find. The commands themselves run
# under it in a build of their own (configure --enable-sanitizers=thread, cases
# jobs_identical and two_runs of tests/cli.sh). Needs: srcdir, builddir, CC.

cd "$srcdir" || exit 99
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-threads.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
export TSAN_OPTIONS=exitcode=66

# builds NAME FLAG...
builds()
{
    local name=$1
    shift
    # shellcheck disable=SC2086 # CC may be "ccache gcc"
    ${CC:-cc} -std=c11 -O1 -g -fsanitize=thread -D_GNU_SOURCE -Isrc \
        -I"${builddir:-.}" "$@" -o "$work/$name" tests/threads/race.c \
        src/base/{pool,find,file,bytes,error,memory,memory_limit,text}.c \
        src/base/{text_real,hash}.c -lm -lpthread 2> "$work/said"
}
if ! echo 'int main(void) { return 0; }' |
    ${CC:-cc} -fsanitize=thread -x c -o "$work/none" - 2> /dev/null ||
    ! "$work/none"; then
    echo "skipped: no ThreadSanitizer"
    exit 77
fi
builds clean || { cat "$work/said"; exit 99; }
builds racing -DRACE || { cat "$work/said"; exit 99; }
failed=0
for round in 1 2 3; do
    "$work/clean" > "$work/out" 2>&1 || {
        echo "FAIL round $round: status $?"
        head -n 30 "$work/out"
        failed=1
    }
done
"$work/racing" > "$work/out" 2>&1
grep -q 'data race' "$work/out" || {
    echo "FAIL: the race was not found"
    failed=1
}
[ $failed = 0 ] && echo "4 passed, 0 failed, 0 skipped"
exit $failed
