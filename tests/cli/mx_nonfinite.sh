# SPDX-License-Identifier: MIT
# What an infinity does to its block: NaN, its own loss only, or, as torchao
# has it, zeros beside it. Blocks are those of the axis of 4 samples and
# positions; 32 of 64 hold three infinities and a finite value: 32 of 256.
need h5dump
mkdir d
must cp "$logs"/hifp8/*_0092_iter005_linear_L2_*_rank01_*_output.pt d/
for policy in block elem torchao; do
    must tprof-analyze --tensor_dir d --no_plots --formats mxfp8_e4m3 \
        --block_axis 2 --mx_nonfinite $policy --quiet
    h5dump -d /quantization draw/summary.h5 > table
    echo "$policy: $(grep -c '^ *0\.125,$' table) ratios of 1/8"
done
