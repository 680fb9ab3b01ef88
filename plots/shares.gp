# shares: row from to, stacked; what is lost stands out
array shade[6] = \
    ['#d9d9d9', '#d55e00', '#f0b429', '#9ecae1', '#5e2a84', '#000000']
plot for [i = 1:series] data index block + i - 1 \
    using (X($2)):1:(X($2)):(X($3)):($1 - 0.36):($1 + 0.36) \
    with boxxyerror fc rgb shade[(i - 1) % 6 + 1] fs solid noborder \
    title name[i]
