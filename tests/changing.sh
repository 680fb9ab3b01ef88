#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that change while they are read (tests/faults/change.c): shorter,
# longer, written to, replaced, removed, on a file system that fails. Each
# command goes on, names the file and says what happened to it, and ends with
# 3; nothing that was read of it is in a table, and there is no signal. Small
# files, which are read at once, and large ones, at their first read and in
# between what says where tensors are and the tensors. What the tables have to
# be is what a run leaves that could not read the file at all. Needs: TPROF,
# srcdir, CC; h5dump, without which the tables are not looked at.

[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/shapes.sh"
if is_sanitized; then
    echo "skipped: a sanitizer has to be first of what is preloaded"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-changing.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # CC may be "ccache gcc"
${CC:-cc} -O1 -shared -fPIC -o "$work/change.so" \
    "$srcdir/tests/faults/change.c" -ldl || {
    echo "skipped: this C library takes no such calls"
    exit 77
}
unset TZ TPROF_INPUT
passed=0 failed=0
data=$srcdir/testdata
make_pt=${builddir:-$srcdir}/tests/bench/make_pt
h5dump=$(command -v h5dump) || h5dump=no

fail()
{
    echo "FAIL $*"
    tail -n 4 err | sed 's/^/    /'
    failed=$((failed + 1))
}

words()
{
    local bad='not JSON|broken|cut'
    case $1 in
    shorter) echo "became shorter|is another|ends (at byte|too early)|$bad" ;;
    longer) echo 'became longer|is another' ;;
    written) echo "written to|is another|CRC|not UTF|is not|$bad" ;;
    replaced) echo 'removed or replaced|is another' ;;
    vanished) echo 'removed or replaced' ;;
    EIO) echo 'Input/output error' ;;
    ESTALE) echo 'Stale file handle' ;;
    esac
}

# What says in a table why a file was not read.
reasons='became (shorter|longer)|is another|written to|removed or replaced|error
|Stale file|ends at byte|ends too early|not JSON|cut|broken|CRC|not UTF
|No such file|not a torch file'
reasons=${reasons//$'\n'/}

# tables: what the tables in `out` hold, or, where there are none, what was
# printed; without the files that were not read, why a file was not, and how
# wide columns are. Only the table $table, if there is such a word.
tables()
{
    local file
    if [ -d out ]; then
        find out -name '*.csv' -o -name '*.h5' | LC_ALL=C sort |
            while read -r file; do
                case $file in
                *.csv) sed 's/^/:/' "$file" ;;
                *.h5) h5dump -y -w 0 "$file" ;;
                esac
            done
    else
        sed 's/^/:/' text
    fi | awk -v reasons="$reasons" -v table="${table:-}" '
        $0 == end { end = ""; next }
        end == "" && index($0, " DATASET ") {
            end = $0
            sub(/DATASET.*/, "}", end)
            name = $2
            gsub(/"/, "", name)
            wanted = table ? name == table : name != "skipped"
            print name
            next
        }
        end ? !wanted : table || substr($0, 1, 1) != ":" { next }
        /["{}:]/ {
            sub(/^[: ]*/, "")
            gsub(/\\000/, "")
            gsub(/}, {/, "},\n{")
            sub("\"?[^\",]*(" reasons ").*", "WHY")
        }
        index($0, "STRSIZE") == 0'
}

