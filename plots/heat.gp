# heat: x y value; white cells hold a zero, grey ones nothing
left_of(v) = X(v) - wide / 2.0
right_of(v) = X(v) + wide / 2.0 + seam_x
below(v) = Y(v) - high / 2.0
above(v) = Y(v) + high / 2.0 + seam_y
colour(v) = v == 0 && white ? NaN : Z(v)
unset grid
set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind \
    fc rgb '#bdbdbd' fs solid noborder
plot data index block \
        using (X($1)):(Y($2)):(left_of($1)):(right_of($1)):(below($2)): \
        (above($2)):(colour($3)) \
        with boxxyerror fc palette fs solid noborder notitle, \
    '' index block using (X($1)):($3 == 0 && white ? Y($2) : NaN): \
        (left_of($1)):(right_of($1)):(below($2)):(above($2)) \
        with boxxyerror fc rgb '#ffffff' fs solid noborder notitle
