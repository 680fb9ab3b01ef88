# SPDX-License-Identifier: MIT
# A run that needs more memory than it may take ends with 4, names the limit,
# and leaves the older result and nothing beside it; one for which it suffices
# gives the same as without. A script that needs more is left out by name. What
# nobody says is three quarters of what there is.
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
# available: what the system says there is, in bytes; the control group of this
# run may allow less.
available()
{
    awk '$1 == "MemAvailable:" { printf "%.0f\n", $2 * 1024 }' /proc/meminfo
}
if [ -r /proc/self/limits ] && [ -n "$(available)" ]; then
    before=$(available)
    mkdir none
    tprof-analyze none --wait 60 --output_dir out > /dev/null 2>&1 &
    for _ in $(seq 200); do
        limit=$(awk '/^Max data size/ { print $4 }' /proc/$!/limits)
        [ "$limit" = unlimited ] || break
        sleep 0.05
    done
    kill $!
    { wait $!; } 2> /dev/null
    # others take and give memory meanwhile
    printf '%s\n' "$before" "$(available)" |
        awk -v limit="$limit" '
            { most = $1 > most ? $1 : most }
            END { if (!(limit > 0 && limit < 0.85 * most))
                print "bounded by", limit, "of", most }'
fi
