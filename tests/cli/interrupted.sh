# SPDX-License-Identifier: MIT
# Ctrl-C, or a terminal that is closed: a clean stop, soon, with nothing
# half-written under a final name.
need h5dump
mkdir d
find "$logs" -name '*.pt' | sed -n 1,200p > files
mapfile -t files < files
n=0
while [ $n -lt 40 ]; do
    mkdir d/$n
    ln -s "${files[@]}" d/$n/
    n=$((n + 1))
done

# stop SIGNAL DELAY: after so many seconds of a run, or, as "0.1 at work", once
# it has made its folder: how long it takes to start is up to the machine.
stop()
{
    local signal=$1 delay=${2%% *} out="out$1$2" pid status
    tprof-analyze --tensor_dir d --output_dir "$out" > text 2> err &
    pid=$!
    while [[ $2 = *work ]] && [ ! -e "$out" ]; do
        kill -0 $pid 2> /dev/null || break
        sleep 0.01
    done
    sleep "$delay"
    kill -"$signal" $pid 2> /dev/null
    { wait $pid; } 2> /dev/null
    status=$?
    case $status in
    0) ;; # finished just before
    4)
        touch "interrupted$signal"
        [ -s err ] || echo "$signal after $2: no message"
        ;;
    130 | 129) # killed by the signal: only before main could ask for it
        [ ! -e "$out" ] || echo "$signal after $2: killed at work"
        ;;
    *) echo "$signal after $2: $status" ;;
    esac
    if [ -e "$out/summary.h5" ]; then
        h5dump -H "$out/summary.h5" > /dev/null || echo "half a summary"
    fi
    [ ! -e "$out" ] || find "$out" -name '*.tmp*' -o -name '.*' -type f
}

# Job control: else bash starts background commands with SIGINT ignored.
set -m
for signal in INT HUP; do
    for delay in 0.02 0.1 '0 at work' '0.3 at work' '0.8 at work'; do
        stop $signal "$delay"
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
