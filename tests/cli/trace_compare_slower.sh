# SPDX-License-Identifier: MIT
# What got slower is a finding, in the report, the tables and the page, and
# --fail_on knows it; what got faster is none, and neither is the same trace.
need jq
make_trace fast.json 100
make_trace slow.json 8000
tprof-analyze trace --compare fast.json slow.json --no_plots --output_dir out |
    sed -n '/^Findings/,/^$/p'
jq -r '.findings[] | .severity + " " + .rule + " " + (.baseline | tostring) +
    " " + (.value | tostring)' out/trace_compare.json
grep -o 'data-rows="findings"' out/trace_compare.html
grep -o 'the change of the step is beyond that' out/trace_compare.html
for pair in "fast slow" "slow fast" "slow slow"; do
    tprof-analyze trace --compare ${pair% *}.json ${pair#* }.json --no_plots \
        --quiet --output_dir again --fail_on medium
    echo "$pair: $?, $(jq '.findings | length' again/trace_compare.json)"
    grep -o 'There are none' again/trace_compare.html
done
