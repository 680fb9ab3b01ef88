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
echo the page has of each figure the smaller, and nothing of it is left
must tprof-analyze --tensor_dir d --output_dir page > text
must tprof-analyze --tensor_dir d --output_dir as_svg --no_html \
    --plot_format svg > text
smaller=0
for png in page/*/*.png; do
    svg=as_svg/${png#page/}
    [ "$(wc -c < "${svg%.png}.svg")" -ge "$(wc -c < "$png")" ] ||
        smaller=$((smaller + 1))
done
shown=$(grep -o 'src="data:image/svg' page/report.html | wc -l)
[ "$shown" = $smaller ] || echo "$shown SVG in the page, $smaller are smaller"
find page -name '*.svg' | wc -l
echo figures as PDF are in the page, too
must tprof-analyze --tensor_dir d --output_dir page --plot_format pdf > text
shown=$(grep -o '<img [^>]*src="data:image/' page/report.html | wc -l)
drawn=$(find page -name '*.pdf' | wc -l)
[ "$shown" = "$drawn" ] || echo "$shown of $drawn"
find page -name '*.svg' -o -name '*.png' | wc -l
