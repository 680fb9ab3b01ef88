# lines: x y, one curve per block; few points are marked
if (points) {
    plot for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($2)) with linespoints lt hue[i] lw fat(i) \
        pt 7 ps 0.6 title name[i]
} else {
    plot for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($2)) with lines lt hue[i] lw fat(i) title name[i]
}
