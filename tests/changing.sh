#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that change while they are read (tests/faults/change.c): shorter,
# longer, written to, replaced, removed, on a file system that fails. Each
# command goes on, names the file and says what happened to it, and ends with
# 3; nothing that was read of it is in a table, and there is no signal. Small
# files, which are read at once, and large ones, at their first read and in
# between what says where tensors are and the tensors. Needs: TPROF, srcdir, CC.

[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
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

fail()
{
    echo "FAIL $*"
    tail -n 4 err | sed 's/^/    /'
    failed=$((failed + 1))
}

words()
{
    case $1 in
    shorter) echo 'became shorter|ends at byte|ends too early|not JSON|cut' ;;
    longer) echo 'became longer' ;;
    written) echo 'written to|not JSON|broken|CRC|not UTF|is not' ;;
    replaced | vanished) echo 'removed or replaced' ;;
    EIO) echo 'Input/output error' ;;
    ESTALE) echo 'Stale file handle' ;;
    esac
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
    for how in $hows; do
        rm -rf in out done
        cp -R from in
        find in -type f -exec touch -d 2024-01-01 {} +
        CHANGE_FILE=$file CHANGE_AT=$at CHANGE_HOW=$how CHANGE_DONE=$work/done \
            LD_PRELOAD=$work/change.so "$TPROF" "$@" --no_sandbox --jobs 1 \
            > text 2> err
        rc=$?
        cat out/*.txt >> text 2> /dev/null
        if [ ! -e done ]; then
            fail "$1, $file: there was no read $at"
        elif [ $rc != "$status" ]; then
            fail "$1, $file $how at read $at: exit status $rc"
        elif ! cat text err | tr '\n' ' ' | tr -s ' ' |
            grep -qE "$(words "$how")"; then
            fail "$1, $file $how at read $at: not a word"
        else
            passed=$((passed + 1))
        fi
    done
}

all="shorter longer written replaced vanished EIO ESTALE"
to="--output_dir out --no_plots --no_html"
cd "$work" || exit 99

mkdir from
some_logs from 2
small=$(basename "$(find from -type f | head -n 1)")
# shellcheck disable=SC2086
{
    changes "$small" 1 3 $all -- tensors in $to
    "$make_pt" from/large.pt 2 || exit 99
    changes large.pt 1 3 $all -- tensors in $to
    changes large.pt 6 3 $all -- tensors in $to
    changes large.pt 6 3 $all -- inspect in/large.pt
    rm -rf from
    cp -R "$data/checkpoints/good-sharded" from
    chmod -R u+w from
    changes model-00002-of-00002.safetensors 2 3 $all -- tensors in $to
    changes index.json 1 3 $all -- tensors in $to
    rm -rf from
    mkdir from
    make_trace from/a.json 3000
    make_trace from/b.json 10
    changes a.json 1 3 $all -- trace in $to
    gzip -dc "$data/traces/own/long.json.gz" > from/a.json
    changes a.json 2 3 $all -- trace in $to
    rm -rf from
    mkdir from
    cp "$data"/check/bad-adam_eps_half.py "$data"/check/bad-bce.py from
    changes bad-bce.py 1 3 $all -- check in
    rm -rf from
    cp -R "$data/msprobe/step0" from
    chmod -R u+w from
    changes dump.json 1 3 $all -- dump in $to
    changes stack.json 1 3 $all -- dump in $to
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- dump in $to
    cp -R "$data/msprobe/step1" other
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- compare in other $to
    changes Torch.log.0.forward.input.0.pt 1 3 $all -- replay in $to
}
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
