# SPDX-License-Identifier: MIT
# How the run was set up: what the trace shows, and what a file of metrics
# says, in the demo's folders, beside the traces, and where it is not theirs.
need jq
dir=results/traces/profiler_demo
mkdir -p $dir
make_trace $dir/slow.json 8000
run()
{
    tprof-analyze trace --no_plots --format json --trace_dir "${1:-$dir}" \
        > out.json
    jq -c '[.trace_dir, .batch_size, .num_workers, .pin_memory, .amp]' out.json
    jq -c '.settings_from' out.json
    jq -r '(.notes + [.skipped[].file])[] |
           select(startswith("not recorded") | not)' out.json
}
# metrics FILE TRACE_DIR BATCH_SIZE WORKERS: as the demo writes them
metrics()
{
    printf '{"scenario": "dataloader", "batch_size": %s, "num_workers": %s,
 "pin_memory": true, "amp": false, "avg_step_time_s": NaN, "trace_dir": "%s"}' \
        "$3" "$4" "$2" > "$1"
}
echo 1 the trace alone
run
echo 2 the demo, whose words win and are marked
metrics results/metrics_demo.json results/traces/profiler_demo 64 2
run
echo 2b and the advice is about them
jq -r '.findings[] | select(.rule == "dataloader") | .suggestion' out.json
echo 3 found while the traces are looked for, and used
run results
echo 4 of another folder
metrics results/metrics_demo.json results/traces/other 64 2
run
echo 5 two that disagree about one setting
metrics results/metrics_demo.json results/traces/profiler_demo 64 0
metrics results/metrics_demo_2.json ./results/traces/profiler_demo/ 32 0
run
echo 6 beside the trace, wherever that is now
rm results/metrics_*
metrics $dir/metrics.json somewhere/else/old 16 0
run
echo 7 no metrics: our own, an empty one, text, a list, odd values
tprof-analyze trace $dir --no_plots --quiet --output_json $dir/metrics.json
echo '{}' > $dir/metrics_a.json
echo 'no JSON' > $dir/metrics_b.json
echo '[{"batch_size": 3}]' > $dir/metrics_c.json
echo '{"batch_size": -3, "num_workers": "two", "amp": 7, "pin_memory": null}' \
    > $dir/metrics_d.json
mkdir $dir/metrics_e.json
mkfifo $dir/metrics_f.json
run $dir/slow.json
echo 8 of several traces all have to know it
rm -r $dir/metrics*
mkdir results/traces/more
sed 's/_SingleProcess/_MultiProcessing/' $dir/slow.json \
    > results/traces/more/slow.json
run results/traces
jq -c '[.ranks[] | .num_workers]' out.json
