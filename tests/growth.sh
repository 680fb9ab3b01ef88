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
if is_sanitized; then
    echo "skipped: valgrind and sanitizers do not mix"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-growth.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
passed=0 failed=0

# many N TEXT: the text N times, as printf %b reads it.
many()
{
    local text
    text=$(printf '%b.' "$2") && text=${text%.}
    yes "$text" | head -n "$1" | tr -d '\n'
}
# opcodes N CODES: opcodes of a pickle, N times; CODES in octal for tr.
opcodes() { head -c "$1" /dev/zero | tr '\000' "$2"; }
# numbered N FORMAT...: awk's printf of the numbers 1 to N.
numbered()
{
    awk -v n="$1" -v format="${2//$'\n'/ }" 'BEGIN {
        for (i = 1; i <= n; i++) {
            text = format
            gsub(/#/, i, text)
            printf "%s%s", (i > 1 ? "," : ""), text
        }
    }'
}
pickle() { printf '\200\002'; cat; printf '.'; }
trace() { printf '{"traceEvents":['; cat; printf ']}'; }

# --- shapes: each writes `in` (a file or folder) for n parts ------------------

constants() { { printf '('; opcodes "$1" N; printf l; } | pickle > in.pt; }
remembered() { { printf '('; many "$1" ']q\001'; printf l; } | pickle > in.pt; }
deep() { { opcodes "$1" ']'; opcodes $(($1 - 1)) a; } | pickle > in.pt; }
small_ints() { { printf '('; many "$1" 'K\001'; printf l; } | pickle > in.pt; }
same_keys() { { printf '}('; many "$1" 'U\001aK\001'; printf u; } |
    pickle > in.pt; }
marks() { { opcodes "$1" '('; printf l; } | pickle > in.pt; }
twins() { { printf ']'; opcodes "$1" 2; printf 0; } | pickle > in.pt; }
tensors()
{
    local header
    header={$(numbered "$1" \
        '"layers.#.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}')}
    { le64 ${#header}; printf %s "$header"; } > in.safetensors
}
long_name()
{
    local header
    header="{\"$(opcodes "$1" n)\":{\"dtype\":\"F32\",\"shape\":[0],\
\"data_offsets\":[0,0]}}"
    { le64 ${#header}; printf %s "$header"; } > in.safetensors
}
archives() # torch.save into one file, again and again
{
    yes "$srcdir/testdata/torch/good-archives.pt" | head -n "$1" |
        xargs cat > in.pt
}
X='{"ph":"X","cat":"cpu_op","pid":1,"name":'
nested_calls() # each begins and ends within the one before
{
    awk -v n="$1" -v head="$X" 'BEGIN { for (i = 0; i < n; i++)
        printf "%s%s\"f\",\"tid\":1,\"ts\":%d,\"dur\":%d}", (i ? "," : ""),
            head, i, 2 * (n - i) }' | trace > in.json
}
same_moment()
{
    numbered "$1" "$X\"f\",\"tid\":1,\"ts\":5,\"dur\":0}" | trace > in.json
}
same_span()
{
    numbered "$1" "$X\"f#\",\"tid\":1,\"ts\":5,\"dur\":7}" | trace > in.json
}
threads()
{
    numbered "$1" "$X\"f\",\"tid\":#,\"ts\":#,\"dur\":7}" | trace > in.json
}
streams()
{
    numbered "$1" '{"ph":"X","cat":"kernel","pid":0,"tid":#,"ts":#,"dur":3,
        "name":"k","args":{"stream":#,"device":0,"correlation":#}}' |
        trace > in.json
}
launches()
{
    numbered "$1" '{"ph":"X","cat":"cuda_runtime","pid":1,"tid":1,"ts":#,
        "dur":1,"name":"cudaLaunchKernel","args":{"correlation":#}},
        {"ph":"X","cat":"kernel","pid":0,"tid":7,"ts":#.5,"dur":0.4,"name":"k#",
        "args":{"stream":7,"device":0,"correlation":#}}' | trace > in.json
}
one_correlation()
{
    numbered "$1" '{"ph":"X","cat":"cuda_runtime","pid":1,"tid":1,"ts":#,
        "dur":1,"name":"cudaLaunchKernel","args":{"correlation":1}},
        {"ph":"X","cat":"kernel","pid":0,"tid":7,"ts":#.5,"dur":0.4,"name":"k",
        "args":{"stream":7,"device":0,"correlation":1}}' | trace > in.json
}
processes()
{
    numbered "$1" "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":#,\"name\":\"f\",
        \"tid\":1,\"ts\":#,\"dur\":7}" | trace > in.json
}
details()
{
    { printf '%s"f","tid":1,"ts":1,"dur":1,"args":{' "$X"
      numbered "$1" '"k#":#'; printf '}}'; } | trace > in.json
}
brackets() { { printf 'x = '; opcodes "$1" '('; opcodes "$1" ')'; } > in.py; }
names() { numbered "$1" 'x# = 1' | tr , '\n' > in.py; }
functions()
{
    numbered "$1" 'def f#(x):@    return x.half().sum()' | tr ,@ '\n\n' > in.py
}
calls() { { printf 'import torch\nx = f'; many "$1" '(x)'; } > in.py; }
sums() { { printf 'x = 1'; many "$1" ' + x'; } > in.py; }
items()
{
    mkdir -p in
    { printf '{"task":"statistics","level":"L1","framework":"pytorch",
"dump_data_dir":null,"data":{'
      numbered "$1" '"Torch.add.#.forward":{"input_args":[{
"type":"torch.Tensor",
"dtype":"torch.float32","shape":[2],"Max":1,"Min":0.0,"Mean":0.5,"Norm":1.5,
"requires_grad":false}],"input_kwargs":{},"output":[]}'
      printf '}}'; } > in/dump.json
    echo '{}' > in/stack.json
    echo '{}' > in/construct.json
}

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
