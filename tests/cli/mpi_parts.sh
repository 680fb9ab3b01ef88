# SPDX-License-Identifier: MIT
# Several processes read the tensors of one large file, or of the files of one
# checkpoint, and give the results of one process that reads all of it.
mpi_program
need h5dump

# make_file FILE FIRST LAST: so many tensors of 8 MiB, all of them zeros, in a
# file without room.
make_file()
{
    local at=0 size=8388608 header='{' i
    for ((i = $2; i <= $3; i++)); do
        header=$header'"model.layers.'$i'.mlp.weight":{"dtype":"BF16",'
        header=$header'"shape":[2048,2048],"data_offsets":'
        header=$header"[$at,$((at + size))]},"
        at=$((at + size))
    done
    header=${header%,}'}'
    { le64 ${#header}; printf %s "$header"; } > "$1"
    must truncate -s $((8 + ${#header} + at)) "$1"
}
mkdir -p in/shards
make_file in/one.safetensors 0 39
printf 'values that are none' |
    must dd of=in/one.safetensors bs=1 seek=200000000 conv=notrunc status=none
make_file in/shards/model-00001-of-00002.safetensors 0 11
make_file in/shards/model-00002-of-00002.safetensors 12 23
{
    printf '{"metadata": {}, "weight_map": {'
    for i in $(seq 0 23); do
        printf '%s"model.layers.%s.mlp.weight": "model-0000%s-of-00002.%s"' \
            "$([ "$i" = 0 ] || echo ,)" "$i" $((1 + i / 12)) safetensors
    done
    printf '}}'
} > in/shards/model.safetensors.index.json
analyse()
{
    "$@" --tensor_dir in --output_dir draw --no_plots --formats none \
        --dims none > text 2> err
    echo "exit $?"
}
analyse tprof-analyze --jobs 1
rows draw/summary.h5
mv draw alone
ranks_alike 1 2 3
# what is in a state then is what one process keeps
analyse ranks 2 --jobs 2 --state s
mv draw together
same alone together
analyse tprof-analyze --state s
sed -n 's/^  s: //p' text
mv draw again
same alone again
