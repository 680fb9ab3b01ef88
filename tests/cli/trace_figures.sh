# SPDX-License-Identifier: MIT
# Figures of a trace, each with its script and its table.
need gnuplot
make_trace slow.json 8000
must tprof-analyze trace slow.json --quiet
for figure in step_cost idle_causes top_operators kernel_durations; do
    for ending in png gp tsv; do
        [ -s draw/trace_analysis/$figure.$ending ] ||
            echo "no $figure.$ending"
    done
done
