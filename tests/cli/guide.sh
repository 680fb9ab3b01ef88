# SPDX-License-Identifier: MIT
# A finding names its section of the guide: as a member or column, and in the
# text once a section, however many findings have it.
need jq h5dump
must tprof-analyze "$srcdir/testdata/logs" --no_plots --output_dir out > text
must tprof-analyze trace "$srcdir/testdata/traces/own/ranks" --no_plots \
    --output_dir out > trace
for file in findings trace_findings; do
    jq '[.findings[] | has("guide")] | all' out/$file.json
done
for file in summary trace; do
    h5dump -H -d /findings out/$file.h5 | grep -o '"guide";$'
done
jq -r '[.findings[].guide] | unique[]' out/trace_findings.json | sort > sections
grep -o 'tprof-guide, .*' trace | sed 's/.*, //' | sort | cmp - sections &&
    echo "all, each once"
jq '[.findings[] | select(.guide == "ONSET")] | length' out/findings.json
grep -c 'see: tprof-guide, ONSET' text
tprof-analyze list rules | awk '/^verdicts/ { exit }
    /^  / && !/ \[tprof-guide: [A-Z ]*\]$/' | grep . || echo "all rules"
