# SPDX-License-Identifier: MIT
# Eight ranks of a real run, twice: the same bytes for any number of jobs.
real_traces
tprof-analyze trace "$traces/23_dlrm_8rank" --no_plots --jobs 1 \
    --output_dir one > one.txt
tprof-analyze trace "$traces/23_dlrm_8rank" --no_plots --jobs 4 \
    --output_dir four > four.txt
head -n 1 one.txt
[ "$(rows one/trace.h5 idle)" = 8 ] || echo "not eight traces"
cmp one/trace_findings.json four/trace_findings.json
diff <(grep -v Written one.txt) <(grep -v Written four.txt)
for table in ops kernels op_kernels annotations steps idle busy findings; do
    h5dump -d /$table -y one/trace.h5 | sed 1d > one.table
    h5dump -d /$table -y four/trace.h5 | sed 1d | cmp - one.table
done
