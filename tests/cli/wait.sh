# SPDX-License-Identifier: MIT
# A run that still writes is waited for: for ten tensors, and until none is
# new; no longer than is asked for, and not after Ctrl-C.
some_logs all 12
last=0 longest=0

# Keeps the longest time between two calls, in microseconds.
beat()
{
    local now=${EPOCHREALTIME/./}
    [ $((now - last)) -le $longest ] || longest=$((now - last))
    last=$now
}

# steady SECONDS: whether `rested`, the longest rest of who wrote, is too short
# to end a --wait of SECONDS: that takes a tenth of it, 5 s at most. On a busy
# machine it may be long enough, and the case is tried with a longer wait.
steady()
{
    local interval=$(($1 * 1000000 / 10))
    [ "$(cat rested)" -lt $((interval < 5000000 ? interval : 5000000)) ]
}
write()
{
    sleep 0.5
    mkdir d
    last=${EPOCHREALTIME/./}
    for file in all/*; do
        cp "$file" d/
        beat
        sleep 0.05
    done
    echo $((2 * longest)) > rested # at most, from one file to the next
}
for seconds in 20 80 300; do
    rm -rf d
    write &
    must tprof-analyze d --wait $seconds --no_plots --output_dir out > text
    wait
    ! steady $seconds || break
done
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
mkfifo never
grow()
{
    last=$1
    until [ -e stop ]; do
        echo >> many/notes.bin
        beat
        read -rt 0.01 <> never # rests, but starts no process
    done
    beat
    echo $((2 * longest)) > rested # at most, from one line to the next
}
for seconds in 1 4 16 64; do
    grow "${EPOCHREALTIME/./}" &
    tprof-analyze --tensor_dir many --wait $seconds --no_plots \
        --output_dir many.out > text 2> err
    touch stop
    wait
    rm stop
    ! steady $seconds || break
done
grep -c 'still changing' err text
# job control: else bash starts background commands with SIGINT ignored
set -m
mkdir none
for delay in 0.5 2 8 32; do
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
