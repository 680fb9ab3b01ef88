# SPDX-License-Identifier: MIT
# A verdict first, then its figures; files as the manual has them.
need h5dump
make_trace slow.json 8000
tprof-analyze trace slow.json --no_plots
ls draw
[ "$(rows draw/trace.h5 steps)" = 3 ] || echo "not three steps"
[ "$(rows draw/trace.h5 ops)" = 5 ] || echo "not five operators"
