# SPDX-License-Identifier: MIT
# A process of an MPI job that is killed ends it: nothing is half-written, the
# file it was reading is named, and what all had read is kept for the next run.
mpi_program
need h5dump
mkdir in
some_logs in 40
# zeros that take a second to read, and no room
{
    header='{"t":{"dtype":"BF16","shape":[6442450944],'
    header=$header'"data_offsets":[0,12884901888]}}'
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
} > in/large.safetensors
must truncate -s $((12884901888 + 8 + ${#header})) in/large.safetensors
analyse()
{
    "$@" --tensor_dir in --output_dir draw --no_plots --formats none --dims none
}
analyse tprof-analyze > text
mv draw whole

(analyse ranks 3 --jobs 1 --state s --state_every 0.1 > text 2> err
 echo "exit $?") &
n=0 # until one has kept what it read, on a busy machine, too
until [ -n "$(find . -name 's.rank-*')" ] || [ $((n += 1)) -gt 1000 ]; do
    sleep 0.01
done
kill_reader large.safetensors
wait
grep -o 'was killed: it was reading .*' err
find draw -type f 2> /dev/null
echo "beside the state: $(find . -name 's.rank-*' | wc -l)"

analyse ranks 2 --jobs 1 --state s > text
echo "exit $?"
sed -n 's/^  s: \([0-9]*\) files known, \([0-9]*\) read.*/\1 \2/p' text |
    while read -r known read; do
        [ "$known" -gt 0 ] && [ $((known + read)) = 41 ] && echo "went on"
    done
find . -name 's.rank-*'
mv draw again
same whole again
analyse ranks 2 --jobs 1 --state s | grep '^  s: '
analyse ranks 3 --jobs 1 --state s --state_every 0 > text
find . -name 's.rank-*'
