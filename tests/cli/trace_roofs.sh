# SPDX-License-Identifier: MIT
# Roofs of devices: the list, and what is not in it.
$TPROF list gpus | grep -c 'data sheet'
trace="$TPROF trace $srcdir/testdata/traces/own/busy.json.gz --no_plots --quiet"
$trace --gpu 'h100 sxm' --peak bf16=900 --peak bandwidth=3000 || exit
$trace --gpu H1
$trace --peak bf17=1
$trace --peak bf16
