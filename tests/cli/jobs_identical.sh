# SPDX-License-Identifier: MIT
# Every table, figure, script and report of every command, and what it prints,
# do not depend on the number of jobs: 1, 2 and more than there are of most
# things.
need h5dump
data=$srcdir/testdata
must make_trace before.json 8000
must make_trace after.json
some_logs d 40
must cp "$data"/torch/bad-*.pt d/
find d -name '*.pt' | LC_ALL=C sort > files
split -n l/2 files part.
for part in part.aa part.ab; do
    mapfile -t some < $part
    tprof-analyze tensors "${some[@]}" --no_plots --quiet --output_dir part \
        --state $part.state
    [ $? -le 3 ] || echo "no state of $part"
done

# alike NAME WORD...: one command, with each number of jobs.
alike()
{
    local name=$1 jobs
    shift
    for jobs in 1 2 7; do
        tprof-analyze "$@" --jobs $jobs --output_dir draw > printed 2> told
        echo "exit $?" >> printed
        must mkdir -p draw
        must mv printed told draw/
        [ ! -e annotated.json ] || must mv annotated.json draw/
        must mv draw "$name.$jobs"
        must rm -f s
    done
    # the table of msprobe has its time in its name
    for jobs in 1 2 7; do
        find "$name.$jobs" -name 'compare_result_*_??????????????.csv' |
            while read -r file; do mv "$file" "${file%_*}.csv"; done
        find "$name.$jobs" -name printed -o -name '*report.txt' |
            while read -r file; do
                sed -i 's/\(compare_result_.*_\)[0-9]\{14\}\.csv/\1TIME.csv/' \
                    "$file"
            done
    done
    same "$name.1" "$name.2"
    same "$name.1" "$name.7"
    echo "$name: $(tail -n 1 "$name.1/printed"), $(find "$name.1" -name '*.h5' \
        -exec sh -c 'h5dump -n 1 "$1"' - {} \; | grep -c dataset) tables"
}
alike tensors tensors d
alike iterations --tensor_dir "$logs" --no_plots
alike trace trace before.json after.json
alike annotated trace after.json --no_plots --annotate annotated.json
alike trace_compare trace --compare before.json after.json
alike dump dump "$data/msprobe"
alike compare compare "$data/msprobe/step1" "$data/msprobe/step0"
alike autodiff compare "$data/divergence/step1" "$data/divergence/step2" \
    --autodiff --no_plots
alike content compare "$data/content/whole" "$data/content/swapped" \
    --match content
alike replay replay "$data/replay" --pert_mode all
alike merge merge part.aa.state part.ab.state
alike tensors_kept tensors d --no_plots --state s --state_every 0
alike traces_kept trace before.json after.json --no_plots --state s \
    --state_every 0
[ -s annotated.7/annotated.json ] || echo "nothing was annotated"
# printed NAME WORD...: one whose results are what it prints.
printed()
{
    local name=$1 jobs
    shift
    for jobs in 1 2 7; do
        tprof-analyze "$@" --jobs $jobs > "$name.$jobs" 2>&1
        echo "exit $?" >> "$name.$jobs"
    done
    must cmp "$name.1" "$name.2"
    must cmp "$name.1" "$name.7"
    [ "$(wc -l < "$name.1")" -gt 100 ] && echo "$name: $(tail -n 1 "$name.1")"
}
printed check check "$data/check" --format json
printed inspect inspect "$data/torch"
