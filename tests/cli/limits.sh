# SPDX-License-Identifier: MIT
# Inputs beyond a limit that no corpus holds, since they are large or grow when
# they are read: each says so.
. "$srcdir/tests/shapes.sh"
gzipped 70000000
mkdir d
{
    printf '{"task":"statistics","level":"L1","framework":"pytorch","data":{'
    printf '"Torch.add.0.forward":{"input_args":[{"type":"str","value":"'
    opcodes 18000000 x
    printf '"}]}}}'
} > d/dump.json
{ # 40 pairs of the pair before
    printf '\200\002K\001'
    for i in $(seq 0 39); do
        octal=$(printf %o "$i")
        printf "q\\${octal}h\\$octal\206"
    done
    printf .
} > paths.pt
for words in 'inspect in.npy.gz' 'dump d --output_dir out' 'inspect paths.pt'
do
    # shellcheck disable=SC2086 # a list
    tprof-analyze $words --jobs 1 > text 2>&1
    echo "exit $?"
    grep -h -o -E '(over|too many paths|a value is longer) .*' text
done
