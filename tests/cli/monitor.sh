# SPDX-License-Identifier: MIT
# What a live monitor would have said, in its own words: with --verbose and in
# report.txt, not in the short summary.
must tprof-analyze "$logs/mxfp8" --baseline online --warmup-steps=4 \
    --no_plots --output_dir out > short
must tprof-analyze "$logs/mxfp8" --baseline online --warmup_steps 4 \
    --no_plots --output_dir out --verbose > long
grep -c '^Monitor' short
for text in long out/report.txt; do
    grep '^Monitor' "$text"
    grep '^\[Monitor\] Step [07] | mxfp8 rank 0' "$text"
    grep '^\[ALERT\] Step 5 | Layer 2 mxfp8 linear forward pre weight' \
        "$text" | grep 'rank 1 | abs_max'
done
