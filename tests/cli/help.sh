# SPDX-License-Identifier: MIT
# Help goes to stdout and names every contract option.
tprof-analyze --help > text || exit
for option in tensor_dir output_dir jobs device format quiet verbose no_plots \
    plot_format fail_on help version; do
    grep -q -e "--$option" text || echo "no --$option in the help"
done
head -n 1 text
# What has no --fail_on says nothing of its exit status.
for command in tensors trace inspect list; do
    tprof-analyze "$command" --help > text || exit
    grep -q -e '^  --fail_on' text && takes=yes || takes=no
    grep -q '1 a finding reached$' text && says=yes || says=no
    echo "$command: $takes $says"
done
