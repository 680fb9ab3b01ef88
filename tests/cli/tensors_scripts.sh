# SPDX-License-Identifier: MIT
# Findings about tensors beside the scripts of the run: no tensor names a line,
# but what is known to make NaN, Inf or overflow is named where the scripts do
# it: what float16 alone makes for float16, what gradients suffer for gradients.
said()
{
    rm -rf d
    mkdir d
    cp "$1" "d/$2_rank00_group000_output.pt"
    shift 2
    tprof-analyze --tensor_dir d --no_plots --quiet --format json "$@" |
        jq -r '.findings[] | [.rule, .quant_type, .evidence] | join(": ")' |
        sed 's/: .*tensors follow.* that flipped/: NaN/'
}
nan=$srcdir/testdata/torch/good-dtypes.zip.pt
big=$(echo "$srcdir"/testdata/case_nan_inf/*iter012_linear_L2*_output.pt)
fp16=20260201_000000_0001_iter012_linear_L2_forward_post_linear_fp16
bf16=20260201_000000_0001_iter012_linear_L2_forward_post_linear_bf16
mkdir run empty
printf 'import torch\n\n\ndef f(x):\n    return x\n' > run/clean.py
echo "-- no scripts"
said "$nan" $fp16
echo "-- nothing in them makes it"
said "$nan" $fp16 --scripts run
for rule in eps_below_fp16 log_softmax static_loss_scale; do
    cp "$srcdir/testdata/check/bad-$rule.py" run
done
echo "-- what does in float16"
said "$nan" $fp16 --scripts run
echo "-- and in bfloat16"
said "$nan" $bf16 --scripts run
echo "-- the scale of a loss makes no output overflow"
said "$big" $fp16 --scripts run
tprof-analyze --tensor_dir d --no_plots --quiet --scripts empty
echo "status $?"
