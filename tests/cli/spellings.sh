# SPDX-License-Identifier: MIT
# Underscores and hyphens are the same; directories may stand alone; several
# add up; "tensors" is the default command.
need h5dump
some_logs a 2
some_logs b 5
rm b/"$(ls a | head -n 1)" b/"$(ls a | tail -n 1)"
run() { must tprof-analyze "$@" --quiet > /dev/null; }
run --tensor_dir a --output_dir 1 --no_plots
run --tensor-dir a --output-dir 2 --no-plots
run tensors --tensor_dir=a --output_dir=3 --no_plots
run a --output_dir 4 --no_plots
run --tensor_dir a --tensor_dir b --output_dir 5 --no_plots
run --tensor_dir a b --output_dir 6 --no_plots
for n in 1 2 3 4 5 6; do echo "$n: $(rows $n/summary.h5)"; done
