# SPDX-License-Identifier: MIT
# Models and checkpoints in several files: a row for each whole tensor, with its
# parts on request; what is missing or wrong is named, and the rest is there.
data=$srcdir/testdata/checkpoints
rows()
{
    tprof-analyze inspect "$@" 2> said | sed -n 's/^[^ ].* \[\(.*\)\]$/\1/p'
}
for unit in good-sharded good-bin good-dcp good-dcp_of_ranks \
    good-dcp_safetensors; do
    echo "$unit: $(rows "$data/$unit" | wc -l)"
    cat said
done
rows "$data/good-dcp" --parts | grep '^model.v' | tr '[]' '()'
for unit in "$data"/bad-*; do
    tprof-analyze inspect "$unit" > /dev/null 2> said
    echo "${unit##*/}: exit $?"
    sed "s|^.*checkpoints/||" said | head -n 2
done
# a file that is missing is a finding, where the rest can be read
need jq
for unit in "$data"/bad-dcp_{missing,lone,cut,hole} "$data/bad-sharded" \
    "$data"/good-{sharded,dcp}; do
    echo "${unit##*/}:"
    tprof-analyze "$unit" --no_plots --output_dir out --quiet
    jq -r '.findings[] | select(.rule == "incomplete") | .evidence' \
        out/findings.json
done
tprof-analyze tensors "$data/good-dcp" "$data/good-sharded" --no_plots \
    --quiet && ls draw/summary.h5
# so is a shard that the index does not name, left by another save; a file of
# another name is none
mkdir -p extra
cp "$data"/good-sharded/* extra
for step in consolidated model-00003-of-00004; do
    cp extra/model-00001-of-00002.safetensors extra/$step.safetensors
    echo "$step: $(tprof-analyze extra --no_plots --output_dir out --quiet
        echo "exit $?")"
    jq -r '.findings[] | select(.rule == "incomplete") | .evidence' \
        out/findings.json
done
# and a tensor that the index places in a file without it
mkdir -p lies
cp "$data"/good-sharded/* lies
sed -i 's/"b":/"nowhere": "model-00001-of-00002.safetensors", "b":/' \
    lies/*.index.json
tprof-analyze lies --no_plots --output_dir out --quiet
jq -r '.findings[] | select(.rule == "incomplete") | .evidence' \
    out/findings.json
# metadata that are none are damage where parts lie beside them, else another's
mkdir -p empty stray
cp "$data"/good-dcp/*.distcp empty
: > empty/.metadata
: > stray/.metadata
cp "$data/good-saved.safetensors" stray
for unit in empty stray; do
    tprof-analyze inspect "$unit" > /dev/null 2> said
    echo "$unit: exit $?"
    cat said
done
# and so is a .ckpt of which nothing is left
mkdir -p cut
: > cut/epoch=0-step=5.ckpt
tprof-analyze inspect cut 2>&1
echo "exit $?"
# and codes whose scales are gone
tprof-analyze "$srcdir/testdata/quantised/bad-scale_missing" --no_plots \
    --output_dir out --quiet
jq -r '.findings[] | select(.rule == "incomplete") | .evidence' \
    out/findings.json
# files are counted, and names that stand for several are none
for unit in good-megatron good-dcp_of_ranks; do
    tprof-analyze "$data/$unit" --no_plots --output_dir out | grep "files read"
    find "$data/$unit" -type f | wc -l
done
