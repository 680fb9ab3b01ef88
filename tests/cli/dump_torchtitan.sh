# SPDX-License-Identifier: MIT
# Logs of torchtitan: statistics as they are printed, the operator that began
# it, a cut, and two logs side by side.
log=$srcdir/testdata/torchtitan/step3/rank_0_activations.log
must tprof-analyze dump "$srcdir/testdata/torchtitan" > printed
grep -A 7 -e '^Findings' printed
grep -A 5 -e '^First anomaly' -e '^Calls' -e '^Steps' printed
h5dump -y -d /dump_entries -s 3 -c 1 draw/dump.h5 | grep -A 3 ' 13.25'
mkdir b
sed 's/^  Max: 1.325000e+01/  Max: 1.425000e+01/' "$log" \
    > b/rank_0_activations.log
must tprof-analyze compare b "$log" --output_dir two --no_plots |
    grep -e '^Rows' -e 'parting' -e '^First' -A 1
head -c 900 "$log" > b/rank_0_activations.log
tprof-analyze dump b --output_dir cut > printed
echo "exit status $?"
grep -A 6 -e '^Findings' -e '^Steps' printed
tprof-analyze --tensor_dir "$log" 2> said
echo "exit status $?"
grep -o 'a log of torchtitan.*' said
