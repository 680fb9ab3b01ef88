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

cd "$work" || exit 99
"$TPROF" --tensor_dir "$logs" --output_dir run --quiet
look tensors run/report.html
"$TPROF" trace "$srcdir/testdata/traces" --output_dir trace --quiet
look trace trace/trace_report.html
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
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
