# SPDX-License-Identifier: MIT
# Prose is broken at the terminal's width, at 100 columns without one and in
# report.txt; lines of tables, of the monitor and of files never are.
need stty
need_terminal
prose()
{
    sed -n '/^Findings/,/^By /p' "$1" | grep '^         ' | grep -v ' file '
}
longest()
{
    sed 's/±/+/g; s/σ/s/g' |
        awk 'length > most { most = length } END { print most }'
}
words()
{
    sed -n '/^Findings/,/^By /p' "$1" | tr -s ' \n' ' ' | cksum
}
must tprof-analyze "$logs" --no_plots --output_dir out > 100
for columns in 60 150; do
    must on_terminal "stty cols $columns; NO_COLOR=1 '$TPROF' '$logs' \
        --no_plots --output_dir out$columns 2> err$columns" > $columns
done
for columns in 60 100 150; do
    most=$(prose $columns | longest)
    [ "$most" -le $columns ] && [ "$most" -gt $((columns - 20)) ] ||
        echo "$columns: the longest line has $most"
    [ "$(words $columns)" = "$(words 100)" ] || echo "$columns: other words"
done
[ "$(prose out60/report.txt | longest)" -le 100 ] || echo "report.txt: wider"
for columns in 60 100 150; do
    grep '^         file ' $columns | grep -v '\.pt$'
done
grep -c '^\[ALERT\] .\{100,\}' out60/report.txt
grep -c '^\[Monitor\] .\{90,\}' out60/report.txt
grep -c '^By tensor_name .\{75,\}NaN+Inf$' 60

# A note that names a file whose path has spaces, at every width.
some_logs "a b" 4
mkdir "a b/c d"
set -- "a b"/*.pt
must cp "$1" "a b/c d/$(basename "$1" | sed 's/iter[0-9]*/iter077/')"
for columns in 60 80 100 120; do
    must on_terminal "stty cols $columns; '$TPROF' 'a b' --no_plots \
        --output_dir 'o p' 2> err" > notes
    sed -n '/^Notes/,$p' notes | grep -c 'a b/c d/[^ ]*iter077[^ ]*\.pt'
done
