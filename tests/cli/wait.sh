# SPDX-License-Identifier: MIT
# A run that still writes is waited for: for ten tensors, and until none is
# new; no longer than is asked for, and not after Ctrl-C.
some_logs all 12
write()
{
    sleep 0.5
    mkdir d
    for file in all/*; do
        cp "$file" d/
        sleep 0.05
    done
}
write &
must tprof-analyze d --wait 20 --no_plots --output_dir out > text
wait
sed -n 's/^  \([0-9]*\) files read.*/\1/p' text
grep -c 'after --wait' text
some_logs few 3
tprof-analyze --tensor_dir few --wait 0.5 --no_plots --output_dir few.out \
    > text 2> err
echo "exit $?"
cat err
grep 'after --wait' text few.out/report.txt
# still changing at the end: one file grows all the time
some_logs many 11
grow()
{
    local n=0
    while [ ! -e stop ] && [ $n -lt 1000 ]; do
        echo >> many/notes.bin
        sleep 0.01
        n=$((n + 1))
    done
}
grow &
tprof-analyze --tensor_dir many --wait 1 --no_plots --output_dir many.out \
    > text 2> err
touch stop
wait
grep -c 'still changing' err text
# job control: else bash starts background commands with SIGINT ignored
set -m
mkdir none
tprof-analyze --tensor_dir none --wait 600 --output_dir none.out 2> err &
sleep 0.5
kill -INT $!
{ wait $!; } 2> /dev/null
echo "exit $?"
cat err
ls none.out 2> /dev/null
