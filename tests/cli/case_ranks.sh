# SPDX-License-Identifier: MIT
# The other case of the guide: a weight that bf16 no longer lets move, the same
# on both ranks, and one whose copies part (testdata/README.md). Of one rank
# alone nothing parts.
need jq
told()
{
    must tprof-analyze "$@" --no_plots --output_dir out > text
    jq -r '.findings | map(select(.severity != "low"))[] |
        "\(.severity) \(.rule) iteration \(.iteration) L\(.layer_idx) " +
        "\(.tensor_name): \(.guide)"' out/findings.json
}
told "$srcdir/testdata/case_ranks"
mkdir rank1
cp "$srcdir"/testdata/case_ranks/*_rank01_* rank1
told rank1
