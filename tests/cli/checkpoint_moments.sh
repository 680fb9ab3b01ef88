# SPDX-License-Identifier: MIT
# Moments of an optimizer stand apart from weights and counters from both, in
# figures and findings; what training does to them is no finding, a jump is.
need gnuplot h5dump jq
data=$srcdir/testdata/moments
findings()
{
    jq -r '.findings[] | "\(.rule) \(.iteration) L\(.layer_idx) " +
        "\(.component) \(.tensor_name): \(.suggestion)"' "$1/findings.json"
}
must tprof-analyze --tensor_dir "$data/quiet" --output_dir quiet > text
grep -o '[0-9]* tensors and [0-9]* counters' text
grep -c '\.step ' text
rows quiet/summary.h5 tensors
grep -c ALERT text
findings quiet
for name in amax_by_layer_iteration std_by_layer_tensor_name; do
    grep -o "set title '[^']*'" quiet/heatmaps/$name.gp
done
# a colour bar for each: moments are far below the weights
[ "$(grep -c '^set cbrange' quiet/heatmaps/amax_by_layer_iteration.gp)" = \
    "$(grep '^set cbrange' quiet/heatmaps/amax_by_layer_iteration.gp |
        sort -u | wc -l)" ] && echo "own ranges"
ls quiet/overflow_analysis/overflow*.png 2>&1 | grep -c png$
mkdir changed
cp "$data/quiet/"*.pt changed
cp "$data/changed/"*.pt changed
must tprof-analyze --tensor_dir changed --output_dir out --no_plots > text
grep -c ALERT text
findings out | grep ^onset
