# SPDX-License-Identifier: MIT
# A run over traces that is killed at any moment leaves a state to go on from,
# and the same command ends with the results of a run that was not.
need h5dump
traces=$srcdir/testdata/traces
mkdir d
n=0
while [ $n -lt 6 ]; do
    mkdir d/$n
    must cp "$traces"/cpu-memory/*.gz "$traces"/cpu-torch2.15.0/*.gz d/$n/
    n=$((n + 1))
done
files=$(find d -name '*.gz' | wc -l)
analyse()
{
    exec tprof-analyze trace d --no_plots --jobs 1 --output_dir draw "$@"
}
(analyse) > text
mv draw whole

set -m
for seconds in 0.02 0.1 0.2; do
    go_on "$files" $seconds
done
go_on_at_last "$files" 0.4 0.8 1.6 3.2 6.4 12.8 25
