# spread: x q25 q50 q75, points with error bars
plot for [i = 1:series] data index block + i - 1 \
    using (X($1)):(Y($3)):(Y($2)):(Y($4)) with yerrorbars \
    lt hue[i] lw 1.4 pt 7 ps 0.9 title name[i]
