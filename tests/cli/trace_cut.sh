# SPDX-License-Identifier: MIT
# A trace that ends too early is analysed up to there; the byte is said.
make_trace whole.json 8000
head -c 2000 whole.json > cut.json
tprof-analyze trace cut.json --no_plots
