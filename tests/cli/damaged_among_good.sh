# SPDX-License-Identifier: MIT
# The damaged are named, the rest is analysed.
need h5dump
some_logs d 6
set -- d/*.pt
head -c 300 "$1" > d/cut.pt
: > d/empty.pt
# Park and Miller's numbers
awk 'BEGIN { for (x = 7; n++ < 5000;) {
    x = x * 16807 % 2147483647
    printf "\\%03o", x / 8388608 } }' > octal
# shellcheck disable=SC2059 # the bytes are a format
printf "$(cat octal)" > d/noise.bin
tprof-analyze --tensor_dir d --output_dir out --no_plots > text 2> err
echo $?
for name in cut.pt empty.pt noise.bin; do
    grep -q "$name" out/report.txt || echo "report does not name $name"
done
rows out/summary.h5
rows out/summary.h5 skipped
