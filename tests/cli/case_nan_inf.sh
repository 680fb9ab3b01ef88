# SPDX-License-Identifier: MIT
# The case of the guide: an fp16 activation grows from iteration 9 on, is Inf in
# 12, and NaN behind a norm (testdata/README.md). What grew comes first; NaN and
# Inf are counted in it. Without it, of layer 3 alone, the NaN is the finding.
need jq
first()
{
    must tprof-analyze "$@" --no_plots --output_dir out > text
    jq -r '.findings | map(select(.severity != "low")) | length, (.[0] |
        "\(.severity) \(.rule) iteration \(.iteration) L\(.layer_idx) " +
        "\(.phase) \(.tensor_name), consequences \(.consequences): " +
        .guide)' out/findings.json
    grep -c 'see: tprof-guide, ' text
}
run=$srcdir/testdata/case_nan_inf
first "$run"
mkdir layer3
cp "$run"/*_linear_L3_* layer3
first layer3
must tprof-analyze inspect "$run"/*_iter012_linear_L2_forward_post_* |
    grep -E '^  (nan|pos_inf|neg_inf) '
