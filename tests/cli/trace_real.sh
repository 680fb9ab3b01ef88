# SPDX-License-Identifier: MIT
# The ranks of a run, of our own and of others, twice: the same bytes for any
# number of jobs.
need h5dump

# twice FOLDER RANKS LIMITED VERDICT: of so many, so many have it
twice()
{
    rm -rf one four
    tprof-analyze trace "$1" --no_plots --jobs 1 --output_dir one > one.txt
    tprof-analyze trace "$1" --no_plots --jobs 4 --output_dir four > four.txt
    grep -q "^Verdict: $4: $3 of $2 traces" one.txt ||
        head -n 1 one.txt
    [ "$(rows one/trace.h5 idle)" = "$2" ] || echo "not $2 traces"
    cmp one/trace_findings.json four/trace_findings.json
    diff <(grep -v '^Written\|^Open' one.txt) \
        <(grep -v '^Written\|^Open' four.txt)
    for table in ops kernels op_kernels annotations steps idle busy findings
    do
        h5dump -d /$table -y one/trace.h5 | sed 1d > one.table
        h5dump -d /$table -y four/trace.h5 | sed 1d | cmp - one.table
    done
}

twice "$srcdir/testdata/traces/own/ranks" 4 2 communication
traces=${TP_SHARED:-$srcdir/../shared}/traces/23_dlrm_8rank
[ ! -d "$traces" ] || twice "$traces" 8 5 host-bound
echo done
