# SPDX-License-Identifier: MIT
# Options of traces: what they change, and what they refuse.
make_trace slow.json 8000
run()
{
    tprof-analyze trace slow.json --no_plots "$@" 2>&1 | head -n 1
    echo "${PIPESTATUS[0]}"
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
