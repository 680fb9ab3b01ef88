# SPDX-License-Identifier: MIT
need gnuplot
some_logs d 4
for format in png svg pdf; do
    must tprof-analyze --tensor_dir d --no_html --output_dir $format \
        --plot_format $format > text
    find $format -name "*.$format" -size +0 | grep -q . || echo "no $format"
    find $format -type f | grep -v "\.\($format\|gp\|tsv\|h5\|txt\|json\)$"
done
echo another format in the same folder: pdf, svg
must tprof-analyze --tensor_dir d --output_dir pdf --no_html \
    --plot_format svg > text
find pdf -name '*.pdf' | wc -l
find pdf -name '*.svg' -size +0 | grep -c . | sed 's/^[1-9].*/some/'
echo no figures there
must tprof-analyze --tensor_dir d --output_dir pdf --no_html --no_plots > text
find pdf -mindepth 2 -type f | wc -l
