#!/bin/bash
# SPDX-License-Identifier: MIT
# What readers take of memory at worst, as SECURITY.md has it: inputs that are
# meant to take much (tests/shapes.sh) are read in a process that may take so
# many bytes for each of theirs and no more (--memory_limit), and nothing is out
# of memory. Needs: TPROF, srcdir; TP_MEMORY=show: the least limit, too.

srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/shapes.sh"
[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
if is_sanitized; then
    echo "skipped: sanitizers take more than any limit"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-memory.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
passed=0 failed=0

# suffices MEBIBYTES WORD...: whether a run may be done with so much.
suffices()
{
    local limit=$1
    shift
    rm -rf out
    "$TPROF" "$@" --jobs 1 --memory_limit "${limit}M" > text 2>&1
    local rc=$?
    [ $rc = 0 ] || [ $rc = 3 ] && ! grep -rqs 'out of memory' text out
}

# least LIMIT WORD...: the least number of mebibytes that does, up to 4.
least()
{
    local low=4 high=$1 middle
    shift
    while [ $((high - low)) -gt 4 ]; do
        middle=$(((low + high) / 2))
        if suffices $middle "$@"; then high=$middle; else low=$middle; fi
    done
    echo "$high"
}

# judges SHAPE LIMIT FAULT SIZE MOST WORD...: a command has to do with LIMIT
# mebibytes, else FAULT is what is said; TP_MEMORY=show prints what it took, of
# at most MOST, and the SIZE of its input.
judges()
{
    local shape=$1 limit=$2 fault=$3 size=$4 most=$5
    shift 5
    if suffices "$limit" "$@"; then
        passed=$((passed + 1))
    else
        echo "FAIL $shape: $fault"
        tail -n 2 text
        failed=$((failed + 1))
    fi
    [ "$TP_MEMORY" != show ] ||
        echo "$shape: $size, $(least "$most" "$@") MiB"
}

# takes SHAPE N MEBIBYTES TIMES COMMAND...: an input of n parts needs no more
# than MEBIBYTES and TIMES its size; {} stands for it.
takes()
{
    local shape=$1 n=$2 base=$3 times=$4 size limit words
    shift 4
    rm -rf in in.* out
    "$shape" "$n" || exit 99
    size=$(cat in* in/* 2> /dev/null | wc -c)
    limit=$((base + times * size / 1048576))
    words=("${@/\{\}/$(echo in*)}")
    judges "$shape" $limit "$size bytes need more than $limit MiB" \
        "$size bytes" $limit "${words[@]}"
}

# holds SHAPE N BYTES: a trace of n parts, three events each, needs no more than
# 24 MiB and so many bytes for an event, however much JSON that is.
holds()
{
    local shape=$1 n=$2 bytes=$3 limit words
    rm -rf in in.* out
    "$shape" "$n" || exit 99
    limit=$((24 + 3 * n * bytes / 1048576))
    words=(trace in.json --output_dir out --no_plots --no_html)
    judges "$shape" $limit "more than $bytes bytes an event, $limit MiB" \
        "$((3 * n)) events" $((4 * limit)) "${words[@]}"
}

to="--output_dir out --no_plots --no_html"
# shellcheck disable=SC2086
{
    for shape in constants remembered deep small_ints same_keys marks twins; do
        takes $shape 1000000 64 32 inspect {}
    done
    takes archives 200 64 32 inspect {}
    takes tensors 20000 32 24 inspect {}
    takes long_name 4000000 32 24 inspect {}
    takes gzipped 60000000 36 0 inspect {}
    takes shards 20000 32 24 tensors {} $to
    for shape in nested_calls same_moment same_span threads streams launches \
        one_correlation processes; do
        takes $shape 20000 32 12 trace {} $to
    done
    takes details 100000 32 12 trace {} $to
    takes zeros 500000 32 64 dump {} $to
    takes items 5000 32 64 dump {} $to
    takes outputs 500000 32 64 check {}
    for shape in brackets names functions calls sums; do
        takes $shape 20000 32 48 check {}
    done
}
holds packed_steps 200000 48
holds packed_step 200000 250
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
