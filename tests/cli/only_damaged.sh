# SPDX-License-Identifier: MIT
mkdir d
head -c 5000 /dev/zero > d/zero.pt
tprof-analyze --tensor_dir d --output_dir out --no_plots > text
