# SPDX-License-Identifier: MIT
# What a live monitor would have said, in its own words: with --verbose and in
# report.txt; the short summary has five alerts only, first those that the whole
# run bears out, then the gradient's norm.
must tprof-analyze "$logs/mxfp8" --baseline online --warmup-steps=4 \
    --no_plots --output_dir out > short
must tprof-analyze "$logs/mxfp8" --baseline online --warmup_steps 4 \
    --no_plots --output_dir out --verbose > long
grep -c '^Monitor' short
grep '^\[ALERT\]\|^\.\.\. and' short
for text in long out/report.txt; do
    grep '^Monitor' "$text"
    grep '^\[Monitor\] Step [07] | mxfp8 rank 0' "$text"
    grep "Baseline established.*rank 0" "$text"
    grep '^\[ALERT\] Step 5 | Layer 2 mxfp8 linear forward pre weight' \
        "$text" | grep 'rank 1 | abs_max'
done
must tprof-analyze "$logs/mxfp8" --baseline rolling --alert_window 3 \
    --warmup_steps 4 --no_plots --output_dir out --verbose > long
grep '^Monitor\|Baseline established.*rank 0' long
grep '^\[ALERT\] Step 5 | Layer 2 mxfp8 linear forward pre weight' \
    long | grep 'rank 1 | abs_max'
must tprof-analyze "$logs/mxfp8" --no_plots --output_dir out --verbose |
    grep 'Baseline established'
