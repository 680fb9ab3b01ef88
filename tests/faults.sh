#!/bin/bash
# SPDX-License-Identifier: MIT
# Calls that fail, one after the other: tests/faults/loop.c runs the program
# over small inputs, each time with another allocation, file operation or start
# of a process failing (tests/faults/inject.c). A sample, or, with TP_FAULTS=all
# (`make check-faults`), every call, of runs that make many one of those that
# come from the same functions; with TP_FAULTS=places that of all runs.
# TP_FAULTS=NAME: those of one command. In a build with AddressSanitizer,
# too, which finds what leaks after it. Needs: TPROF, srcdir, CC.

[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
sanitized=
if is_sanitized; then
    if ! nm "$TPROF" | grep -q __asan_; then
        echo "skipped: this sanitizer takes no library before its own"
        exit 77
    fi
    # leaks are looked for after every failing call; its own status stays
    sanitized=-DSANITIZED
    export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=1:exitcode=0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-faults.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
printf 'leak:%s\n' libhdf5 libzip > "$work/leaks" # what libraries lose
export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0
# shellcheck disable=SC2086 # CC may be "ccache gcc"
${CC:-cc} -O1 $sanitized -shared -fPIC -o "$work/inject.so" \
    "$srcdir/tests/faults/inject.c" -ldl &&
    ${CC:-cc} -O1 -o "$work/loop" "$srcdir/tests/faults/loop.c" || {
    echo "skipped: this C library takes no such calls"
    exit 77
}
unset TZ TPROF_INPUT
passed=0 failed=0

# loops NAME OLDER -- WORD...: every kind of call of a run in folder NAME, whose
# result goes to `out`, over that of an earlier run, which is made by the words
# of OLDER; "": there is none, and what is printed is all. In a sample RUNS
# runs of each kind; of all calls one of each place if there is MANY.
loops()
{
    local name=$1 older=$2 kind how runs=${RUNS:-60} sample=no
    shift 3
    case ${TP_FAULTS:-} in
    '')
        sample=yes
        # it takes its time, and 0 would be all
        [ -z "$sanitized" ] || runs=$((runs / 4 + 1))
        ;;
    all | "$name") runs=${MANY:+places} ;;
    places) runs=places ;;
    *) return ;;
    esac
    cd "$work/$name" && mkdir older || exit 99
    # shellcheck disable=SC2086
    [ -z "$older" ] || "$TPROF" $older --output_dir older --jobs 1 > /dev/null
    for kind in memory files start; do
        for how in once on; do
            [ $kind$how$sample != memoryonyes ] || continue
            if "$work/loop" "$work/inject.so" $kind $how "${runs:-0}" \
                "$TPROF" "$@"
            then
                passed=$((passed + 1))
            else
                echo "FAIL $name: $kind $how"
                failed=$((failed + 1))
            fi
        done
    done
    cd "$work" || exit 99
}

data=$srcdir/testdata
cd "$work" || exit 99
mkdir -p tensors trace figures dump compare parting content replay check \
    inspect page kinds against merge kept kept_traces config mapped crc \
    explained findings/in activations diverging groups
logs=$data/logs
some_logs tensors/in 4
some_logs tensors/first 1
some_logs figures/in 2
some_logs figures/first 1
make_trace trace/a.json
make_trace trace/b.json 3000
cp -R "$data/msprobe/step0" "$data/msprobe/step1" dump
cp -R "$data/msprobe/step0" "$data/msprobe/step1" compare
cp -R "$data/divergence/step0" "$data/divergence/step1" parting
cp -R "$data/content/whole" "$data/content/swapped" content
cp -R "$data/replay/step3" "$data/replay/step0" replay
cp "$data"/check/bad-adam_eps_half.py "$data"/check/bad-amax_history_1.sh check
cp -R check page/in
cp "$data/check/bad-bce.py" page/first.py
cp "$data"/torch/good-*.pt inspect
mkdir kinds/in
cp -R "$data"/checkpoints/good-* kinds/in
cp "$data"/formats/good-{members.npy.gz,deflated.npz,old.pt2,npu.legacy.pt} \
    "$data"/formats/good-{arrays0.pkl,bf16.npy} kinds/in
cp -R tensors/in tensors/first merge
cp -R tensors/in tensors/first kept
for part in in first; do
    "$TPROF" tensors --tensor_dir merge/$part --state merge/$part.state \
        --output_dir merge/made --no_plots --quiet --jobs 1 > /dev/null
