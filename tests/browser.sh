#!/bin/bash
# SPDX-License-Identifier: MIT
# HTML reports in a real browser (tests/browser/page.py): of every kind, and of
# inputs whose names are markup (names.py). What they are written in is checked
# by the W3C's validator, where it is (validate.py). Annotated traces are opened
# in the viewers that they are for, where those are (viewers.py). Needs TPROF,
# srcdir; PYTHON with playwright, and chromium.

python=${PYTHON:-python3}
"$python" -c 'import playwright' 2> /dev/null ||
    { echo "skipped: $python has no playwright"; exit 77; }
command -v chromium > /dev/null || { echo "skipped: no chromium"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-browser.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
logs=$srcdir/testdata/logs
failed= passed=0

# count STATUS NAME: keeps how a part ended.
count()
{
    case $1 in
    0) passed=$((passed + 1)) ;;
    77) ;;
    *) failed=$failed$2$'\n' ;;
    esac
}

# look NAME REPORT: drives a page.
look()
{
    echo "== $1"
    "$python" "$srcdir/tests/browser/page.py" "$2" "$work"
    count $? "$1"
}

# values FOLDER: compares a page of tensors with its tables.
values()
{
    echo "== $1, what tables have"
    "$python" "$srcdir/tests/browser/tensor_page.py" "$1/report.html" \
        "$1/summary.h5"
    count $? "$1, what tables have"
}

# evidence NAME REPORT TABLES: what findings of a page stand on.
evidence()
{
    echo "== $1, what findings stand on"
    "$python" "$srcdir/tests/browser/finding_page.py" "$2" "$3"
    case $? in
    0) passed=$((passed + 1)) ;;
    77) ;;
    *) failed=$((failed + 1)) ;;
    esac
}

# calls NAME REPORT TABLES: map, files and charts of a page of calls.
calls()
{
    echo "== $1, what calls have"
    "$python" "$srcdir/tests/browser/calls_page.py" "$2" "$3"
    count $? "$1, what calls have"
}

# look_trace NAME FOLDER: drives the page of traces in it, or of a comparison.
look_trace()
{
    report=$(cd "$2" && echo trace_*.html)
    tables=trace.h5
    [ "$report" = trace_report.html ] || tables=trace_compare.h5
    look "$1" "$2/$report"
    echo "== $1, what only traces have"
    "$python" "$srcdir/tests/browser/trace_page.py" "$2/$report" "$2/$tables"
    count $? "$1, what only traces have"
}

cd "$work" || exit 99
"$TPROF" --tensor_dir "$logs" --output_dir run --quiet
look tensors run/report.html
values run
"$TPROF" --tensor_dir "$logs" --min_sqnr 60 --output_dir sqnr --no_plots --quiet
evidence 'SQNR' sqnr/report.html sqnr/summary.h5
"$TPROF" "$srcdir/testdata/checkpoints" --output_dir states --no_plots \
    --quiet > /dev/null 2>&1
evidence 'checkpoints' states/report.html states/summary.h5
"$TPROF" "$srcdir/testdata/checkpoint_faults" --output_dir faults --no_plots \
    --quiet
evidence 'no iterations' faults/report.html faults/summary.h5
"$TPROF" trace "$srcdir/testdata/traces" --output_dir trace --quiet
look_trace trace trace
"$TPROF" trace "$srcdir/testdata/traces/own/ranks" --output_dir ranks \
    --no_plots --quiet
look_trace ranks ranks
evidence traces trace/trace_report.html trace/trace.h5
evidence ranks ranks/trace_report.html ranks/trace.h5
"$TPROF" compare "$srcdir/testdata/msprobe/step0" \
    "$srcdir/testdata/msprobe/step1" --output_dir compare --quiet
look compare compare/compare_report.html
evidence compare compare/compare_report.html compare/compare.h5
calls compare compare/compare_report.html compare/compare.h5
"$TPROF" compare "$srcdir/testdata/content/whole" \
    "$srcdir/testdata/content/swapped" --match content --output_dir content \
    --no_plots --quiet
evidence 'compare by content' content/compare_report.html content/compare.h5
"$TPROF" compare "$srcdir/testdata/content/whole" \
    "$srcdir/testdata/content/tp2" --match content --output_dir shards \
    --no_plots --quiet
for name in content shards; do
    echo "== compare by content, $name"
    "$python" "$srcdir/tests/browser/content_page.py" \
        $name/compare_report.html $name/compare.h5
    count $? "compare by content, $name"
done
# a call that only A has, or only B
cp -r "$srcdir/testdata/msprobe/step0" less
chmod -R u+w less
"$python" -c 'import json, sys
with open(sys.argv[1]) as file:
    dump = json.load(file)
del dump["data"]["Torch.softmax.0.forward"]
with open(sys.argv[1], "w") as file:
    json.dump(dump, file)' less/proc4711/dump.json
for sides in "$srcdir/testdata/msprobe/step1 less" \
    "less $srcdir/testdata/msprobe/step1"; do
    # shellcheck disable=SC2086
    "$TPROF" compare $sides --output_dir lacks --no_plots --quiet
    evidence 'compare, a call less' lacks/compare_report.html lacks/compare.h5
    calls 'compare, a call less' lacks/compare_report.html lacks/compare.h5
    rm -r lacks
