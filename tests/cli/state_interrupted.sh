# SPDX-License-Identifier: MIT
# Ctrl-C says how many files of ours the state keeps, a merge that the run did
# not end, and the same command goes on.
some_logs d 3
echo "not of ours" > d/0.txt
# zeros that take a second to read, and no room
{
    header='{"t":{"dtype":"BF16","shape":[6442450944],'
    header=$header'"data_offsets":[0,12884901888]}}'
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
} > d/large.safetensors
must truncate -s $((12884901888 + 8 + ${#header})) d/large.safetensors
set -m
tprof-analyze tensors d --no_plots --jobs 1 --formats none --dims none \
    --output_dir out --state s --state_every 0 > text 2> err &
# by its name it is the last; who may not look waits long enough
for _ in $(seq 100); do
    [ -s s ] && find "/proc/$!/fd" -lname '*large.safetensors' 2> /dev/null |
        grep -q . && break
    sleep 0.02
done
kill -INT $!
{ wait $!; } 2> /dev/null
echo "exit $?"
cat err
tprof-analyze merge s --output_dir out 2>&1
find . -name '.s.*' -o -name '*.lock'
must rm d/large.safetensors d/0.txt
tprof-analyze tensors d --no_plots --jobs 1 --formats none --dims none \
    --output_dir out --state s | grep 'known, 0 read'
