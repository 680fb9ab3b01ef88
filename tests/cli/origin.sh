# SPDX-License-Identifier: MIT
# Our own training run: before iteration 5 a weight of layer 2 loses its scale
# on rank 1 (testdata/README.md). That is what is named first in both faulty
# runs (of few iterations: medium without a NaN), and nothing else is.
need jq
must tprof-analyze --tensor_dir "$logs" --no_plots --output_dir out > text
jq -r '.findings[] | select(.severity != "low") |
    "\(.severity) \(.quant_type) rank \(.rank) iteration \(.iteration) " +
    "L\(.layer_idx) \(.operation) \(.phase) \(.tensor_name) \(.ordinal)"' \
    out/findings.json
jq -r '[.findings[] | select(.severity != "low") |
    select(.rank == 0 or .quant_type == "bf16" or .iteration < 5)] | length' \
    out/findings.json
# in plain words: what it was before, how much it changed, what it is
jq -r '.findings[] | select(.severity != "low") | .evidence' out/findings.json
grep -c '^         file .*_iter005_linear_L2_forward_pre_.*weight.pt$' text
grep -c '^\[ALERT\] Step 5 | Layer 2 mxfp8 linear forward pre weight' \
    out/report.txt
