#!/bin/sh
# SPDX-License-Identifier: MIT
# The end of `make check`: total.sh LOG... shows Criterion's own summary of
# each unit test program and their sum, what was skipped and why, and closes
# with the sum over all programs and scripts. One that tells its own numbers
# ("N passed, N failed, N skipped" at a line's end, see guard.sh and cli.sh)
# counts as these, any other as one, by its result in the .trs beside its log.

strip='s/\x1b\[[0-9;]*m//g'
numbers='[0-9][0-9]* passed, [0-9][0-9]* failed, [0-9][0-9]* skipped$'

for log in "$@"; do
    name=$(basename "$log" .log)
    test -f "$log" || { echo "failed: $name did not run"; continue; }
    text=$(sed "$strip" "$log")
    line=$(echo "$text" | grep 'Synthesis:' | tail -n 1)
    test -z "$line" || printf '%s %s\n' "$line" "$name"
    echo "$text" | sed -n "s/^skip\\(ped:\\)* /skipped: $name: /p"
    line=$(echo "$text" | grep "$numbers" | tail -n 1)
    result=$(sed -n 's/^:test-result: *\([A-Z]*\).*/\1/p' "${log%.log}.trs" |
        tail -n 1)
    case $result:$line in
    PASS:*passed* | FAIL:*failed* | SKIP:*skipped*)
        echo "counted: $line" ;;
    PASS:) echo "counted: 1 passed, 0 failed, 0 skipped" ;;
    SKIP:) echo "counted: 0 passed, 0 failed, 1 skipped" ;;
    *) echo "failed: $name: ${result:-no result}" ;;
    esac
    # A program may pass all tests and still fail, by a leak for example.
    case $result:$line in
    FAIL:*" 0 failed"*) echo "failed: $name" ;;
    esac
done | awk '
    /^counted: / {
        match($0, /[0-9]+ passed/)
        all_passed += substr($0, RSTART)
        match($0, /[0-9]+ failed/)
        all_failed += substr($0, RSTART)
        match($0, /[0-9]+ skipped/)
        all_skipped += substr($0, RSTART)
        next
    }
    /^failed: / { all_failed++ }
    /^skipped: / {
        skips = skips $0 "\n"
        next
    }
    { print }
    match($0, /Tested: [0-9]+/)   { tested   += substr($0, RSTART + 8) }
    match($0, /Passing: [0-9]+/)  { passing  += substr($0, RSTART + 9) }
    match($0, /Failing: [0-9]+/)  { failing  += substr($0, RSTART + 9) }
    match($0, /Crashing: [0-9]+/) { crashing += substr($0, RSTART + 10) }
    END {
        printf "[====] Synthesis: Tested: %d | Passing: %d | Failing: %d | " \
               "Crashing: %d\n", tested, passing, failing, crashing
        printf "%s%d passed, %d failed, %d skipped\n", skips, all_passed, \
               all_failed, all_skipped
    }'
