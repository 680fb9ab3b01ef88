# SPDX-License-Identifier: MIT
# The tables of a comparison fit and its largest picture does not: the report
# and the findings are there all the same. Few calls, as tables grow with them.
need gnuplot
need jq
for step in step0 step1; do
    cp -r "$srcdir/testdata/msprobe/$step" $step
    chmod -R u+w $step
    json=$(find $step -name dump.json)
    jq '.data |= with_entries(select(.key | test("linear")))' "$json" > few
    mv few "$json"
done
compare() { tprof-analyze compare step1 step0 --output_dir "$1"; }
must compare good > /dev/null
largest=$(find good -name '*.png' -printf '%s\n' | sort -n | tail -n 1)
# Through a pipe: a file would be cut as well.
message=$(
    ulimit -f $(((largest - 1) / 1024))
    compare full 2>&1 > /dev/null
    echo " status $?"
)
case $message in
*"full/"*".png: File too large"*) ;;
*) echo "not told: $message" ;;
esac
echo "${message##* }"
cmp full/compare_findings.json good/compare_findings.json
grep -q 'File too large' full/compare_report.txt || echo "not in the report"
