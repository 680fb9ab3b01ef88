# SPDX-License-Identifier: MIT
# The metrics the demo wrote, from the trace; the same on stdout.
need jq
make_trace slow.json 8000
must tprof-analyze trace slow.json --no_plots --quiet --output_json metrics.json
jq -c '[.scenario, .verdict, .steps, .avg_step_time_s, .avg_dataloader_wait_s,
        .trace_paths, .top_ops[0].name, .ranks[0].scenario,
        .ranks[0].rank, .findings[0].rule]' metrics.json
jq -c '[.verdict, .findings[0].severity]' draw/trace_findings.json
tprof-analyze trace slow.json --no_plots --format json | cmp - metrics.json
