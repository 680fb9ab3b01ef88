# stacks: row from to, stacked, in the colours of series
plot for [i = 1:series] data index block + i - 1 \
    using (X($2)):1:(X($2)):(X($3)):($1 - 0.36):($1 + 0.36) \
    with boxxyerror lc hue[i] fs solid noborder title name[i]
