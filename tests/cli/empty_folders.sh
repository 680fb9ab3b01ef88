# SPDX-License-Identifier: MIT
# All twelve folders are there; one without a figure says why, and no longer
# does when a later run has figures for it.
need gnuplot
twelve="distributions heatmaps comparisons statistics attention_analysis
    quantization_analysis layer_analysis overflow_analysis fp8_analysis
    bf16_analysis backward_analysis rank_analysis"
check()
{
    local folder pictures why
    for folder in $twelve; do
        pictures=$(find draw/$folder -name '*.png' | wc -l)
        why=$(find draw/$folder -name WHY.txt | wc -l)
        case $pictures-$why in
        0-1 | [1-9]*-0) ;;
        *) echo "$folder: $pictures figures, $why reasons" ;;
        esac
    done
    find draw -name WHY.txt | wc -l
}
must tprof-analyze "$srcdir/testdata/dims/bbox_pred.pt" --output_dir draw > text
check
cat draw/rank_analysis/WHY.txt
some_logs d 20
must tprof-analyze d --output_dir draw > text
check
must tprof-analyze d --no_plots --output_dir draw > text
find draw -name WHY.txt
# folders of the table stand together, as this takes for granted; figures of
# comparisons have a table of their own
tprof-analyze list figures | grep -v '(compare)$' |
    sed -n 's/^  \([a-z0-9_]*\)\/.*/\1/p' | uniq | sort | uniq -d
