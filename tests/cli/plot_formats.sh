# SPDX-License-Identifier: MIT
need gnuplot
some_logs d 4
for format in png svg pdf; do
    must tprof-analyze --tensor_dir d --output_dir $format \
        --plot_format $format > text
    find $format -name "*.$format" -size +0 | grep -q . || echo "no $format"
    find $format -type f | grep -v "\.\($format\|gp\|tsv\|h5\|txt\|json\)$"
done
true
