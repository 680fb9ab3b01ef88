# SPDX-License-Identifier: MIT
# Tensors under other names: a whole model and two ranks of it with fused
# weights; names that changed places; what cannot be asked for, or is damaged.
need jq h5dump
data=$srcdir/testdata/content
content()
{
    tprof-analyze compare "$@" --match content --output_dir out
}
must content "$data/whole" "$data/tp2" > text
grep -A 2 '^[0-9]* of.* of A' text
grep linear_fc2 text
jq -r '.match, .found_a, .found_b, (.findings | length)' \
    out/compare_findings.json
jq -r '.content_matches[] | select(.left_count == 3) | .words, .verified' \
    out/compare_findings.json | sort -u
h5dump -n 1 out/compare.h5 | awk '$1 == "dataset" { print $2 }' | sort
rows out/compare.h5 content_matches
must content "$data/tp2" "$data/tp2" --jobs 1 --quiet
jq -r '.found_a, .tensors_a' out/compare_findings.json
cp -r out one
must content "$data/tp2" "$data/tp2" --jobs 4 --quiet
cmp out/compare_findings.json one/compare_findings.json
content "$data/whole" "$data/swapped" --fail_on high > text
echo "exit $?"
grep -A 2 -E '^  (high|medium)' text
grep -A 1 '^Only in' text
rows out/compare.h5 finding_files
grep -c '<div id="map">' out/compare_report.html
must cp -r "$data/tp2" cut
must chmod -R u+w cut
head -c 4000 "$data/tp2/mp_rank_01/model.pt" > cut/mp_rank_01/model.pt
content "$data/whole" cut --quiet
echo "exit $?"
grep -A 1 '^Damaged or' out/compare_report.txt
rows out/compare.h5 skipped
content "$data/whole" "$data/tp2" --mode md5 2>&1
content "$data/whole" "$data/tp2" --fuzzy_match 2>&1
content "$data/whole" 2>&1
mkdir empty
content "$data/whole" empty 2>&1
echo "exit $?"
timeout 600 tprof-analyze compare "$srcdir/testdata/torch" \
    "$srcdir/testdata/torch" --match content --output_dir out --quiet
echo "exit $?"
grep -c 'good-huge-expanded .*not read$' out/compare_report.txt
