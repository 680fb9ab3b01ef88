# SPDX-License-Identifier: MIT
# Directories of tensor_saver: one tensor of a copy is replaced by another of
# the same shape, and is found by its labels.
need jq
some_logs a 40
cp -r a b
first=$(find b -name '*_query*.pt' -o -name '*_weight*.pt' | LC_ALL=C sort |
    head -n 1)
must tprof-analyze compare a b --no_plots --output_dir same | grep equal
must tprof-analyze inspect "$first" > /dev/null
other=$(find b -name '*_key*.pt' -o -name '*_weight*.pt' | LC_ALL=C sort |
    tail -n 1)
cp "$other" "$first"
must tprof-analyze compare a b --no_plots --output_dir out --quiet
jq -r '.equal, (.rows - .equal_rows), .mode' out/compare_findings.json
must tprof-analyze compare "$other" "$first" --no_plots --output_dir one |
    grep equal
