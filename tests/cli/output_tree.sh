# SPDX-License-Identifier: MIT
# The README's first command: every category holds a figure, each with the
# script and the table it was drawn from.
need gnuplot
must tprof-analyze --tensor_dir "$logs" --output_dir draw > text
for category in distributions heatmaps comparisons statistics \
    attention_analysis quantization_analysis layer_analysis \
    overflow_analysis fp8_analysis bf16_analysis backward_analysis \
    rank_analysis; do
    ls draw/$category/*.png > /dev/null 2>&1 || echo "no figure in $category"
done
find draw -name '*.png' | while read -r png; do
    [ "$(head -c 4 "$png" | tail -c 3)" = PNG ] || echo "no PNG: $png"
    [ -s "${png%.png}.gp" ] || echo "no script for $png"
    [ -s "${png%.png}.tsv" ] || echo "no table for $png"
done
# testdata/logs has something to show in every figure there is.
tprof-analyze list figures |
    awk '!/trace_analysis|trace_comparison|\((compare|replay)\)/ { print $1 }' |
    while read -r figure; do
        [ -s "draw/$figure.png" ] || echo "not drawn: $figure"
done
