# SPDX-License-Identifier: MIT
# The axis of 1000 indices of two values is the wider one, by chance, and comes
# last in the figure, too.
must tprof-analyze "$srcdir/testdata/dims/bbox_pred.pt" --output_dir draw > text
grep -o 'axis [01]' draw/layer_analysis/index_amax.gp
# long names stand whole in the titles: rank and iteration are at the axes
name=kv_a_proj_with_mqa_and_more_names
mkdir -p run/step_1000
cp "$srcdir/testdata/dims/bbox_pred.pt" "run/step_1000/${name}_rank_2.pt"
must tprof-analyze run --output_dir long > text
grep -E "^set (title|xlabel)" long/layer_analysis/index_amax.gp
