# SPDX-License-Identifier: MIT
# Ctrl-C: a clean stop, soon, with nothing half-written under a final name.
need h5dump
mkdir d
find "$logs" -name '*.pt' | head -n 200 > files
n=0
while [ $n -lt 40 ]; do
    mkdir d/$n
    while read -r file; do ln -s "$file" "d/$n/"; done < files
    n=$((n + 1))
done
# Job control: else bash starts background commands with SIGINT ignored.
set -m
for delay in 0.02 0.1 0.3 0.8; do
    tprof-analyze --tensor_dir d --output_dir out$delay > text 2> err &
    pid=$!
    sleep $delay
    kill -INT $pid 2> /dev/null || continue
    { wait $pid; } 2> /dev/null
    status=$?
    case $status in
    0) ;; # finished just before
    4)
        touch interrupted
        [ -s err ] || echo "after $delay s: no message"
        ;;
    130) # killed by the signal: only before main could ask for it
        [ ! -e out$delay ] || echo "after $delay s: killed at work"
        ;;
    *) echo "after $delay s: $status" ;;
    esac
    if [ -e out$delay/summary.h5 ]; then
        h5dump -H out$delay/summary.h5 > /dev/null || echo "half a summary"
    fi
    [ ! -e out$delay ] || find out$delay -name '*.tmp*' -o -name '.*' -type f
done
ls interrupted
