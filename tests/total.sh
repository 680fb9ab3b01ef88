#!/bin/sh
# SPDX-License-Identifier: MIT
# The end of `make check`: total.sh LOG... shows Criterion's own summary of
# each unit test program and closes with their sum.

strip='s/\x1b\[[0-9;]*m//g'

for log in "$@"; do
    test -f "$log" || { echo "$log: did not run"; continue; }
    line=$(sed "$strip" "$log" | grep 'Synthesis:' | tail -n 1)
    test -n "$line" || continue
    printf '%s %s\n' "$line" "$(basename "$log" .log)"
done | awk '
    { print }
    match($0, /Tested: [0-9]+/)   { tested   += substr($0, RSTART + 8) }
    match($0, /Passing: [0-9]+/)  { passing  += substr($0, RSTART + 9) }
    match($0, /Failing: [0-9]+/)  { failing  += substr($0, RSTART + 9) }
    match($0, /Crashing: [0-9]+/) { crashing += substr($0, RSTART + 10) }
    END {
        printf "[====] Synthesis: Tested: %d | Passing: %d | Failing: %d | " \
               "Crashing: %d\n", tested, passing, failing, crashing
    }'
