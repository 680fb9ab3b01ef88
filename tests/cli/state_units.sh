# SPDX-License-Identifier: MIT
# Files that belong together are known together: an index, a pattern, metadata
# of a distributed checkpoint go with the files that they describe, tensors of
# msprobe with the json beside them.
need h5dump
must cp -R "$srcdir/testdata/checkpoints" d
must cp -R "$srcdir/testdata/msprobe" d/msprobe
chmod -R u+w d

# step NAME: a run with the state, one without; both give the same.
step()
{
    tprof-analyze --tensor_dir d --no_plots --output_dir draw --state s > text \
        2> err
    echo "$1: exit $?"
    sed -n 's/^  s: \([0-9]*\) files known, \([0-9]*\) read.*/\1 \2/p' text \
        > numbers
    read -r known fresh < numbers
    mv draw "$1"
    tprof-analyze --tensor_dir d --no_plots --output_dir draw > text 2> err
    mv draw "$1.plain"
    same "$1.plain" "$1"
}
step first
[ "$known" -eq 0 ] || echo "$known known"
step again
[ "$fresh" -eq 0 ] || echo "$fresh read"

# one shard of each
for unit in good-sharded good-dcp good-megatron good-dcp_safetensors; do
    shard=$(find d/$unit -type f | LC_ALL=C sort | tail -n 1)
    touch -d "2020-01-01" "$shard"
done
step touched
[ "$known" -gt 0 ] && [ "$fresh" -gt 4 ] || echo "$known known, $fresh read"

# what describes others goes, and comes back
mkdir aside
find d -name '*.index.json' -o -name .metadata -o -name dump.json > names
while read -r file; do
    mkdir -p "aside/${file%/*}"
    mv "$file" "aside/$file"
done < names
[ -s names ] || echo "nothing to move"
step without
cp -Rp aside/d/. d/
step back

# a shard that was missing
mv d/bad-sharded d/aside-sharded
step moved
