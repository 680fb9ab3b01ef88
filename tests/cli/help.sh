# SPDX-License-Identifier: MIT
# Help goes to stdout and names every contract option.
tprof-analyze --help > text || exit
for option in tensor_dir output_dir jobs device format quiet verbose no_plots \
    plot_format fail_on help version; do
    grep -q -e "--$option" text || echo "no --$option in the help"
done
head -n 1 text
