# bars: row value; `left` is where the bars begin
plot for [i = 1:series] data index block + i - 1 \
    using (X($2)):1:(left):(X($2)):($1 - thick / 2.0):($1 + thick / 2.0) \
    with boxxyerror lc hue[i] fs solid 0.85 noborder title name[i]
