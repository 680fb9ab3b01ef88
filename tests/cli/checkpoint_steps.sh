# SPDX-License-Identifier: MIT
# A change at step 2000 is found in every layout of checkpoints, at that step
# and in the parameter it is in; without the change nothing is said.
need jq
data=$srcdir/testdata/steps
exit=0 # status of what is read next

# findings RUN: what is above low of a run, and the ranks there are.
findings()
{
    local status=0
    tprof-analyze "$1" --no_plots --output_dir out > text || status=$?
    [ "$status" = "$exit" ] || { echo "$1: exit status $status"; exit 98; }
    jq -r '.findings[] |
        select(.severity != "low" and .rule != "incomplete") |
        "\(.severity) iteration \(.iteration) rank \(.rank) L\(.layer_idx) " +
        "\(.layer_type) \(.component) \(.tensor_name) \(.module)"' \
        out/findings.json
}

# layout RANK PATH: PATH of a checkpoint, with %d where its step stands, and
# %07d likewise; "payload" takes files that have the step in them, and %d their
# number. Both runs: with the change and without.
layout()
{
    local rank=$1 path=$2 kind=${3:-plain} file number=0 step to
    rm -rf quiet changed
    for file in "$data/$kind/"*.pt; do
        step=${file##*/}
        step=${step%.pt}
        # shellcheck disable=SC2059 # the path is a format
        to=$(printf "$path" "$((10#$step))" "$((10#$step))")
        mkdir -p "quiet/${to%/*}" "changed/${to%/*}"
        ln -s "$file" "quiet/$to"
        [ ! -e "$data/$kind-changed/$step.pt" ] ||
            file=$data/$kind-changed/$step.pt
        ln -s "$file" "changed/$to"
    done
    findings quiet > told
    [ ! -s told ] || { echo "$path, no change:"; cat told; }
    findings changed > told
    echo "medium iteration 2000 rank $rank L0 mlp weight up_proj.weight" \
        "layers.0.mlp.up_proj" > wanted
    cmp -s wanted told || { echo "$path:"; cat told; }
}

layout null ./iter_%07d/model.pt
exit=3 # the ranks before it are missing, and are named
layout 2 ./iter_%07d/mp_rank_02/model_optim_rng.pt
layout 3 ./iter_%07d/mp_rank_03_000/model_optim_rng.pt
exit=0
layout 0 ./iter_%07d/mp_rank_00_000_000/model_optim_rng.pt
layout null ./checkpoint-%d/pytorch_model.bin
layout null ./checkpoint-%d/pytorch_model-00002-of-00005.bin
layout 1 ./checkpoint-%d/global_step%d/mp_rank_01_model_states.pt
layout 1 ./global_step%d/mp_rank_01_model_states.pt
layout 5 ./global_step%d/bf16_zero_pp_rank_2_mp_rank_01_optim_states.pt
layout 4 ./global_step%d/zero_pp_rank_4_mp_rank_00_optim_states.pt
layout null ./step=%d.ckpt
layout null ./epoch=3-step=%d.ckpt
layout null ./lightning/epoch=3-step=%d-v1.ckpt
layout null ./ckpt_%d.pt
layout null ./checkpoint_step_%d.pt
layout null ./model_step%d.pth
layout null ./step-%d/model.pt
layout 2 ./step_%d/rank_2.pt
layout 2 ./step_%d/rank2/model.pt
layout 7 ./checkpoint-%d/model_rank_7.pt
exit=3 # without .metadata, which is named
layout 1 ./step-%d/__1_0.distcp
exit=0
layout null ./%02d.pt payload
echo done
