# SPDX-License-Identifier: MIT
# The axis of 1000 indices of two values is the wider one, by chance, and comes
# last in the figure, too.
must tprof-analyze "$srcdir/testdata/dims/bbox_pred.pt" --output_dir draw > text
grep -o 'axis [01]' draw/layer_analysis/index_amax.gp
