# bands: x q01 q05 q25 q50 q75 q95 q99, of the first block
plot data index block \
        using (X($1)):(Y($2)):(Y($8)) with filledcurves \
        fc rgb '#d6e6f4' fs solid title '1 % to 99 %', \
    '' index block using (X($1)):(Y($3)):(Y($7)) with filledcurves \
        fc rgb '#9ecae1' fs solid title '5 % to 95 %', \
    '' index block using (X($1)):(Y($4)):(Y($6)) with filledcurves \
        fc rgb '#4292c6' fs solid title '25 % to 75 %', \
    '' index block using (X($1)):(Y($5)) with linespoints \
        lc rgb '#08306b' lw 1.6 pt 7 ps (points ? 0.5 : 0) title 'median'
