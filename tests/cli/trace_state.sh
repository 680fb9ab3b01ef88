# SPDX-License-Identifier: MIT
# With --state only traces that are new or changed are read, and states of parts
# merge, however they were split: the results are those of a run that reads all.
need h5dump
traces=$srcdir/testdata/traces
mkdir -p d/cpu more
must cp -R "$traces/own/ranks" d/
must cp "$traces"/own/{busy,long,train}.json.gz d/
must cp "$traces"/cpu-torch2.15.0/*.gz d/cpu/
gzip -dc "$traces/own/loader.json.gz" | head -c 20000 > d/cut.pt.trace.json
echo '{"name": "x"}' > d/other.json
echo 'no JSON at all' > d/bad.pt.trace.json
gzip -dc "$traces/own/one_step.json.gz" > more/one_step.json
chmod -R u+w d
# says how the run was set up, which holds over what traces show
for n in 4 8; do
    printf '{"scenario": "x", "batch_size": %s, "num_workers": 2,
 "pin_memory": true, "amp": false, "trace_dir": "d/cpu"}' $n \
        > d/cpu/metrics_$n.json
done

# analyse FOLDER OPTION...: prints what was known and what was read.
analyse()
{
    local folder=$1
    shift
    tprof-analyze trace d --no_plots --output_dir draw "$@" > text
    echo "exit $?"
    sed -n '/^State$/,/^$/p' text | tail -n +2
    rm -rf "$folder"
    mv draw "$folder"
}
keep() # STATE INPUT...: reads a part
{
    local state=$1
    shift
    tprof-analyze trace "$@" --no_plots --quiet --output_dir part \
        --state "$state"
    [ $? -le 3 ] || echo "no state $state"
}
check() # NAME EXPECTED STATE...: merges, and compares
{
    local name=$1 expected=$2
    shift 2
    tprof-analyze merge "$@" --no_plots --output_dir draw > text
    echo "$name: exit $?"
    sed -n '/^Merged$/,$p' text | tail -n +2
    rm -rf "$name"
    mv draw "$name"
    same "$expected" "$name"
}
analyse all
grep -c 'neither is used' all/trace_report.txt
analyse first --state s
same all first
analyse second --state s --jobs 1
same all second
check one all s

# each file has a state of its own, of which a rank does not know the others
find d -name '*.json*' | LC_ALL=C sort > files
n=0
while read -r file; do
    n=$((n + 1))
    keep part$n.s "$file" 2> /dev/null
done < files
tprof-analyze trace $(cat files) --no_plots --output_dir draw > /dev/null
mv draw named
mapfile -t parts < <(printf '%s\n' part*.s | shuf)
check chance named "${parts[@]}" part1.s
keep a.s d/cpu
keep b.s d/ranks
check folders named a.s "${parts[@]}" b.s part1.s

# copies that have other times
for n in 0 1; do
    mkdir -p node$n
    must cp d/ranks/rank2.json.gz node$n/
    touch -d 202$n-01-01 node$n/rank2.json.gz
    (cd node$n && keep ../node$n.s rank2.json.gz)
done
tprof-analyze merge node0.s node1.s --no_plots --output_dir draw > text
sed -n '/^Merged$/,$p' text | tail -n +2
rm -r draw

# a rank alone is played as if it was alone, with a state or not
tprof-analyze trace d/ranks/rank2.json.gz --no_plots --output_dir draw > text
mv draw lone
keep lone.s d/ranks/rank2.json.gz
check rank lone lone.s

# the content is not looked at
cp -Rp d kept
while read -r file; do
    head -c "$(stat -c %s "$file")" /dev/zero > zeros
    touch -r "$file" zeros
    cp -p zeros "$file"
done < <(grep -v metrics files)
analyse blind --state s
same all blind
rm -r d
cp -Rp kept d

# new files, one that has changed, and one that is gone
cp more/one_step.json d/
cp "$traces/own/fractions.json.gz" d/train.json.gz
rm d/ranks/rank1.json.gz
analyse new
analyse later --state s
same new later
analyse again --state s
same new again
check merged new s
