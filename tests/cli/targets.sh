# SPDX-License-Identifier: MIT
# What a run writes takes the place of nothing that it reads or writes
# otherwise, and of no device, pipe or link; the same file, where nothing speaks
# against it, is written.
must make_trace t.json 3000
must make_trace u.json 10
some_logs d 2
must mkdir f
must cp t.json u.json f
must cp t.json before.json
must ln t.json hard
must ln -s t.json link
must mkfifo pipe
mknod device c 1 3 2> /dev/null || must mkfifo device

refused()
{
    timeout 20 "$TPROF" "$@" --no_plots --quiet > text 2>&1
    echo "exit $?: $(cat text)"
}
refused trace t.json --output_dir o --output_json t.json
refused trace t.json --output_dir o --output_json hard
refused trace link --output_dir o --output_json t.json
refused trace f --output_dir o --output_json f/t.json
refused trace t.json --output_dir o --annotate t.json
refused trace --compare t.json u.json --output_dir o --output_json u.json
for option in state output_json annotate; do
    refused trace t.json --output_dir o --$option link
    refused trace t.json --output_dir o --$option pipe
    refused trace t.json --output_dir o --$option device
done
refused tensors d --output_dir o --state pipe
refused merge pipe --output_dir o
refused trace t.json --output_dir o --output_json one --annotate one
refused trace t.json --output_dir o --output_json one --state ./one
refused trace t.json --output_dir o --output_json o/trace.h5
refused trace t.json --output_dir o --state o/../o/trace_report.txt
must tprof-analyze tensors d --no_plots --quiet --output_dir whole --state s
must mkdir m
must cp s m/summary.h5
refused merge m/summary.h5 --output_dir m
cmp s m/summary.h5
cmp t.json before.json
cmp f/t.json before.json
[ -p pipe ] && [ -L link ] && [ ! -f device ] && [ ! -e o ] && echo "as before"

for round in 1 2; do # the second time they are there
    must tprof-analyze trace f --no_plots --quiet --output_dir o \
        --output_json o/metrics.json --annotate o/tracks/
    must tprof-analyze trace f --no_plots --quiet --output_dir o --state o/state
done
must tprof-analyze merge m/summary.h5 --no_plots --quiet --output_dir o
ls o
