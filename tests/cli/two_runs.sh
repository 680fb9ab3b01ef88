# SPDX-License-Identifier: MIT
# Runs that write into one output directory at the same time: each ends as it
# does alone, what is there then is the whole result of one of them, and the
# result of another command is whole beside it. Two with one state: who comes
# second says so or goes on, and the state stays good.
need h5dump
some_logs few 3
some_logs more 12
must make_trace trace.json 8000

# alone NAME WORD...: what a command writes where nobody else does.
alone()
{
    local name=$1
    shift
    must tprof-analyze "$@" --no_plots --quiet --output_dir draw
    must mv draw "alone.$name"
    all_of "alone.$name" > "$name.all"
    [ -s "$name.all" ] || echo "$name wrote nothing"
}
alone few tensors few
alone more tensors more
alone trace trace trace.json
cmp -s few.all more.all && echo "the two results are one"

# start WORD...: in the background; its exit status goes into `ends`.
start()
{
    {
        tprof-analyze "$@" --no_plots --quiet
        echo "exit $?" >> ends
    } &
}
for round in 1 2 3 4 5 6; do
    start tensors few --output_dir draw
    start trace trace.json --output_dir draw
    start tensors more --output_dir draw
    start tensors few --output_dir draw
    wait
    find draw -name '.*' | grep .
    # files of the trace are those that it writes alone
    (cd alone.trace && find . -type f) | LC_ALL=C sort > names
    must mkdir took
    while read -r file; do
        must mkdir -p "took/$(dirname "$file")"
        must mv "draw/$file" "took/$file"
    done < names
    all_of took | cmp - trace.all
    all_of draw > draw.all
    cmp -s draw.all few.all || cmp -s draw.all more.all ||
        echo "round $round: a result of neither run"
    rm -r took
    # from the second round on there is an older result to be replaced
done
sort ends | uniq -c | tr -s ' '

# While somebody has the directory, the older result stays as it is.
if command -v flock > /dev/null; then
    must tprof-analyze tensors few --no_plots --quiet --output_dir draw
    : > ends
    (
        flock 9
        start tensors more --output_dir draw 9<&-
        sleep 1 # what does not wait has ended by then
        cat ends
        all_of draw | cmp - few.all
        flock -u 9
        wait
    ) 9< draw
    grep -v 'exit 0' ends
    all_of draw | cmp - more.all
fi

: > ends
for round in 1 2 3; do
    start tensors few --output_dir one --state s
    start tensors more --output_dir two --state s
    wait
done 2> told
grep -v 'another run uses it' told
[ "$(grep -c 'exit 0' ends)" -ge 3 ] || echo "hardly a run was left"
grep -v -e 'exit 0' -e 'exit 4' ends
must tprof-analyze tensors more --no_plots --quiet --output_dir draw --state s
all_of draw | cmp - more.all && echo "the state is good"
ls s*
