# SPDX-License-Identifier: MIT
# A page beside each report, which no run without it leaves behind; what names
# say is text there.
some_logs in 3
page=out/report.html
must tprof-analyze tensors in --no_plots --quiet --output_dir out
grep -o 'data-rows="[a-z_/]*"' $page
grep -c 'Content-Security-Policy' $page
mkdir odd
cp "$(find in -name '*.pt' | head -n 1)" 'odd/<script>alert(1)<b>.pt'
must tprof-analyze tensors odd --no_plots --quiet --output_dir odd_out
grep -c '<script>alert' odd_out/report.html
grep -c '&lt;script&gt;alert' odd_out/report.html
must tprof-analyze tensors in --no_plots --quiet --no_html --output_dir out
ls out
make_trace a.json
must tprof-analyze trace a.json --no_plots --quiet --output_dir trace
ls trace
grep -o '<p class="lead"><b>[^<]*</b>' trace/trace_report.html
# what a page says where nothing was found, and where something was
msprobe=$srcdir/testdata/msprobe
head_of()
{
    must tprof-analyze "$@" --no_plots --quiet --output_dir head
    grep -o -e '<p class="lead"><b>.*</p>' \
        -e '<p class="lead">First: <b>[^<]*' \
        -e '<p>[0-9A-Z][a-z0-9]* .* [a-z0-9]*</p>' head/*report.html |
        grep -v -e Read: -e 'The ratio'
    rm -r head
}
head_of tensors in
head_of dump "$msprobe/step0"
head_of dump "$msprobe"
head_of compare "$msprobe/step0" "$msprobe/step0"
head_of compare "$msprobe/step0" "$msprobe/step1"
head_of compare "$msprobe/step0" "$msprobe/step0" --match content
head_of replay "$msprobe/step0"
# the summary names the page, not a link where no terminal is; where there is
# no page, and where a program reads, it does not
tprof-analyze trace a.json --no_plots --output_dir trace | tail -n 1
tprof-analyze check "$srcdir/testdata/check/bad-adam_eps_half.py" \
    --output_dir checked | tail -n 1
for none in --no_html --quiet --format=json; do
    tprof-analyze trace a.json --no_plots --output_dir trace $none |
        grep -c '^Open '
done
exit 0
