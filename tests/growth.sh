#!/bin/bash
# SPDX-License-Identifier: MIT
# Time grows with the input and not faster, whatever its shape: inputs that are
# meant to be slow, of n and of 2 n parts, cost less than 2.5 times the
# instructions (callgrind's count, which no busy machine changes; n log n gives
# 2.1 to 2.2, squares give 4). What an input of one part costs is taken off
# both. Needs: TPROF, srcdir; TP_GROWTH=NAME: one shape.

command -v valgrind > /dev/null || { echo "skipped: no valgrind"; exit 77; }
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/shapes.sh"
if is_sanitized; then
    echo "skipped: valgrind and sanitizers do not mix"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-growth.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
passed=0 failed=0

# --- the law -----------------------------------------------------------------

# instructions COMMAND...: of the program and its children.
instructions()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$TPROF" "$@" \
        --jobs 1 2>&1 > /dev/null |
        awk '/Collected *:/ { sum += $NF } END { printf "%.0f", sum }'
}

# grows SHAPE N COMMAND...: {} stands for the input.
grows()
{
    local shape=$1 n=$2 cost=() count
    shift 2
    [ -z "$TP_GROWTH" ] || [ "$TP_GROWTH" = "$shape" ] || return
    for count in 1 "$n" $((2 * n)); do
        rm -rf in in.* out
        "$shape" "$count" || exit 99
        cost+=("$(instructions "${@/\{\}/$(echo in*)}")")
    done
    if awk -v one="${cost[0]}" -v n="${cost[1]}" -v twice="${cost[2]}" \
        -v shape="$shape" 'BEGIN {
            # what is not read at all would cost nothing more
            bad = !(n > 1.02 * one) || (twice - one) / (n - one) >= 2.5
            printf "%-4s %-16s %6.1f M, twice of it costs %.2f times as much\n",
                bad ? "FAIL" : "ok", shape, (n - one) / 1e6,
                (twice - one) / (n > one ? n - one : 1)
            exit bad }'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

for shape in constants remembered deep small_ints same_keys marks twins; do
    grows $shape 100000 inspect {}
done
grows tensors 2000 inspect {}
grows strides 500 inspect {}
grows long_name 200000 inspect {}
grows tensors 500 tensors {} --output_dir out --no_plots --formats none
grows archives 20 inspect {}
for shape in nested_calls same_moment same_span threads streams launches \
    one_correlation processes; do
    grows $shape 1000 trace {} --output_dir out --no_plots
done
grows details 50000 trace {} --output_dir out --no_plots
grows brackets 20000 check {}
for shape in names functions calls sums; do
    grows $shape 2000 check {}
done
grows items 1000 dump {} --output_dir out --no_plots
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
