# SPDX-License-Identifier: MIT
# Before and after: what the DataLoader's workers changed, why, and that it adds
# up; the same trace twice changed nothing.
need jq
need gnuplot
make_trace before.json 8000
make_trace after.json 100
tprof-analyze trace --compare before.json after.json --output_dir out
ls out out/trace_comparison
jq -r '[.why[].change_us] | add | round' out/trace_compare.json
tprof-analyze trace --compare before.json before.json --no_plots \
    --output_dir same | grep -A 2 "^Why"
tprof-analyze trace --compare before.json > /dev/null 2>&1
echo $?
tprof-analyze trace compare before.json after.json 2>&1
echo $?
