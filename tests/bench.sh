#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench` runs: its tools and tables, on tensors too small to time. What it
# measures gates nothing. Needs: TPROF, builddir, srcdir.

set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-benches.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
failed=0

# expects WHAT COMMAND...
expects()
{
    local what=$1
    shift
    "$@" || { echo "FAIL $what"; failed=1; }
}

BENCH_MEBIBYTES=4 BENCH_RUNS=1 BENCH_CASTS=1 BENCH_SERIES=100 \
    BENCH_JSON=$work/ratios.json \
    BENCH_PARTS="dtypes widths dims casts differences memory series" \
    bash "$srcdir/tests/bench/bench.sh" > "$work/text" 2>&1 ||
    { echo "FAIL bench.sh"; tail -n 5 "$work/text"; failed=1; }
expects "a row of each dtype and choice of formats" \
    [ "$(grep -c 'of counting' "$work/text")" = 35 ]
expects "the casts of every width of instructions" \
    [ "$(grep -c '^nvfp4 .* GB/s' "$work/text")" = 3 ]
expects "two tensors of every pair of dtypes, unlike and equal" \
    [ "$(grep -c 'of plain statistics (' "$work/text")" = 34 ]
expects "baselines by two methods" \
    [ "$(grep -c '^100 series' "$work/text")" = 2 ]
if command -v jq > /dev/null; then
    bash "$srcdir/tests/bench/compare" "$work/ratios.json" \
        "$work/ratios.json" > "$work/compared"
    expects "ratios that compare" \
        [ "$(grep -c ' 1.00x$' "$work/compared")" = 62 ]
else
    echo "no jq: two runs are not compared"
fi
exit $failed
