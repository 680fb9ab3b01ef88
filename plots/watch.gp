# watch: x value expected low high alarm, of the first block
plot data index block \
        using (X($1)):(Y($4)):(Y($5)) with filledcurves \
        fc rgb '#d6e6f4' fs solid title 'normal', \
    '' index block using (X($1)):(Y($3)) with lines \
        lc rgb '#4292c6' lw 1.4 title 'baseline', \
    '' index block using (X($1)):(Y($2)) with linespoints \
        lc rgb '#222222' lw 1.2 pt 7 ps (points ? 0.5 : 0) title 'measured', \
    '' index block using (X($1)):($6 > 0 ? Y($2) : NaN) with points \
        lc rgb '#d55e00' pt 7 ps 0.9 title 'beyond the limit'
