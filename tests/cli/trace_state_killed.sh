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

# kill_after SECONDS SIGNAL
set -m
kill_after()
{
    (analyse --state s --state_every 0) > text 2> err &
    local pid=$!
    sleep "$1"
    kill -"$2" $pid 2> /dev/null
    { wait $pid; } 2> /dev/null
}
try()
{
    rm -f s
    kill_after "$1" KILL
    kill_after "$1" INT
    kill_after 0.0$((RANDOM % 90 + 10)) KILL
    (analyse --state s) > text
    known=$(sed -n 's/^  s: \([0-9]*\) files\? known, \([0-9]*\) .*/\1 + \2/p' \
        text)
    [ $((known)) -eq "$files" ] || echo "after $1: $known of $files"
    [ "${known% +*}" = 0 ] || touch went_on
    mv draw again
    same whole again
    rm -r again
}
for seconds in 0.02 0.1 0.2; do
    try $seconds
done
# a busy machine may not have come to a first state by then
for seconds in 0.4 0.8 1.6 3.2 6.4 12.8 25; do
    [ -e went_on ] || try $seconds
done
[ -e went_on ] && echo "went on from a state"
