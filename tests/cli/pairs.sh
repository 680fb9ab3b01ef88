# SPDX-License-Identifier: MIT
# The same tensors in two quant types, element by element: section of the
# report, table, figures; --pairs base and none; one quant type has none.
need h5dump gnuplot jq
for which in all base none; do
    must tprof-analyze --tensor_dir "$logs" --output_dir $which --pairs $which \
        --formats none --no_plots > $which.text
    rows $which/summary.h5 pairs
    sed -n '/^Same tensor/,/^$/p' $which.text | head -n 4
done
must tprof-analyze --tensor_dir "$logs/bf16" --tensor_dir "$logs/hifp8" \
    --output_dir two --formats none --format json > two.json
rows two/summary.h5 pairs
for name in correlation scatter; do
    [ -s two/comparisons/same_tensor_$name.png ] || echo "no $name"
done
grep -c 'r 0\.[0-9]*, cos 0\.' two/comparisons/same_tensor_scatter.gp
jq -r '.pairs | length' two.json
jq -r '.pairs[0] | "\(.quant_type_x) \(.quant_type_y) \(.pearson_r)"' two.json
must tprof-analyze --tensor_dir "$logs/bf16" --output_dir one --formats none \
    > one.text
rows one/summary.h5 pairs
# prose is broken into lines
tr -s ' \n' ' ' < one.text |
    grep -oE 'same_tensor_[a-z]*\.png: not drawn: needs [a-z ]*two quant' |
    wc -l
