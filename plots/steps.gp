# steps: x y, the outline of one histogram per block; x is where a bin begins
plot for [i = 1:series] data index block + i - 1 \
    using (X($1)):(Y($2)) with steps lt hue[i] title name[i]