done
cp -r "$srcdir/testdata/msprobe/step1" hurt
chmod -R u+w hurt
rm hurt/*/dump_tensor_data/Torch.add.0.forward.input.0.pt
: > hurt/proc4711/dump_tensor_data/orphan.pt
"$TPROF" dump hurt --output_dir hurt_dump --no_plots --quiet
evidence 'dump, damaged' hurt_dump/dump_report.html hurt_dump/dump.h5
calls 'dump, damaged' hurt_dump/dump_report.html hurt_dump/dump.h5
"$TPROF" dump "$srcdir/testdata/msprobe" --output_dir dump --no_plots --quiet
look dump dump/dump_report.html
calls dump dump/dump_report.html dump/dump.h5
# of one step and one direction; of a checkpoint; of steps and ranks
"$TPROF" compare "$srcdir/testdata/divergence/step0" \
    "$srcdir/testdata/divergence/step1" --autodiff --output_dir parts \
    --no_plots --quiet
calls 'compare, one direction' parts/compare_report.html parts/compare.h5
"$TPROF" compare "$srcdir/testdata/content/whole" \
    "$srcdir/testdata/content/swapped" --output_dir layers --no_plots --quiet
calls 'compare, checkpoints' layers/compare_report.html layers/compare.h5
"$TPROF" compare "$srcdir/testdata/case_ranks" "$srcdir/testdata/case_ranks" \
    --output_dir equal --no_plots --quiet
calls 'compare, ranks' equal/compare_report.html equal/compare.h5
"$TPROF" replay "$srcdir/testdata/msprobe/step1" --output_dir replay \
    --no_plots --quiet
evidence replay replay/replay_report.html replay/replay.h5
calls replay replay/replay_report.html replay/replay.h5
"$TPROF" replay "$srcdir/testdata/replay" --output_dir steps --no_plots --quiet
look 'replay, steps' steps/replay_report.html
calls 'replay, steps' steps/replay_report.html steps/replay.h5
for step in 0 1; do
    "$python" "$srcdir/tests/browser/names.py" dump \
        "$srcdir/testdata/msprobe/step$step" "odd$step"
done
"$TPROF" compare odd0 odd1 --output_dir odd_compare --no_plots --quiet
look "compare, names" odd_compare/compare_report.html
"$TPROF" dump odd0 --output_dir odd_dump --no_plots --quiet
look "dump, names" odd_dump/dump_report.html
"$TPROF" replay odd0 --output_dir odd_replay --no_plots --quiet
look "replay, names" odd_replay/replay_report.html
"$python" "$srcdir/tests/browser/names.py" tensors \
    "$srcdir/testdata/case_nan_inf" 'in<put>'
"$TPROF" tensors 'in<put>' --output_dir 'out"put' --no_plots --quiet
look "tensors, names of files" 'out"put/report.html'
"$python" "$srcdir/tests/browser/names.py" weights - weights
"$TPROF" tensors weights --output_dir odd_weights --no_plots --quiet
look "tensors, names of tensors" odd_weights/report.html
"$python" "$srcdir/tests/browser/names.py" many 7200 many_weights
"$TPROF" tensors many_weights --output_dir many_casts --no_plots --quiet
values many_casts
"$python" "$srcdir/tests/browser/names.py" steps - steps_of_modules
"$TPROF" tensors steps_of_modules --output_dir modules --no_plots --quiet
values modules
"$python" "$srcdir/tests/browser/names.py" many 50000 most_weights
"$TPROF" tensors most_weights --output_dir most --no_plots --quiet
echo "== 50 000 tensors"
"$python" "$srcdir/tests/browser/scroll_page.py" most/report.html tensors 50000
count $? '50 000 tensors'
"$TPROF" check "$srcdir/testdata/check" --output_dir check --quiet
look check check/check_report.html
"$python" "$srcdir/tests/browser/names.py" scripts - scripts
"$TPROF" check scripts --output_dir odd_check --quiet
look "check, names" odd_check/check_report.html
look names 'out"put/report.html'
# traces: names in them, of them, of 50 000 operators; before and after
names=$srcdir/tests/browser/trace_names.py
"$python" "$names" names.json
"$python" "$names" many.json 60000
"$python" "$names" files 0 "$srcdir/testdata/traces/own/train.json.gz"
"$TPROF" trace names.json --output_dir names --no_plots --quiet
look_trace 'names in a trace' names
"$TPROF" trace files --output_dir 'fi"les' --no_plots --quiet
look_trace 'names of traces' 'fi"les'
"$TPROF" trace many.json --output_dir many --no_plots --quiet
look_trace '50 000 rows' many
"$TPROF" trace --compare names.json many.json --output_dir two --quiet
look_trace 'a comparison' two
own=$srcdir/testdata/traces/own
"$TPROF" trace --compare "$own/train.json.gz" "$own/loader.json.gz" \
    --output_dir slower --no_plots --quiet
look_trace 'a slower run' slower
evidence 'a slower run' slower/trace_compare.html slower/trace_compare.h5
# traces with tracks of what was found in them, in the programs they are for
"$TPROF" trace "$own/train.json.gz" --output_dir train --no_plots --no_html \
    --quiet --annotate train.json.gz
"$TPROF" trace "$own/ranks" --output_dir tracks --no_plots --no_html --quiet \
    --annotate tracks/
echo "== annotated traces in Perfetto and Trace Viewer"
"$python" "$srcdir/tests/browser/viewers.py" "$own/train.json.gz" \
    train.json.gz "$own/ranks/rank1.json.gz" tracks/rank1.json.gz
count $? 'annotated traces'
echo "== HTML"
"$python" "$srcdir/tests/browser/validate.py" ./*/*.html
count $? HTML
echo "$passed passed, $(printf %s "$failed" | wc -l) failed, 0 skipped"
[ -z "$failed" ] || { printf 'failed: %s' "$failed" && exit 1; }
