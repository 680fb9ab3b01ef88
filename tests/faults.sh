#!/bin/bash
# SPDX-License-Identifier: MIT
# Calls that fail, one after the other: tests/faults/loop.c runs the program
# over small inputs, each time with another allocation, file operation or start
# of a process failing (tests/faults/inject.c). A sample, or, with TP_FAULTS=all
# (`make check-faults`), every call. Needs: TPROF, srcdir, CC.

[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
if nm "$TPROF" 2> /dev/null | grep -q '__asan_\|__tsan_\|__ubsan_'; then
    echo "skipped: a sanitizer has the allocator"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-faults.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
srcdir=$(cd "$srcdir" && pwd)
# shellcheck disable=SC2086 # CC may be "ccache gcc"
${CC:-cc} -O1 -shared -fPIC -o "$work/inject.so" \
    "$srcdir/tests/faults/inject.c" -ldl &&
    ${CC:-cc} -O1 -o "$work/loop" "$srcdir/tests/faults/loop.c" || {
    echo "skipped: this C library takes no such calls"
    exit 77
}
. "$srcdir/tests/cli/lib.sh"
unset TZ TPROF_INPUT
passed=0 failed=0

# loops STEP FOLDER OLDER -- WORD...: every kind of call of a run, in FOLDER,
# over the result of an earlier one, which is made by the words of OLDER; of
# allocations every STEP-th.
loops()
{
    local step=$1 folder=$2 older=$3 kind how
    shift 4
    # shellcheck disable=SC2086
    (cd "$folder" && "$TPROF" $older --output_dir older --jobs 1 > /dev/null)
    for kind in memory files start; do
        for how in once on; do
            [ $kind = memory ] || step=1
            [ $kind = memory ] && [ "$TP_FAULTS" != all ] && [ $how = on ] &&
                continue
            [ "$TP_FAULTS" != all ] || step=1
            if (cd "$folder" && "$work/loop" "$work/inject.so" $kind $how \
                $step 1 "$TPROF" "$@" --output_dir out --jobs 1); then
                passed=$((passed + 1))
            else
                echo "FAIL $1: $kind $how"
                failed=$((failed + 1))
            fi
        done
    done
}

cd "$work" || exit 99
mkdir tensors trace
logs=$srcdir/testdata/logs
some_logs tensors/in 4
some_logs tensors/first 1
make_trace trace/a.json
make_trace trace/b.json 3000
loops 151 tensors "tensors --tensor_dir first --no_plots" -- \
    tensors --tensor_dir in --no_plots
loops 151 trace "trace a.json --no_plots" -- trace b.json --no_plots
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
