# SPDX-License-Identifier: MIT
# A dump of msprobe: the first bad tensor is found by the order of dump.json,
# with its layer from construct.json; a damaged dump.json is a note, and
# processes of one step are ranks.
must tprof-analyze "$srcdir/testdata/msprobe" --no_plots --output_dir a > a.txt
grep -A1 '^  high' a.txt | sed 's/;.*//'
grep -c -e 'overflow  masked_fill' -e 'always had Inf' a.txt # it is a mask
grep -c '^  layers  *- 0$' a.txt
cp -r "$srcdir/testdata/msprobe" dump
chmod -R u+w dump
mv dump/step1/proc4711/dump.json json
head -c 3000 json > dump/step1/proc4711/dump.json
cp -r dump/step0/proc4711 dump/step0/proc815
must tprof-analyze ./dump --no_plots --output_dir b > b.txt
grep -o 'dump.json: the file ends too early' b.txt
grep -o 'tensors in ./dump/step1/.* are not named in dump.json' b.txt
grep -c 'procPID' b.txt
grep '^  ranks' b.txt # 815 is before 4711
