# SPDX-License-Identifier: MIT
# A directory of traces as an option is the same as one without; several add
# up; the folder of --output_json is made, and goes again if nothing is found.
need jq
mkdir -p results/traces/one results/traces/two empty
make_trace results/traces/one/slow.json 8000
make_trace results/traces/two/slow.json 9000
run()
{
    tprof-analyze trace --no_plots --format json "$@" | jq -c .trace_paths
}
run --trace_dir results/traces/one
run --trace-dir=results/traces/one
run results/traces/one
run --trace_dir results/traces/one --trace_dir results/traces/two
run results/traces/one --trace_dir results/traces/two
must tprof-analyze trace --trace_dir results/traces/one --no_plots --quiet \
    --output_json deep/down/metrics_demo.json
jq -c .scenario deep/down/metrics_demo.json
tprof-analyze trace --trace_dir empty --no_plots --quiet --output_dir new \
    --output_json gone/metrics_demo.json
echo "$? $(ls -d new gone 2>&1 | grep -c 'No such')"
tprof-analyze trace --trace_dir results --no_plots --quiet \
    --output_json results/traces/one/slow.json/metrics_demo.json
echo "$?"
tprof-analyze tensors --trace_dir results