# run FILE AT HOW WORD...: a run over a copy of `from`; its exit status is in
# rc, and what it left in out, text, err and tables.
run()
{
    local file=$1 at=$2 how=$3
    shift 3
    CHANGE_FILE=$file CHANGE_AT=$at CHANGE_HOW=$how CHANGE_DONE=$work/done \
        LD_PRELOAD=$work/change.so "$TPROF" "$@" --no_sandbox --jobs 1 \
        > text 2> err
    rc=$?
    tables > tables
    rm -f rows
    if [ "$h5dump" != no ] && [ -e out ]; then
        h5dump -y -d /skipped out/*.h5 > rows
    fi
    cat out/*.txt >> text 2> /dev/null
}

# fresh: a copy of `from`, and no result.
fresh()
{
    rm -rf in out "$work/done"
    cp -R from in
    find in -type f -exec touch -d 2024-01-01 {} +
}

# expects FILE WORD...: what a run leaves that cannot read the file, from read
# $unread on or, where there are such words, without the files $without: tables
# that have $kept, and not what is there when nothing happens.
expects()
{
    local file=$1
    shift
    fresh
    run "$file" 1 nothing "$@"
    [ "$rc" = 0 ] || fail "$1, $file: exit status $rc, and nothing happened"
    mv tables whole
    fresh
    if [ -n "${without:-}" ]; then
        # shellcheck disable=SC2086
        (cd in && rm -r $without) || exit 99
        run "$file" 1 nothing "$@"
    else
        run "$file" "${unread:-1}" EIO "$@"
    fi
    mv tables expected
    if cmp -s whole expected; then
        fail "$1, $file: nothing in a table is of it"
    elif [ -n "$kept" ] && ! grep -qF -e "$kept" expected; then
        fail "$1, $file: $kept is in no table"
    fi
}

# changes FILE AT STATUS HOW... -- WORD...: a run over a copy of `from`, one for
# each HOW, of which FILE changes at read AT.
changes()
{
    local file=$1 at=$2 status=$3 how hows= rc
    shift 3
    while [ "$1" != -- ]; do
        hows="$hows $1"
        shift
    done
    shift
    [ "$h5dump" = no ] || expects "$file" "$@"
    for how in $hows; do
        fresh
        run "$file" "$at" "$how" "$@"
        if [ ! -e done ]; then
            fail "$1, $file: there was no read $at"
        elif [ $rc != "$status" ]; then
            fail "$1, $file $how at read $at: exit status $rc"
        elif ! cat text err | tr '\n' ' ' | tr -s ' ' |
            grep -qE "$(words "$how")"; then
            fail "$1, $file $how at read $at: not a word"
        elif [ -e rows ] && ! grep -qF -e "$file" rows; then
            fail "$1, $file $how at read $at: no row of skipped"
        elif [ "$h5dump" != no ] && ! diff expected tables > differ; then
            fail "$1, $file $how at read $at: something of it is in a table"
            grep '^[<>]' differ | head -n 4 | sed 's/^/    /'
        else
            passed=$((passed + 1))
        fi
    done
}

all="shorter longer written replaced vanished EIO ESTALE"
some="shorter longer written replaced"
to="--output_dir out --no_plots --no_html"
few="$to --dims none --formats none" # tables
cd "$work" || exit 99

# large_dump FOLDER [turned]: a dump of one rank whose tensors are large, with a
# weight that another rank may have turned: the same statistics, other contents.
large_dump()
{
    local tensor='{"type": "torch.Tensor", "dtype": "torch.float32",
"shape": [1, 280, 280], "Max": 4.138434410095215, "Min": -3.980336904525757,
"Mean": 0.00152798703323988, "Norm": 281.3757368800395,
"requires_grad": false, "data_name": "'
    local clone=Torch.clone.0.forward linear=Module.linear.Linear.forward.0
    mkdir -p "$1/dump_tensor_data"
    echo '{"task": "tensor", "level": "mix", "framework": "pytorch",
"dump_data_dir": "x", "data": {"'$clone'": {"input_args": ['"$tensor$clone"'.
input.0.pt"}], "input_kwargs": {}, "output": ['"$tensor$clone"'.output.0.pt"}]},
"'$linear'": {"input_args": [], "input_kwargs": {}, "output": [], "parameters":
{"weight": '"$tensor$linear"'.parameters.weight.pt"}}}}}' |
        sed -z 's/\.\n/./g' > "$1/dump.json"
    for name in $clone.input.0 $clone.output.0; do
        "$make_pt" "$1/dump_tensor_data/$name.pt" 0.3 280 280 float32 || exit 99
    done
    # shellcheck disable=SC2086
    "$make_pt" "$1/dump_tensor_data/$linear.parameters.weight.pt" \
        0.3 280 280 float32 ${2:-} || exit 99
}

# safetensors FILE NAME ROWS: a tensor of float32 whose bytes come from stdin.
safetensors()
{
    local header="{\"$2\":{\"dtype\":\"F32\",\"shape\":[$3,40000],\
\"data_offsets\":[0,$((160000 * $3))]}}"
    {
        le64 ${#header}
        printf %s "$header"
        cat
    } > "$1"
}

# shards: ten files of a row each in from/a, and all rows in from/b.
shards()
{
    local i
    for i in 0 1 2 3 4 5 6 7 8 9; do
        awk -v seed="$i" 'BEGIN {
            srand(seed)
            for (i = 0; i < 40000; i++)
                printf "%03d=", 1000 * rand()
        }' > rows.$i
        safetensors from/a/s$i.safetensors w 1 < rows.$i
    done
    cat rows.? | safetensors from/b/whole.safetensors w 10
}

# large_log FILE N: a log of torchtitan of n operators.
large_log()
{
    awk -v n="$2" 'BEGIN {
        printf "Total captured activations: %d\n" \
            "Excluded ops dispatched: view\n%080d\n\n", n, 0
        for (i = 0; i < n; i++)
            printf "[layers.%d.wq/op_0_mm]\n" \
                "  Shape: torch.Size([8, 8]), Dtype: torch.bfloat16\n" \
                "  L2 norm: 4.415625e+01\n  Min: -1.450000e+01\n" \
                "  Max: 1.325000e+01\n  Mean: 3.662109e-02\n" \
                "  Output hash: 5.162500e+01\n  Input hashes: 3.100000e+01\n" \
                "  Input producers: \n  Location: models/llama.py:412\n\n", i
        }' | sed '3s/0/=/g' > "$1"
}

mkdir from
some_logs from 2
small=$(basename "$(find from -type f | LC_ALL=C sort | head -n 1)")
kept=$(basename "$(find from -type f | LC_ALL=C sort | tail -n 1)")
# shellcheck disable=SC2086
{
    changes "$small" 1 3 $all -- tensors in $to
    "$make_pt" from/large.pt 2 || exit 99
    changes large.pt 1 3 $all -- tensors in $few
    changes large.pt 6 3 $all -- tensors in $few
    kept='' changes large.pt 6 3 $all -- inspect in/large.pt
    rm "from/$small"
    mv from/large.pt .
    cp -R "$data"/checkpoints/good-sharded/* from
    chmod -R u+w from
    # read as a whole; what of it cannot be opened is left out of it
    without="model*" changes model-00002-of-00002.safetensors 2 3 shorter \
        longer written replaced vanished -- tensors in $few
    changes model-00002-of-00002.safetensors 2 3 EIO ESTALE -- tensors in $few
    changes index.json 1 3 $all -- tensors in $few
    rm -rf from
    mkdir from
    make_trace from/a.json 3000
    make_trace from/b.json 10
    kept=b.json
    changes a.json 1 3 $all -- trace in $to
    gzip -dc "$data/traces/own/long.json.gz" > from/a.json
    changes a.json 2 3 $all -- trace in $to
    rm -rf from
    mkdir from
    cp "$data"/check/bad-adam_eps_half.py "$data"/check/bad-bce.py from
    kept=bad-adam_eps_half.py
    changes bad-bce.py 1 3 $all -- check in
    rm -rf from
    mkdir from
    cp -R "$data/msprobe/step0" "$data/replay/step3" from
    chmod -R u+w from
    kept=Torch.cumsum.0.forward # of step 3
    changes step0/proc4711/dump.json 1 3 $all -- dump in $to
    changes stack.json 1 3 $all -- dump in $to
    kept=Torch.add.0.forward # beside the file
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- dump in $to
    cp -R "$data/msprobe/step1" other
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- \
        compare in/step0 other $to
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- replay in/step0 $to
    rm -rf from
    cp -R "$data/replay/step0" from
    chmod -R u+w from
    tensors=from/proc4711/dump_tensor_data odd=Functional.softmax.0.forward
    cp $tensors/Functional.log_softmax.0.forward.output.0.pt \
        $tensors/$odd.output.0.pt # read once more to be explained
    kept=Functional.layer_norm.0.forward
    unread=2 changes $odd.input.0.pt 2 3 $some -- replay in $to
    unread=3 changes $odd.input.0.pt 3 3 $some -- replay in $to
    rm -rf from
    large_dump from/step0/rank0
    large_dump from/step0/rank1 turned
    weight=rank1/dump_tensor_data/Module.linear.Linear.forward.0.parameters
    argument=rank1/dump_tensor_data/Torch.clone.0.forward.input.0
    kept=Torch.clone.0.forward
    changes $weight.weight.pt 6 3 $some -- dump in $to
    # it is read again to say which ranks have copies
    unread=23 changes $weight.weight.pt 24 3 $some -- dump in $to
    kept=Module.linear.Linear.forward.0
    for order in "rank0 in/step0/rank1" "rank1 in/step0/rank0"; do
        changes $argument.pt 6 3 $some EIO -- compare in/step0/$order $to
    done
    kept=replayed
    changes $argument.pt 6 3 $some -- replay in $to
    rm -rf from
    mkdir -p from/a from/b
    cp "$data/content/whole/model.pt" from/a
    "$make_pt" from/a/large.pt 0.3 280 280 float32 || exit 99
    cp from/a/* from/b
    chmod -R u+w from
    table=content_matches kept=large
    content="compare in/a in/b --match content $to"
    changes b/model.pt 1 3 $some -- $content
    changes b/model.pt 2 3 $some -- $content
    kept=model.norm.weight
    changes b/large.pt 1 3 $some -- $content
    changes b/large.pt 20 3 $some -- $content # when all of it is read
    rm -rf from
    mkdir -p from/a from/b
    shards # more files than are open at a time
    cp "$data/content/whole/model.pt" from/a
    cp "$data/content/whole/model.pt" from/b
    kept=model.norm.weight
    unread=15 changes a/s0.safetensors 15 3 $some -- $content
    table=''
    rm -rf from
    mkdir -p from/step3 from/step4
    large_log from/step3/rank_0_activations.log 800
    large_log from/step4/rank_0_activations.log 3
    kept=layers.2.wq # of step 4, and of both
    changes step3/rank_0_activations.log 3 3 $some -- dump in $to
    rm -rf from in
    items 2000 # more than is read at once
    mkdir -p from/step0
    mv in from/step0/rank0
    cp -R from/step0 from/step1
    kept=Torch.add.7.forward
    changes step0/rank0/dump.json 2 3 $some vanished -- dump in $to
}
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
