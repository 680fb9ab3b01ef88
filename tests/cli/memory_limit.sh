# SPDX-License-Identifier: MIT
# A run that needs more memory than it may take ends with 4, names the limit,
# and leaves the older result and nothing beside it; one for which it suffices
# gives the same as without. A script that needs more is left out by name.
! is_sanitized || skip "sanitizers take more than any limit"
some_logs in 6
some_logs first 1
must tprof-analyze first --output_dir out --no_plots > /dev/null
cp -R out older
for limit in 1M 3M 5M; do
    tprof-analyze in --output_dir out --no_plots --jobs 1 \
        --memory_limit $limit > text 2> err
    echo "$limit: $? $(grep -c 'out of memory: .* (--memory_limit)' err)"
    diff -r older out
done
must tprof-analyze in --output_dir out --no_plots > /dev/null
must tprof-analyze in --output_dir small --no_plots --jobs 1 \
    --memory_limit 512M > /dev/null
cmp out/findings.json small/findings.json
awk 'BEGIN { for (i = 0; i < 20000; i++) print "def f" i "(x): return x" }' \
    > large.py
echo 'x = 1' > small.py
tprof-analyze check large.py small.py --memory_limit 12M > text 2> err
echo "$? $(grep -c 'large.py: out of memory: .* 12582912 bytes' err)"
