# cloud: x y count, cells of a 2-D histogram
left_of(v) = X(v) - wide / 2.0
right_of(v) = X(v) + wide / 2.0 + seam_x
below(v) = Y(v) - high / 2.0
above(v) = Y(v) + high / 2.0 + seam_y
plot data index block \
        using (X($1)):(Y($2)):(left_of($1)):(right_of($1)):(below($2)): \
        (above($2)):(Z($3)) \
        with boxxyerror fc palette fs solid noborder notitle, \
    diagonal ? x : NaN with lines lc rgb '#888888' dt 2 lw 1 notitle
