# SPDX-License-Identifier: MIT
# The processes of an MPI job read traces together and give the results of one,
# however many they are, with a state or without.
mpi_program
need h5dump
traces=$srcdir/testdata/traces
mkdir in
must cp -R "$traces"/own "$traces"/cpu-torch* "$traces"/cpu-groups-* in/
chmod -R u+w in
gzip -dc "$traces/own/loader.json.gz" | head -c 20000 > in/cut.pt.trace.json
echo '{"name": "x"}' > in/other.json
echo 'no JSON at all' > in/bad.pt.trace.json
analyse()
{
    "$@" --trace_dir in --output_dir draw --no_plots > text 2> err
    echo "exit $?"
    grep tprof-analyze: err
    sed -n 's/^  s: //p' text
}
analyse tprof-analyze trace
mv draw alone
for count in 1 2 3 5; do
    analyse ranks $count trace --jobs 1
    mv draw together
    same alone together
    rm -r together
done
analyse ranks 2 trace --jobs 2 --state s
mv draw together
same alone together
rm -r together
# what processes of a run that was cut off left beside the state
mv s s.rank-1
tprof-analyze trace in/own/ranks --no_plots --quiet --output_dir part --state s
analyse ranks 3 trace --jobs 1 --state s
mv draw together
same alone together
find . -name 's.rank-*'
# one trace alone
tprof-analyze trace in/own/ranks/rank1.json.gz --no_plots --quiet \
    --output_dir draw
mv draw one
ranks 3 trace in/own/ranks/rank1.json.gz --no_plots --quiet --output_dir draw
mv draw two
same one two
