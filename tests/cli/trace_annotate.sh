# SPDX-License-Identifier: MIT
# A trace with tracks of what was found in it: the original is in it byte by
# byte, tables and verdict stay as they are, and nothing half-written is left.
need jq
make_trace slow.json 8000
must tprof-analyze trace slow.json --no_plots --quiet --no_html \
    --output_dir one --annotate deep/er/a.json
added='[.traceEvents[] | select(.cat == "tprof-analyze")]'
jq -c "$added"' | group_by(.ph) | map([.[0].ph, (length > 0)])' deep/er/a.json
jq -c "$added"' | map(select(.ph == "M" and .name == "thread_name"))
    | map(.args.name)' deep/er/a.json
# the events of the profiler, in their order, and what else it says
jq -c 'del(.traceEvents[] | select(.cat == "tprof-analyze"))' deep/er/a.json |
    cmp - <(jq -c . slow.json) && echo "the original is in it"
# no process of the profiler's is taken
jq -c '([.traceEvents[] | select(.cat != "tprof-analyze") | .pid] | unique) as
    $old | '"$added"' | map(select(.ph != "s" and .ph != "f") | .pid) | unique |
    [length, (. - $old | length)]' deep/er/a.json
# idle slices add up to the table, in %
h5dump -d /idle one/trace.h5 > table.txt && echo "a table"
must tprof-analyze trace deep/er/a.json --no_plots --quiet --no_html \
    --output_dir two
for table in ops kernels steps idle busy critical_path; do
    h5dump -d /$table two/trace.h5 | sed 's/two.trace/one\/trace/' |
        cmp -s - <(h5dump -d /$table one/trace.h5) || echo "$table differs"
done
# packed, it is the same
must tprof-analyze trace slow.json --no_plots --quiet --no_html \
    --output_dir one --annotate a.json.gz
gunzip -c a.json.gz | cmp - deep/er/a.json && echo "packed"
gzip slow.json
must tprof-analyze trace slow.json.gz --no_plots --quiet --no_html \
    --output_dir one --annotate b.json
cmp b.json deep/er/a.json && echo "unpacked"
# a list alone; one that is cut off among its events
gunzip -c slow.json.gz | jq -c .traceEvents > list.json
must tprof-analyze trace list.json --no_plots --quiet --no_html \
    --output_dir list --annotate list_a.json
jq -c "[type, length > 3]" list_a.json
head -c 1999 b.json > cut.json
tprof-analyze trace cut.json --no_plots --quiet --no_html \
    --output_dir cut --annotate cut_a.json
echo "status $?"
jq -r '.traceEvents[] | select(.name == "process_name" and
    .cat == "tprof-analyze") | .args.name' cut_a.json
# what is refused
tprof-analyze trace deep/er/a.json --no_plots --quiet --no_html \
    --output_dir three --annotate c.json
echo "status $?"
cp b.json other.json
gunzip -c slow.json.gz > plain.json
tprof-analyze trace plain.json --no_plots --quiet --no_html \
    --output_dir three --annotate ./plain.json
echo "status $?"
cmp plain.json <(gunzip -c slow.json.gz) && echo "it is as it was"
mkdir ranks
cp plain.json ranks/a.json
cp plain.json ranks/b.json
tprof-analyze trace ranks --no_plots --quiet --no_html \
    --output_dir three --annotate c.json
echo "status $?"
must tprof-analyze trace ranks --no_plots --quiet --no_html \
    --output_dir three --annotate out/
ls out
tprof-analyze trace plain.json --no_plots --quiet --no_html \
    --output_dir three --annotate ''
echo "status $?"
tprof-analyze trace --compare ranks/a.json ranks/b.json --annotate c.json
echo "status $?"
# a full disk: the results are there, nothing of the trace is
long=$srcdir/testdata/traces/own/long.json.gz
(
    ulimit -f 400
    tprof-analyze trace "$long" --no_plots --quiet --no_html \
        --output_dir full --annotate full.json
    echo "status $?"
) 2>&1 | cat
ls full
find . -name '*full.json*' -o -name 'c.json'
# damage that ends where it begins is no hindrance; where events can no longer
# be told apart, no file is written
cat > hurt.json << 'END'
{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":3},
{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":[5,"dur":3},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":15,"dur":3}
]}
END
cat > odd.json << 'END'
{"traceEvents":[{"ph":"X","cat":"cpu_op","":"","ts":5,"dur":0}
{"":0,"":[{""""{""""}},{"ph":"M","":""}
END
for trace in hurt odd; do
    tprof-analyze trace $trace.json --no_plots --quiet --no_html \
        --output_dir hurt --annotate hurt/$trace.json 2>&1 |
        grep -o 'cannot be told'
    echo "$trace: ${PIPESTATUS[0]}"
done
grep -l '"tprof-analyze"' hurt/*.json
# slices too short for a viewer, whose doubles are 256 ns apart, are moments
# that tell their lengths
cat > short.json << 'END'
{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,
 "ts":1712195495985244.100,"dur":9.9},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,
 "ts":1712195495985245.000,"dur":0.2,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,
 "ts":1712195495985250.000,"dur":0.2,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,
 "ts":1712195495985246.000,"dur":3.900,"args":{"correlation":1,"stream":7}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,
 "ts":1712195495985251.000,"dur":2.0,"args":{"correlation":2,"stream":7}}
]}
END
must tprof-analyze trace short.json --no_plots --quiet --no_html \
    --output_dir short --annotate short_a.json
jq -c "$added"' | map(select(.ph == "i")) | [length > 0,
    all(.args.us > 0 and .args.us < 0.6)]' short_a.json
jq -c "$added"' | group_by(.tid)[] |
    map(select(.ph == "B" or .ph == "E") | .ts * 1000 | floor) |
    select(length > 0) | [range(0; length; 2) as $i | .[$i + 1] > .[$i]] |
    all' short_a.json | sort -u
