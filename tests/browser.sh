#!/bin/bash
# SPDX-License-Identifier: MIT
# HTML reports in a real browser (tests/browser/page.py): of dumped tensors, of
# a trace, and of inputs whose names are markup. Needs TPROF, srcdir; PYTHON
# with playwright, and chromium.

python=${PYTHON:-python3}
"$python" -c 'import playwright' 2> /dev/null ||
    { echo "skipped: $python has no playwright"; exit 77; }
command -v chromium > /dev/null || { echo "skipped: no chromium"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-browser.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
srcdir=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/lib.sh"
logs=$srcdir/testdata/logs
failed=0 passed=0

# look NAME REPORT: drives a page.
look()
{
    echo "== $1"
    if "$python" "$srcdir/tests/browser/page.py" "$2" "$work"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

# look_trace NAME FOLDER: drives the page of traces in it, or of a comparison.
look_trace()
{
    report=$(cd "$2" && echo trace_*.html)
    tables=trace.h5
    [ "$report" = trace_report.html ] || tables=trace_compare.h5
    look "$1" "$2/$report"
    echo "== $1, what only traces have"
    if "$python" "$srcdir/tests/browser/trace_page.py" "$2/$report" \
        "$2/$tables"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

cd "$work" || exit 99
"$TPROF" --tensor_dir "$logs" --output_dir run --quiet
look tensors run/report.html
"$TPROF" trace "$srcdir/testdata/traces" --output_dir trace --quiet
look_trace trace trace
"$TPROF" trace "$srcdir/testdata/traces/own/ranks" --output_dir ranks \
    --no_plots --quiet
look_trace ranks ranks
"$TPROF" compare "$srcdir/testdata/msprobe/step0" \
    "$srcdir/testdata/msprobe/step1" --output_dir compare --quiet
look compare compare/compare_report.html
mkdir 'in<put>'
number=0
while IFS= read -r name; do
    number=$((number + 1))
    cp "$(find "$logs" -name '*.pt' | LC_ALL=C sort | sed -n "${number}p")" \
        "in<put>/$(printf %b "$name")_$number.pt"
done << 'END'
<script>alert(1)<script>
" onload="alert(1)
' onmouseover='alert(1)
<img src=x onerror=alert(1)>
javascript:alert(1)
<style><svg onload=alert(1)>
<!--
]]>
&lt;b&gt;
\0342\0200\0256turned
\0033[31mred
a\nb
\0377\0376
`$(touch made)`
=cmd|' 'C'!A0
END
"$TPROF" tensors 'in<put>' --output_dir 'out"put' --no_plots --quiet
look names 'out"put/report.html'
# traces: names in them, of them, of 50 000 operators; before and after
names=$srcdir/tests/browser/trace_names.py
"$python" "$names" names.json
"$python" "$names" many.json 60000
"$python" "$names" files 0 "$srcdir/testdata/traces/own/train.json.gz"
"$TPROF" trace names.json --output_dir names --no_plots --quiet
look_trace 'names in a trace' names
"$TPROF" trace files --output_dir 'fi"les' --no_plots --quiet
look_trace 'names of traces' 'fi"les'
"$TPROF" trace many.json --output_dir many --no_plots --quiet
look_trace '50 000 rows' many
"$TPROF" trace --compare names.json many.json --output_dir two --quiet
look_trace 'a comparison' two
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
