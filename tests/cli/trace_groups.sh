# SPDX-License-Identifier: MIT
# Operators by shapes, by stacks and by modules, in the text and in JSON.
traces=$srcdir/testdata/traces/cpu-groups-torch2.15.0
run="$TPROF trace $traces --no_plots --quiet"
$run --group_by shape --output_dir shape
grep -c 'aten::addmm  \[\[16\], \[[46], 8\], \[8, 16\], \[\], \[\]\]' \
    shape/trace_report.txt
$run --group_by module --output_dir module
grep -o 'aten::addmm  Net_0/Linear_[01]' module/trace_report.txt | sort
$TPROF trace "$traces" --no_plots --group_by stack --stack_depth 1 --top 1000 |
    grep -c 'aten::addmm  <built-in function linear>'
$TPROF trace "$traces" --no_plots --group_by module --top 3 --format json |
    grep -c '"op_groups": \['
