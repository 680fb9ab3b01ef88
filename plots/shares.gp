# shares: row from to, stacked
plot for [i = 1:series] data index block + i - 1 \
    using (X($2)):1:(X($2)):(X($3)):($1 - 0.36):($1 + 0.36) \
    with boxxyerror lc i fs solid 0.85 noborder title name[i]
