# SPDX-License-Identifier: MIT
# Options of traces: what they change, and what they refuse.
make_trace slow.json 8000
run()
{
    # Not through a pipe: head may be gone before all is written.
    tprof-analyze trace slow.json --no_plots "$@" > run.txt 2>&1
    local status=$?
    head -n 1 run.txt
    echo $status
}
run --threshold dataloader=80
run --fail_on high
run --threshold dataloader=80 --threshold host=200 --fail_on high
run --threshold loader=80
run --threshold dataloader=much
run --sort device
run --top 0
run --tensor_dir x
tprof-analyze trace slow.json --no_plots --sort count --top 1 |
    grep -A 3 'Operators by'
tprof-analyze trace --no_plots
