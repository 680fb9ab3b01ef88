# SPDX-License-Identifier: MIT
# Ctrl-C, or a terminal that is closed: a clean stop, soon, with nothing
# half-written under a final name.
need h5dump
mkdir d
find "$logs" -name '*.pt' | sed -n 1,200p > files
n=0
while [ $n -lt 40 ]; do
    mkdir d/$n
    while read -r file; do ln -s "$file" "d/$n/"; done < files
    n=$((n + 1))
done
# Job control: else bash starts background commands with SIGINT ignored.
set -m
for signal in INT HUP; do
    for delay in 0.02 0.1 0.3 0.8; do
        out=out$signal$delay
        tprof-analyze --tensor_dir d --output_dir $out > text 2> err &
        pid=$!
        sleep $delay
        kill -$signal $pid 2> /dev/null || continue
        { wait $pid; } 2> /dev/null
        status=$?
        case $status in
        0) ;; # finished just before
        4)
            touch interrupted$signal
            [ -s err ] || echo "$signal after $delay s: no message"
            ;;
        130 | 129) # killed by the signal: only before main could ask for it
            [ ! -e $out ] || echo "$signal after $delay s: killed at work"
            ;;
        *) echo "$signal after $delay s: $status" ;;
        esac
        if [ -e $out/summary.h5 ]; then
            h5dump -H $out/summary.h5 > /dev/null || echo "half a summary"
        fi
        [ ! -e $out ] || find $out -name '*.tmp*' -o -name '.*' -type f
    done
done
ls interrupted*
# Under nohup it goes on.
some_logs few
trap '' HUP
tprof-analyze --tensor_dir few --no_plots --output_dir on > text &
sleep 0.3
kill -HUP $! 2> /dev/null
wait $!
echo "nohup $?"
