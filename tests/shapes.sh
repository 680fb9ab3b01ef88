# SPDX-License-Identifier: MIT
# Inputs that are meant to cost much, for tests/growth.sh and tests/memory.sh.
# Each function writes `in` (a file or folder) of n parts. Needs srcdir and
# tests/cli/lib.sh.

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
strides() # of one storage, each view with steps of its own
{
    local numel=$((2 * $1 + 2))
    {
        printf '\200\002\212\012l\374\234F\371 j\250P\031.'
        printf '\200\002M\351\003.\200\002}.\200\002('
        awk -v n="$1" -v numel=$numel 'BEGIN { for (i = 1; i <= n; i++)
            printf "ctorch._utils\n_rebuild_tensor_v2\n((U\007storagectorch\n" \
                "FloatStorage\nU\0010U\003cpuI%d\nNtQI0\n(I2\nt(I%d\ntI00\n" \
                "ccollections\nOrderedDict\n)RtR", numel, i }'
        printf 'l.\200\002(U\0010l.'
        le64 $numel
        head -c $((4 * numel)) /dev/zero
    } > in.pt
}
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
gzipped() # an array of bytes, packed
{
    local shape="'descr': '|u1', 'fortran_order': False, 'shape': ($1,)"
    {
        printf '\223NUMPY\001\000v\000%-117s\n' "{$shape}"
        head -c "$1" /dev/zero
    } | gzip > in.npy.gz
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
# packed N STEP: operators without time between them, each of which starts a
# kernel, in steps of so many; three events each.
packed()
{
    awk -v n="$1" -v step="$2" 'BEGIN {
        for (i = 0; i < n; i++) {
            if (i % step == 0)
                printf "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"pid\":1," \
                    "\"tid\":1,\"ts\":%d,\"dur\":%d,\"name\":" \
                    "\"ProfilerStep#%d\"},", 9 * i, 9 * step, i / step
            printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1," \
                "\"ts\":%d,\"dur\":8.5,\"name\":\"aten::op%d\"}," \
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":1," \
                "\"ts\":%d.3,\"dur\":5,\"name\":\"cudaLaunchKernel\"," \
                "\"args\":{\"correlation\":%d}}," \
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7," \
                "\"ts\":%d.7,\"dur\":7,\"name\":\"k%d\",\"args\":{\"stream\":" \
                "7,\"device\":0,\"correlation\":%d}}%s", 9 * i, i % 5, \
                9 * i, i + 1, 9 * i + 3, i % 7, i + 1, i + 1 < n ? "," : ""
        }
    }' | trace > in.json
}
packed_steps() { packed "$1" 5000; }
packed_step() { packed "$1" "$1"; }
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
zeros() # one argument of a call, a list
{
    mkdir -p in
    { printf '{"task":"statistics","level":"L1","data":{"Torch.add.0.forward":'
      printf '{"input_args":['; many "$1" '0,'; printf '0]}}}'; } > in/dump.json
    echo '{}' > in/stack.json
    echo '{}' > in/construct.json
}
outputs() # of a cell of a notebook
{
    { printf '{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{'
      printf '"cell_type":"code","source":["x = 1"],"outputs":['
      many "$1" '0,'; printf '0]}]}'; } > in.ipynb
}
shards()
{
    { printf '{"metadata":{},"weight_map":{'
      numbered "$1" '"layers.#.weight":"model-#.safetensors"'
      printf '}}'; } > in.safetensors.index.json
}
