# SPDX-License-Identifier: MIT
# A process of an MPI job that is killed while it reads a trace ends the job:
# nothing is half-written, the trace is named, and what all had read is kept for
# the next run, if a state was asked for.
mpi_program
need h5dump
traces=$srcdir/testdata/traces
mkdir in
must cp "$traces"/own/*.json.gz "$traces"/cpu-torch2.15.0/*.json.gz in/
# blanks that take some seconds to read, and no room
event='{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1'
{
    printf '%s, "ts": 1, "dur": 5, "args": {"noise": "' "$event"
    head -c 60000 /dev/urandom | base64 -w 0
    printf '"}},'
    head -c 12000000 /dev/zero | tr '\0' ' '
} | gzip -1 > part
{
    printf '{"traceEvents": [' | gzip
    for _ in $(seq 60); do
        cat part
    done
    printf '%s, "ts": 9, "dur": 5}]}' "$event" | gzip
} > in/large.pt.trace.json.gz
files=$(find in -type f | wc -l)
analyse()
{
    "$@" --trace_dir in --output_dir draw --no_plots
}
analyse tprof-analyze trace > text
mv draw whole

# cut_off WORD...
cut_off()
{
    (analyse ranks 3 trace --jobs 1 "$@" > text 2> err
     echo "exit $?") &
    kill_reader large.pt.trace
    wait
    grep -o 'was killed: it was reading .*' err
    find draw -type f 2> /dev/null
    find . -name 's.rank-*' | grep -c .
}
cut_off
cut_off --state s --state_every 0.1
analyse ranks 2 trace --jobs 1 --state s > text
echo "exit $?"
sed -n 's/^  s: \([0-9]*\) files known, \([0-9]*\) read.*/\1 \2/p' text |
    while read -r known read; do
        [ "$known" -gt 0 ] && [ $((known + read)) = "$files" ] &&
            echo "went on"
    done
find . -name 's.rank-*'
mv draw again
same whole again
