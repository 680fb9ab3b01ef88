# SPDX-License-Identifier: MIT
# Says what it looked for.
mkdir d
tprof-analyze --tensor_dir d --output_dir out --no_plots
