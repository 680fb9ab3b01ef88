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

# what follows a trace is not read, whatever the number of jobs
traces=$srcdir/testdata/traces/own
gzip -dc "$traces/train.json.gz" > one.json
cat one.json one.json > two.json
cat "$traces"/{train,busy}.json.gz > members.json.gz
{ cat one.json; echo 'garbage{}'; } > garbage.json
{ cat one.json; printf ' \n\t\n'; } > blank.json
for file in two.json members.json.gz garbage.json blank.json; do
    for jobs in 1 7; do
        tprof-analyze trace $file --no_plots --jobs $jobs > text.$jobs
        echo "$file: exit $?"
    done
    grep ' from byte ' text.1
    cmp text.1 text.7
done

# what gzip says of what was read, a limit, and a second list of events
packed=$traces/train.json.gz
size=$(stat -c %s "$packed")
{ head -c $((size - 8)) "$packed"; printf abcd; tail -c 4 "$packed"; } \
    > checksum.json.gz
{ head -c $((size - 4)) "$packed"; printf abcd; } > length.json.gz
sed '$ s/}$/, "traceEvents": [{"ph": "X"}]}/' one.json > second.json
for file in checksum.json.gz length.json.gz second.json; do
    tprof-analyze trace $file --no_plots > text
    echo "$file: exit $?"
    grep "^  $file: .* byte" text
    grep -c 'cut off' text
done
{
    printf '{"traceEvents": ['
    head -c 200000000 /dev/zero | tr '\0' ' '
    printf ']}'
} | gzip -1 > wide.json.gz
tprof-analyze trace wide.json.gz --no_plots 2>&1
echo "wide.json.gz: exit $?"