done
cp trace/*.json against
cp trace/*.json kept_traces
make_trace kept_traces/c.json 700
mkdir kept/other
cp "$data"/formats/good-bf16.npy kept/other
cp -R replay/step0 config
echo '{"task": "free_benchmark", "rank": [], "step": [], "level": "L1",
"free_benchmark": {"scope": [], "list": ["softmax"], "pert_mode":
"improve_precision", "fuzz_stage": "forward"}}' > config/config.json
cp -R compare/* mapped
chmod -R u+w mapped
sed -i 's/"Module\.blocks\.0\.linear/"Module.h.0.fc/' \
    mapped/step0/proc4711/dump.json
echo 'h.0.fc: blocks.0.linear' > mapped/map
cp -R dump/step0 dump/step1 crc
cp "$data"/formats/good-bf16.npy findings/in
cp -R dump/step1 activations/in
cp -R dump/step1 diverging/in
cp trace/a.json groups
mkdir crc/other
echo '{"data": {"Functional.layer_norm.0.forward": {"input_args": [
{"type": "torch.Tensor", "dtype": "torch.bfloat16", "md5": "00000000"}]}}}' \
    > crc/other/dump.json
cp -R "$data/replay/step0" "$data/replay/step2" explained
chmod -R u+w explained
# results FOLDER FROM TO...: a result in the place of another, which is wrong
results()
{
    local step=$1 from
    shift
    while [ $# -gt 1 ]; do
        from=explained/$step/proc4711/dump_tensor_data/$1.forward.output.0.pt
        cp "$from" "${from%/*}/$2.forward.output.0.pt"
        shift 2
    done
}
results step0 Functional.log_softmax.0 Functional.softmax.0 \
    Tensor.__add__.0 Functional.layer_norm.0
results step2 Torch.bmm.0 Functional.linear.0 Torch.mm.0 Torch.addmm.0 \
    Functional.scaled_dot_product_attention.{1,0}
to="--output_dir out --jobs 1"
# shellcheck disable=SC2086
{
    loops tensors "tensors --tensor_dir first --no_plots" -- \
        tensors --tensor_dir in --no_plots $to
    loops trace "trace a.json --no_plots" -- trace b.json --no_plots $to \
        --annotate annotated.json.gz
    RUNS=8 loops figures "tensors --tensor_dir first" -- \
        tensors --tensor_dir in $to
    loops dump "dump step1" -- dump step0 $to
    loops compare "compare step0 step0 --no_plots" -- \
        compare step0 step1 --no_plots $to
    RUNS=12 loops parting "compare step0 step0 --no_plots" -- \
        compare step0 step1 --autodiff --no_plots $to
    RUNS=12 loops content "compare whole whole --match content --no_plots" -- \
        compare whole swapped --match content --no_plots $to
    loops replay "replay step0 --no_plots" -- replay step3 --no_plots $to
    loops check "" -- check .
    loops page "check first.py" -- check in $to
    loops inspect "" -- inspect .
    RUNS=12
    loops kinds "tensors in/good-packed.safetensors --no_plots" -- tensors in \
        --no_plots --no_html --dims none --formats none $to
    loops against "trace --compare a.json a.json --no_plots" -- \
        trace --compare a.json b.json --no_plots $to
    loops merge "merge first.state --no_plots" -- \
        merge in.state first.state --no_plots --no_html $to
    # its state is in the older result, and is made from there on; what is left
    # where a file cannot be read is not the older one again
    loops kept "tensors other --no_plots --state older/kept.state" -- \
        tensors first in --no_plots --no_html --state out/kept.state $to
    loops kept_traces "trace c.json --no_plots --state older/kept.state" -- \
        trace a.json b.json --no_plots --no_html --state out/kept.state $to
    loops config "replay step0 --no_plots" -- replay step0 --no_plots \
        --no_html --config config.json $to
    loops mapped "compare step1 step1 --no_plots" -- compare step0 step1 \
        --map map --no_plots --no_html $to
    loops crc "dump step1" -- dump step0 --crc_from other --no_plots \
        --no_html $to
    loops explained "replay step2 --list linear.0 --no_plots" -- \
        replay step0 step2 --no_plots --no_html --list \
        .softmax.,layer_norm.0,linear.0,attention.0,addmm.0 $to
    RUNS=2 MANY=yes
    loops findings "tensors in" -- tensors "$data/case_nan_inf" \
        "$data/checkpoint_faults" "$data/optimizer" "$data/quantised" \
        --scripts "$data/check" --no_plots --no_html --dims none \
        --formats none $to
    loops activations "dump in" -- dump "$data/torchtitan" --no_plots \
        --no_html $to
    loops diverging "dump in" -- dump "$data/divergence" --no_plots --no_html \
        --scripts "$data/check" $to
    loops groups "trace a.json --no_plots" -- trace "$data/traces/own/ranks" \
        "$data/traces/cpu-groups-torch2.15.0/groups.json.gz" --group_by stack \
        --no_plots --no_html --scripts "$data/check" $to
}
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
