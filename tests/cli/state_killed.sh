# SPDX-License-Identifier: MIT
# A run that is killed at any moment leaves a state to go on from, and the same
# command ends with the results of a run that was not.
need h5dump
mkdir -p d
n=0
while [ $n -lt 6 ]; do
    must cp -R "$logs/bf16" d/$n
    n=$((n + 1))
done
files=$(find d -name '*.pt' | wc -l)
analyse()
{
    exec tprof-analyze --tensor_dir d --no_plots --jobs 2 --output_dir draw "$@"
}
(analyse) > text
mv draw whole

set -m
for seconds in 0.01 0.03 0.06 0.1 0.15 0.22; do
    go_on "$files" $seconds
done
go_on_at_last "$files" 0.5 1 2 4 8 16 32
