#!/bin/bash
# SPDX-License-Identifier: MIT
# all.sh FUZZER...: every target as long as any other, FUZZ_HOURS hours of
# processor time in all, FUZZ_JOBS at a time (as many as processors); then each
# corpus is merged into fuzz_X.merged, of which what is new and small belongs in
# tests/fuzz/fuzz_X.corpus. What fails is left in fuzz_X.work/found-*. Prints
# for each target runs, seconds of processor time and edges. Needs: srcdir.

jobs=${FUZZ_JOBS:-$(nproc)}
seconds=$(awk -v h="${FUZZ_HOURS:-1}" -v n=$# \
    'BEGIN { print int(h * 3600 / n) }')
export seconds
[ "$seconds" -gt 0 ] || { echo "FUZZ_HOURS is too little" >&2; exit 2; }

fuzz()
{
    local name=fuzz_${1##*/libfuzzer_} left=$seconds used=0 dict=() seeds
    local TIMEFORMAT='%U %S'
    seeds=$srcdir/tests/fuzz/$name
    [ ! -f "$srcdir/tests/fuzz/dict/$name.dict" ] ||
        dict=("-dict=$srcdir/tests/fuzz/dict/$name.dict")
    mkdir -p "$name.work/corpus" "$name.merged"
    # libFuzzer's limit is by the clock: on a busy machine it is begun again
    # until the processor time is spent, as is one that failed
    while left=$((seconds - used)) && [ $left -gt 0 ]; do
        { time "./$1" -max_total_time=$left -timeout=20 \
            -report_slow_units=20 -rss_limit_mb=2048 -max_len=100000 \
            -print_final_stats=1 "${dict[@]}" \
            -artifact_prefix="$name.work/found-" "$name.work/corpus" \
            "$seeds.corpus" >> "$name.work/log" 2>&1; } 2> "$name.work/time"
        used=$(awk -v u="$used" '{ print int(u + $1 + $2 + 1) }' \
            "$name.work/time")
    done
    "./$1" -merge=1 -timeout=20 -rss_limit_mb=2048 -max_len=40000 \
        "$name.merged" "$seeds.corpus" "$name.work/corpus" \
        > "$name.work/merge.log" 2>&1
    awk -v name="$name" -v s="$used" '
        /stat::number_of_executed_units/ { runs += $NF }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        END { printf "%-24s %9d runs %6d s %6d edges\n", name, runs, s, edges }
    ' "$name.work/log"
    find "$name.work" -name 'found-*' -exec echo "FOUND {}" \;
}
export -f fuzz
printf '%s\n' "$@" | xargs -P "$jobs" -I FUZZER bash -c 'fuzz FUZZER'
[ -z "$(find fuzz_*.work -name 'found-*')" ]
