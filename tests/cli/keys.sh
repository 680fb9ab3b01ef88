# SPDX-License-Identifier: MIT
# Tensors of a plain file are told by their keys; without iterations nothing
# follows from anything.
need jq
must tprof-analyze "$srcdir/testdata/torch/good-dtypes.legacy.pt" --no_plots \
    --output_dir out > text
jq -r '.findings[] | select(.rule == "nonfinite") |
    "\(.severity) \(.tensor_name) \(.path): \(.evidence)"' out/findings.json
grep '^  high *nonfinite' out/report.txt
