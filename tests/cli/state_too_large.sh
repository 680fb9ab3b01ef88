# SPDX-License-Identifier: MIT
# A state that is larger than files may be: that is said once, the one before
# stays whole, and nothing is left beside it.
mkdir t
make_trace t/a.json
some_logs d 3
analyse()
{
    tprof-analyze "$@" --no_plots --quiet --output_dir out 2>&1
    echo "exit $?"
}
for what in tensors trace; do
    [ $what = tensors ] && first=d more=$logs/bf16 || first=t more=t
    analyse $what $first --state s
    cp s before
    [ $what = tensors ] || make_trace t/b.json 3000
    (ulimit -f 8 && analyse $what $more --state s)
    cmp s before && find . -maxdepth 1 -type f | LC_ALL=C sort
    rm s before
done
