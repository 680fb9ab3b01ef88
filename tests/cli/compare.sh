# SPDX-License-Identifier: MIT
# Two steps of a dump of msprobe: where they part, msprobe's own table with its
# name, the same for any number of jobs; a run with itself is equal.
need jq
dump=$srcdir/testdata/msprobe
must tprof-analyze compare "$dump/step1" "$dump/step0" --no_plots \
    --output_dir a > a.txt
head -n 15 a.txt | tail -n +4
must tprof-analyze compare "$dump/step1" "$dump/step0" --no_plots --jobs 1 \
    --quiet --output_dir b
for one in a b; do # proc4711, and when it was made
    mv $one/compare_result_proc4711_20????????????.csv $one/table.csv
done
head -n 1 a/table.csv | cut -c 1-75
cmp a/table.csv b/table.csv && cmp a/compare_by_call.csv b/compare_by_call.csv
sed '/^Written to /s/ a:/ b:/' a/compare_report.txt |
    cmp - b/compare_report.txt && echo the same report
echo "$(rows a/compare.h5 pairs) $(rows a/compare.h5 calls)"
jq -r '"\(.mode) \(.equal) \(.rows) \(.error)", (.findings[] |
    "\(.severity) \(.rule) \(.name) \(.count)")' a/compare_findings.json
tprof-analyze compare "$dump/step1" "$dump/step0" --no_plots --quiet \
    --output_dir a --fail_on high
echo "exit $?"
must tprof-analyze compare "$dump" "$dump" --no_plots --output_dir c \
    --fail_on low | grep -e equal -e none
find c -name 'compare_result_step?_*.csv' | wc -l
