# SPDX-License-Identifier: MIT
# Before and after: what the DataLoader's workers changed. Nothing is written.
make_trace before.json 8000
make_trace after.json 100
tprof-analyze trace --compare before.json after.json
[ -e draw ] && echo "wrote something"
tprof-analyze trace --compare before.json > /dev/null 2>&1
echo $?
