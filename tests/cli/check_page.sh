# SPDX-License-Identifier: MIT
# A page of what `check` finds, only where an output directory is given; its
# lines are text there, whatever they say.
cat > 'a<b>.py' << 'END'
import torch
net = torch.nn.Linear(2, 2).half()  # </pre><script>alert(1)</script>
END
printf 'import torch\nx = (\n' > cut.py
ls > before
tprof-analyze check a* --quiet; echo "status $?"
ls | diff before - | grep -v before; echo "no file"
tprof-analyze check a* --output_dir out --no_html --quiet; echo "status $?"
[ -e out ] || echo "no folder"
tprof-analyze check a* cut.py --output_dir out --fail_on high --format json \
    2> /dev/null > found.json; echo "status $?"
grep -c '"rule"' found.json
ls out
page=out/check_report.html
grep -o '<h3>.*</h3>' $page
grep -o '<pre class="source".*</pre>' $page
grep -o -e '<p class="lead">.*</p>' -e '<p>1 finding.*</p>' $page
grep -o 'line 2 ' $page | head -n 1
grep -c '<script>alert' $page
grep -o 'cut.py</td>.*' $page | head -n 1
# the worst of all files first, then by file and line
must tprof-analyze check "$srcdir/testdata/check" --output_dir whole --quiet \
    --format json > whole.json
grep -o 'class="badge [a-z]*"' whole/check_report.html | uniq
[ "$(grep -c '"rule"' whole.json)" = \
    "$(grep -c 'details class="finding"' whole/check_report.html)" ] ||
    echo "findings are missing"
# the last heading is of the first that is not high
sed '/badge medium/,$d' whole/check_report.html | grep '^<h3>' | sed '$d' |
    sort -c && echo "by file"
# what is Chinese is marked, in a page whose frame is English
tprof-analyze check a* --lang zh --output_dir zh --quiet
grep -o '<html lang="..">' zh/check_report.html
grep -o '<span class="gist">.*</span></span>' zh/check_report.html
grep -o '</b> <span lang="[^"]*">' zh/check_report.html
grep -c '^<span lang="zh-Hans">' zh/check_report.html
grep -c 'lang="zh' $page
# what cannot be written is said, and nothing is left
mkdir full
chmod 500 full
if touch full/x 2> /dev/null; then
    echo "root writes anywhere: 4"
else
    tprof-analyze check a* --output_dir full --quiet 2> /dev/null
    echo "root writes anywhere: $?"
fi
