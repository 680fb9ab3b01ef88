# cloud: x y count, cells of a 2-D histogram
plot data index block using (X($1)):(Y($2)):(X($1) - wide / 2.0): \
        (X($1) + wide / 2.0 + seam_x):(Y($2) - high / 2.0):(Y($2) + high / 2.0 + seam_y):(Z($3)) \
        with boxxyerror fc palette fs solid noborder notitle, \
    diagonal ? x : NaN with lines lc rgb '#888888' dt 2 lw 1 notitle
