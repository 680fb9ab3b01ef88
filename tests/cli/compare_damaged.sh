# SPDX-License-Identifier: MIT
# A tensor that is cut, one that is missing and a json that ends too early are
# named; the rest is compared, and the exit status is 3.
dump=$srcdir/testdata/msprobe
cp -r "$dump/step0" a
chmod -R u+w a
data=a/proc4711/dump_tensor_data
head -c 900 "$data/Torch.log.0.forward.input.0.pt" > cut
mv cut "$data/Torch.log.0.forward.input.0.pt"
rm "$data/Torch.log.0.forward.output.0.pt"
tprof-analyze compare a "$dump/step0" --no_plots --output_dir out > text
echo "exit $?"
grep '^Rows of A' text
grep -A 3 unread text
grep 'Torch.log.0.forward' out/compare_result_*.csv | cut -d, -f 1,9-12
head -c 3000 a/proc4711/dump.json > cut
mv cut a/proc4711/dump.json
tprof-analyze compare a "$dump/step0" --no_plots --output_dir out > text
echo "exit $?"
grep -A 2 '^Damaged or' text
h5dump -y -w 0 -d /skipped out/compare.h5 | grep -oE '"[^"]*(json|pt)"'
