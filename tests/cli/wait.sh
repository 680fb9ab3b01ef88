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
# still changing at the end: one file grows all the time, unless a busy machine
# lets it rest for an interval, a tenth of --wait; then with longer ones
some_logs many 11
mkfifo never
grow()
{
    local last=$1 now longest=0
    until [ -e stop ]; do
        echo >> many/notes.bin
        now=${EPOCHREALTIME/./}
        [ $((now - last)) -le $longest ] || longest=$((now - last))
        last=$now
        read -rt 0.01 <> never # rests, but starts no process
    done
    echo $((2 * longest)) > rested # at most, from one line to the next
}
for seconds in 1 4 16; do
    grow "${EPOCHREALTIME/./}" &
    tprof-analyze --tensor_dir many --wait $seconds --no_plots \
        --output_dir many.out > text 2> err
    touch stop
    wait
    rm stop
    [ "$(cat rested)" -ge $((seconds * 1000000 / 10)) ] || break
done
grep -c 'still changing' err text
# job control: else bash starts background commands with SIGINT ignored
set -m
mkdir none
for delay in 0.5 2 8; do
    tprof-analyze --tensor_dir none --wait 600 --output_dir none.out 2> err &
    sleep $delay
    kill -INT $!
    { wait $!; } 2> /dev/null
    status=$?
    [ $status = 130 ] || break # killed before main could ask for the signal
done
echo "exit $status"
cat err
ls none.out 2> /dev/null
