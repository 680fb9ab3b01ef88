# points: x y; later blocks lie above earlier ones, each colour of the first
# nine has a shape, which the others take in turn; first are lines that bound
# them
array shape[9] = [6, 2, 4, 12, 8, 10, 1, 3, 14]
plot diagonal ? x : NaN with lines lc rgb '#888888' dt 2 lw 1 notitle, \
    for [i = 1:bounds] data index block + i - 1 using (X($1)):(Y($2)) \
        with lines lt hue[i] title name[i], \
    for [i = bounds + 1:series] data index block + i - 1 \
        using (X($1)):(Y($2)) with points lt hue[i] lw 1 \
        pt shape[(hue[i] - 1) % 9 + 1] ps 0.8 title name[i]
