# boxes: row min q05 q25 q50 q75 q95 max n; box 25 to 75 %, line 5 to 95 %,
# dots at the extremes
plot for [i = 1:series] data index block + i - 1 \
        using (X($3)):1:(X($7) - X($3)):(0) with vectors nohead \
        lc hue[i] lw 1.2 notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($5)):1:(X($4)):(X($6)):($1 - thick / 2.0):($1 + thick / 2.0) \
        with boxxyerror lc hue[i] lw 1 fs solid 0.45 border title name[i], \
    for [i = 1:series] data index block + i - 1 \
        using (X($5)):($1 - thick / 2.0):(0):(thick) with vectors nohead \
        lc rgb '#222222' lw 1.6 notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($2)):1 with points pt 7 ps 0.3 lc hue[i] notitle, \
    for [i = 1:series] data index block + i - 1 \
        using (X($8)):1 with points pt 7 ps 0.3 lc hue[i] notitle
