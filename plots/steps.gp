# steps: x y, the outline of one histogram per block; x is the bins' middle
plot for [i = 1:series] data index block + i - 1 \
    using (X($1)):(Y($2)) with histeps lt i title name[i]
