# SPDX-License-Identifier: MIT
# What the summary says of the first of many places, --verbose and report.txt
# say of each, with its own numbers.
must tprof-analyze "$logs" --no_plots --output_dir out > short
must tprof-analyze "$logs" --no_plots --output_dir out --verbose > long
grep -c -- '--verbose lists' short
grep -c -- '--verbose lists' long
# wanted: as many lines as places were announced
for text in long out/report.txt; do
    awk '/^         likewise/ { wanted += $2; heads++ }
         /^           [^ ]/ && /: [0-9]/ { got++ }
         END { print (heads > 0 && got == wanted) ? "all" : got " of " wanted }
        ' "$text"
done
