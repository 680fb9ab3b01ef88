# SPDX-License-Identifier: MIT
# States of parts, however a run is split and in whatever order they come, give
# the result of one run over all of it.
need h5dump
for type in bf16 hifp8 mxfp8; do
    mkdir -p d/$type
    find "$logs/$type" -name '*.pt' | LC_ALL=C sort | head -n 60 |
        while read -r file; do cp "$file" d/$type/; done
done
cp "$srcdir"/testdata/torch/bad-*.pt d/mxfp8/
find d -type f | LC_ALL=C sort > files

keep() # STATE INPUT...: reads a part
{
    local state=$1
    shift
    tprof-analyze "$@" --no_plots --quiet --output_dir part --state "$state"
    [ $? -le 3 ] || echo "no state $state"
}
check() # NAME STATE...: merges, and compares
{
    local name=$1
    shift
    tprof-analyze merge "$@" --no_plots --output_dir draw > text
    echo "$name: exit $?"
    sed -n '/^Merged$/,$p' text | tail -n +2
    mv draw "$name"
    same one "$name"
}
tprof-analyze --tensor_dir d --no_plots --output_dir draw > text
mv draw one
for type in bf16 hifp8 mxfp8; do keep $type.s d/$type; done
check types hifp8.s mxfp8.s bf16.s
check twice bf16.s mxfp8.s bf16.s hifp8.s mxfp8.s
shuf files > shuffled
split -n l/4 shuffled part.
for part in part.a?; do
    mapfile -t some < "$part"
    keep $part.s "${some[@]}"
done
mapfile -t parts < <(printf '%s\n' part.*.s | shuf)
check chance "${parts[@]}"
grep -v rank01 files > rank0
grep rank01 files > rank1
for rank in 0 1; do
    mapfile -t some < rank$rank
    keep rank$rank.s "${some[@]}"
done
check ranks rank1.s rank0.s

# the same path on two nodes is two files, unless they are the same
n=0
for type in bf16 hifp8; do
    mkdir -p node$n/d
    file=$(sed -n "/$type/p" files | head -n 1)
    must cp "$file" node$n/d/tensor.pt
    (cd node$n && keep ../node$n.s d)
    n=$((n + 1))
done
tprof-analyze merge node1.s node0.s node1.s --no_plots --output_dir draw > text
sed -n '/^Merged$/,$p' text | tail -n +2
rows draw/summary.h5

# a copy of it that has another time
mkdir -p node2/d
must cp node0/d/tensor.pt node2/d/
touch -d 2020-01-01 node2/d/tensor.pt
(cd node2 && keep ../node2.s d)
tprof-analyze merge node2.s node1.s node0.s --no_plots --output_dir draw > text
sed -n '/^Merged$/,$p' text | tail -n +2
mv draw copies
tprof-analyze merge node0.s node1.s node2.s --no_plots --output_dir draw > text
same copies draw

# what cannot be merged
keep ceil.s d/mxfp8 --mx_scale ceil
tprof-analyze merge bf16.s ceil.s
echo "exit $?"
head -c 1000 bf16.s > cut.s
tprof-analyze merge hifp8.s cut.s
echo "exit $?"
tprof-analyze merge hifp8.s none.s
echo "exit $?"
tprof-analyze merge
echo "exit $?"
