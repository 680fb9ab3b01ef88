# SPDX-License-Identifier: MIT
# The damaged are named, the rest is analysed.
need h5dump
some_logs d 6
set -- d/*.pt
head -c 300 "$1" > d/cut.pt
: > d/empty.pt
head -c 5000 /dev/urandom > d/noise.bin
tprof-analyze --tensor_dir d --output_dir out --no_plots > text 2> err
echo $?
for name in cut.pt empty.pt noise.bin; do
    grep -q "$name" out/report.txt || echo "report does not name $name"
done
rows out/summary.h5
rows out/summary.h5 skipped
