# SPDX-License-Identifier: MIT
# A run over traces that is killed at any moment leaves a state to go on from,
# and the same command ends with the results of a run that was not. With several
# jobs, too, it leaves what it has read by then, not all or nothing.
need h5dump
traces=$srcdir/testdata/traces
jobs=1
folders=0

# more_folders COUNT: so many.
more_folders()
{
    while [ $folders -lt "$1" ]; do
        mkdir -p d/$folders
        must cp "$traces"/cpu-memory/*.gz "$traces"/cpu-torch2.15.0/*.gz \
            d/$folders/
        folders=$((folders + 1))
    done
    files=$(find d -name '*.gz' | wc -l)
}
analyse()
{
    exec tprof-analyze trace d --no_plots --jobs $jobs --output_dir draw "$@"
}
more_folders 6
(analyse) > text
mv draw whole

set -m
for seconds in 0.02 0.1 0.2; do
    go_on "$files" $seconds
done
go_on_at_last "$files" 0.4 0.8 1.6 3.2 6.4 12.8 25

# size_of_state: none while there is no state.
size_of_state()
{
    stat -c %s s 2> /dev/null
}

# known_after_growth: how many files a run has in its state that is killed once
# this has grown.
known_after_growth()
{
    local pid first=
    rm -f s
    (analyse --state s --state_every 0) > text 2> err &
    pid=$!
    while kill -0 $pid 2> /dev/null && [ -z "$first" ]; do
        first=$(size_of_state)
    done
    while kill -0 $pid 2> /dev/null; do
        [ "$(size_of_state)" = "$first" ] || break
    done
    kill -KILL $pid 2> /dev/null
    { wait $pid; } 2> /dev/null
    (analyse --state s) > text
    known=$(sed -n 's/^  s: \([0-9]*\) files\? known, .*/\1/p' text)
}

# A busy machine may look when all is read. More folders would be too large for
# one batch.
jobs=3
for count in 6 12 24 24 24 24 24 24; do
    more_folders $count
    known_after_growth
    if [ "$known" -gt 0 ] && [ "$known" -lt "$files" ]; then
        echo "kept some of the files"
        break
    fi
done
