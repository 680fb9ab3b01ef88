# SPDX-License-Identifier: MIT
# The output folder lies below a plain file.
some_logs d 2
touch file
tprof-analyze --tensor_dir d --output_dir file/draw --no_plots
