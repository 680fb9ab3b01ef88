# SPDX-License-Identifier: MIT
# Which operator parts two runs: one that is off by more than rounding, one that
# is not, one that is given something else; and what cannot be computed again.
dumps=$srcdir/testdata/divergence
for step in 1 2 3; do
    echo "step $step"
    must tprof-analyze compare "$dumps/step$step" "$dumps/step0" --autodiff \
        --no_plots --output_dir out --format json > out.json
    sed -n 's/.*"rule": "\([^"]*\)".*/\1/p' out.json
    sed -n '/^Operators computed again/,/^$/p' out/compare_report.txt |
        tr -s ' \n' ' ' | sed 's/\. Judged.*//; s/ $//'
    echo
    cut -d , -f 5,15 out/autodiff.csv | grep -v ',equal$' | head -n 3
done
echo "the same twice"
must tprof-analyze compare "$dumps/step0" "$dumps/step0" --autodiff \
    --no_plots --fail_on low --output_dir same > text
sed -n '/^Operators computed again/,/^$/p' text
echo "no tensors"
tprof-analyze compare "$dumps/step1" "$dumps/step0" --autodiff \
    --mode statistics --no_plots --output_dir none
echo "exit $?"
[ ! -e none/autodiff.csv ]
