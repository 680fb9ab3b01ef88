# SPDX-License-Identifier: MIT
# Each rule about checkpoints tells its fault, and nothing where it is not: the
# runs are testdata/checkpoint_faults/KIND, with the files of KIND-FAULT instead
# of those of their names.
need jq
data=$srcdir/testdata/checkpoint_faults

# build KIND FAULT PATH: the run in `run`; %d of PATH is the iteration, %s the
# rank.
build()
{
    local file name folder path
    rm -rf run
    for folder in "$data/$1" "$data/$1-$2"; do
        for file in "$folder"/*.pt; do
            [ -e "$file" ] || continue
            name=${file##*/}
            name=${name%.pt}
            # shellcheck disable=SC2059 # the path is a format
            path=run/$(printf "$3" "${name%%_*}" "${name##*_}")
            mkdir -p "${path%/*}"
            ln -sf "$file" "$path"
            echo "{\"tie_word_embeddings\": ${tied:-false}}" \
                > "${path%/*}/config.json"
        done
    done
}

# tells KIND FAULT PATH [FINDING...]: all findings of these rules, sorted.
tells()
{
    build "$1" "$2" "$3"
    must tprof-analyze run --no_plots --output_dir out > text
    jq -r '.findings[] | select(.rule | IN("sqnr", "underflow", "dims") | not) |
        "\(.severity) \(.rule) \(.metric) \(.iteration) \(.tensor_name) " +
        "+\(.consequences)"' out/findings.json | sort > told
    shift 3
    : > wanted
    [ $# = 0 ] || printf '%s\n' "$@" | sort > wanted
    cmp -s wanted told || { echo "$fault:"; cat told; }
}

# check KIND PATH FAULT [FINDING...]
check()
{
    local kind=$1 path=$2
    fault=$kind-$3
    shift 2
    tells "$kind" "$1" "$path" "${@:2}"
}

step=checkpoint-%d/model.pt
check plain "$step" none
tied=true check plain "$step" none
check plain "$step" constant \
    "low constant std 20 up_proj.weight +1"
check plain "$step" moment_negative \
    "medium moments negative 30 up_proj.weight.exp_avg_sq +0"
check plain "$step" repeated \
    "medium repeated l2_norm 30 embed_tokens.weight +5"
check plain "$step" never_moved \
    "low unmoved l2_norm 20 up_proj.weight +0"
check plain "$step" unmoved \
    "medium unmoved l2_norm 30 up_proj.weight +0"
check plain "$step" dtype \
    "medium dtype dtype 30 up_proj.weight +0"
check plain "$step" untied \
    "medium tied l2_norm 30 lm_head.weight +0"
check plain "$step" small_updates \
    "low lost_updates lost_updates 30 lm_head.weight +3"

check narrow "$step" none
check narrow "$step" lost \
    "medium lost_updates lost_updates 30 up_proj.weight +0"
check narrow "$step" lost_unknown \
    "low lost_updates lost_updates 30 up_proj.weight +0"
check narrow "$step" master
check narrow "$step" moment_vanished \
    "medium moments zero 10 up_proj.weight.exp_avg_sq +2"
check narrow "$step" moment_tiny

check copies "iter_%07d/rank_%s.pt" none
check copies "iter_%07d/rank_%s.pt" differ \
    "medium replicas l2_norm 10 input_layernorm.weight +0"
check parts "iter_%07d/mp_rank_0%s/model_optim_rng.pt" none
check parts "iter_%07d/mp_rank_0%s/model_optim_rng.pt" differ \
    "medium replicas l2_norm 10 input_layernorm.weight +0"

check scales "$step" none
check scales "$step" zero "medium scales blocks_lost 10 up_proj.weight +0"
check scales "$step" nan "medium scales blocks_lost 10 up_proj.weight +0" \
    "high nonfinite nan+inf 10 up_proj.weight +0"
check scales "$step" inf "medium scales blocks_lost 10 up_proj.weight +0" \
    "medium overflow total_overflow_ratio 10 up_proj.weight +0"
check scales "$step" negative \
    "medium scales scale_negative 10 up_proj.weight +0"
check scales "$step" wide \
    "low scales blocks_below_half 10 up_proj.weight +0"
# configured TEXT FINDING UNKNOWN: a config.json of that text says, or not, that
# an output layer is the embedding, and that codes have scales.
configured()
{
    echo "$1" > run/config.json
    echo "$1" > codes/config.json
    must tprof-analyze run --no_plots --output_dir out > text
    jq -r '.findings[] | select(.rule == "tied") |
        "\(.severity) \(.evidence)"' out/findings.json > told
    tprof-analyze codes --no_plots --output_dir out > text
    grep -A 2 '^Damaged or' text | tail -n +2 | tr -s ' \n' ' ' >> told
    [ "$(cat told)" = "$2${3:+
 codes/model.pt [a.weight]: codes of 8 bits without scales$3 }" ] || {
        echo "$1:"
        cat told
    }
}

rm -rf run
mkdir run codes
cp "$data/plain-untied/30.pt" run/model.pt
cp "$srcdir/testdata/quantised/bad-scale_missing/model.pt" codes
configured '{}' ''
configured '{"tie_word_embeddings": true,
    "quantization_config": {"quant_method": "fp8"}}' \
    "medium config.json beside it says tie_word_embeddings, and it is not \
the embedding" \
    " (_scale_inv or _scale), though config.json beside it says that they \
have some: their values are not known"
configured '{"tie_word_emb' \
    "low it is not the embedding, and whether it should be is not known: \
config.json beside it: the file ends too early" \
    "; whether they have some is not known: config.json beside it: the file \
ends too early"
echo done
