# SPDX-License-Identifier: MIT
# A dump of msprobe as it was written: whole, from wherever it is named.
dump=$srcdir/testdata/msprobe
must tprof-analyze dump "$dump" > printed
grep -v -e '^tprof-analyze' -e '^ *$' printed
must tprof-analyze dump "$dump" --format json --output_dir other > json
grep -o '"files": [0-9]*\|"forward": [0-9]*' json | sort | uniq -c
cmp draw/dump_integrity.csv other/dump_integrity.csv
must tprof-analyze dump "$dump" --jobs 1 --output_dir one --quiet
cmp draw/dump_findings.json one/dump_findings.json
for table in dump_entries calls tree places findings; do
    echo "$table $(rows draw/dump.h5 $table)"
done
h5dump -d /dump_entries draw/dump.h5 > a
h5dump -d /dump_entries one/dump.h5 > b
sed 1d a > a1
sed 1d b > b1
cmp a1 b1
for path in step1 step1/proc4711 step1/proc4711/dump.json \
    step1/proc4711/dump_tensor_data; do
    must tprof-analyze dump "$dump/$path" > printed
    grep -c '^  step 1: 22 calls with 55 tensors, 55 files' printed
done
must tprof-analyze dump "$dump" --step 1 > printed
grep '^Steps' printed
must tprof-analyze dump "$dump" --verify none > printed
grep 'no file of a tensor was read' printed
