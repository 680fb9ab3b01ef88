# SPDX-License-Identifier: MIT
# Anyone can redraw a figure with plain gnuplot, also in a moved folder.
need gnuplot
some_logs d 12
must tprof-analyze --tensor_dir d --output_dir out > text
mv out moved
count=0
for script in moved/*/*.gp; do
    png=${script%.gp}.png
    [ -f "$png" ] || continue
    mv "$png" "$png.old"
    # In a locale without UTF-8 gnuplot warns that it has no degree sign.
    (cd "$(dirname "$script")" &&
        LC_ALL=C.UTF-8 gnuplot "$(basename "$script")") ||
        echo "gnuplot fails on $script"
    cmp "$png" "$png.old"
    count=$((count + 1))
    [ $count = 5 ] && break
done
echo $count
