# spread: x min q25 q50 q75 max; bar 25 to 75 %, point at the median, line and
# dots from the least to the greatest
plot for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($2)):(0):(Y($6) - Y($2)) with vectors nohead \
        lc hue[i] lw 0.8 notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($2)) with points pt 7 ps 0.4 lc hue[i] notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($6)) with points pt 7 ps 0.4 lc hue[i] notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($1)):(Y($4)):(Y($3)):(Y($5)) with yerrorbars \
        lt hue[i] lw 1.8 pt 7 ps 0.9 title name[i]
