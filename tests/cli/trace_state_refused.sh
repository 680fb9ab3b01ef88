# SPDX-License-Identifier: MIT
# A state of traces that this run cannot go on from is refused, named, and left
# as it is; so are options that it keeps nothing for.
mkdir d e
must cp -R "$srcdir/testdata/traces/own/ranks" d/
some_logs e 2
analyse()
{
    tprof-analyze trace d --no_plots --quiet --output_dir out --state s "$@"
    echo "exit $?"
}
analyse
cp s good
analyse --group_by shape
analyse --gpu "A100 SXM 80GB"
analyse --peak bf16=1
cmp s good && echo "the state is as it was"
analyse --threshold alloc=6 --sort count --top 3
analyse --scripts d
analyse --annotate x.json
analyse --compare d
cmp s good && echo "the state is as it was"

# at every block; a file without any byte is none yet
blocks=0
size=$(stat -c %s good)
for length in 1 $(seq 1024 1024 "$size") $((size - 1)); do
    head -c "$length" good > s
    tprof-analyze trace d --no_plots --quiet --output_dir out --state s \
        2> err && echo "read $length of $size bytes"
    [ "$length" -lt 20 ] || grep -q 'a state that is cut off' err || cat err
    [ "$(stat -c %s s)" = "$length" ] || echo "changed"
    blocks=$((blocks + 1))
done
[ $blocks -gt 5 ] && echo "cut at every block"
sed 's/schema 3/schema 2/' good > s
analyse
cp good s
printf x | dd of=s bs=1 seek=3000 conv=notrunc status=none
analyse
rm s
tprof-analyze e --no_plots --quiet --output_dir out --state s
cp s tensors
analyse
cmp s tensors && echo "the state is as it was"
tprof-analyze e --no_plots --quiet --output_dir out --state good
echo "exit $?"
tprof-analyze merge good tensors --output_dir out
echo "exit $?"
tprof-analyze merge tensors good --output_dir out
echo "exit $?"
tprof-analyze trace d --no_plots --quiet --output_dir part --state peaks \
    --peak bf16=100 --peak fp16=2e2
tprof-analyze merge good peaks --output_dir out
echo "exit $?"
tprof-analyze merge peaks --no_plots --quiet --output_dir out
echo "exit $?"
tprof-analyze merge good --sigma 3 --output_dir out
echo "exit $?"
tprof-analyze merge tensors --top 3 --output_dir out
echo "exit $?"
