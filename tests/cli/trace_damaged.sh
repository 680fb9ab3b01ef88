# SPDX-License-Identifier: MIT
# Damage is named, the rest is analysed; other JSON in a directory is none.
mkdir traces
make_trace traces/good.pt.trace.json 8000
make_trace traces/worse.pt.trace.json 8000
echo 'not json' > traces/bad.pt.trace.json
tprof-analyze trace traces --no_plots > text
echo $?
head -n 1 text
grep bad text
echo '{"a": 1}' > traces/bad.pt.trace.json
mv traces/bad.pt.trace.json traces/metrics.json
tprof-analyze trace traces --no_plots --quiet
echo $?
