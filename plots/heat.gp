# heat: x y value; white cells hold a zero, grey ones nothing
unset grid
set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind \
    fc rgb '#bdbdbd' fs solid noborder
plot data index block using (X($1)):(Y($2)):(X($1) - wide / 2.0): \
        (X($1) + wide / 2.0 + seam_x):(Y($2) - high / 2.0):(Y($2) + high / 2.0 + seam_y): \
        ($3 == 0 && white ? NaN : Z($3)) \
        with boxxyerror fc palette fs solid noborder notitle, \
    '' index block using (X($1)):($3 == 0 && white ? Y($2) : NaN): \
        (X($1) - wide / 2.0):(X($1) + wide / 2.0 + seam_x):(Y($2) - high / 2.0): \
        (Y($2) + high / 2.0 + seam_y) with boxxyerror fc rgb '#ffffff' fs solid noborder \
        notitle
