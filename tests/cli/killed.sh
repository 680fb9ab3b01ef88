# SPDX-License-Identifier: MIT
# kill -9 in the middle of a picture: gnuplot ends, too, and what it leaves is
# removed by the next run, but not what belongs to one that still runs.
[ "$(uname)" = Linux ] || skip "only Linux tells children that a parent is gone"
need gnuplot
some_logs d 6
mkdir bin
# begins a picture, and never ends
cat > bin/gnuplot << 'SCRIPT'
#!/bin/bash
for word; do
    [[ $word =~ "cd '"([a-z0-9_]*)"'; output = '"([^\']*)"'" ]] &&
        echo begun > "${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"
done
echo $$ > "$DRAWERS/$$"
exec sleep 1000
SCRIPT
chmod +x bin/gnuplot
mkdir -p out/drawers # where what draws may write
DRAWERS=$PWD/out/drawers PATH=$PWD/bin:$PATH
export DRAWERS
start() { tprof-analyze --tensor_dir d --jobs 2 --output_dir out > text & }
hidden() { find out -name '.*' -type f | wc -l; }
# drawing COUNT: waits until so many have begun
drawing()
{
    while [ "$(find out/drawers -type f | wc -l)" -lt "$1" ]; do
        sleep 0.05
    done
}

# is_alive PROCESS: whether it is there still, and not only its number.
is_alive() { grep -qs '^[0-9]* (.*) [^ZX] ' "/proc/$1/stat"; }

start
drawing 2
{ kill -9 $! && wait $!; } 2> /dev/null
echo $?
for drawer in out/drawers/*; do
    for _ in {1..1000}; do
        is_alive "${drawer##*/}" || break
        sleep 0.05
    done
    ! is_alive "${drawer##*/}" || echo "gnuplot draws on"
done
left=$(hidden)
[ "$left" -gt 2 ] || echo "nothing is left: $left"
touch out/.mine.1.tmp out/.summary.h5.00000000.1.tmp
start # the next one
drawing 4
mv bin/gnuplot bin/off
now=$(hidden)
[ "$now" = $((left + 2)) ] || echo "$now hidden files, not $left and two"
# a third beside it leaves its files alone
must tprof-analyze --tensor_dir d --no_plots --output_dir out > /dev/null
[ "$(hidden)" = "$now" ] || echo "of a living one: $now, now $(hidden)"
{ kill -9 $! && wait $!; } 2> /dev/null
must tprof-analyze --tensor_dir d --output_dir out > /dev/null
find out -name '.*' -type f
