# SPDX-License-Identifier: MIT
# A run that finds nothing to read leaves its state as it was, and makes none:
# a folder may be that of a disk that is not mounted, or of a rank that is
# missing, whose state would stop a merge.
some_logs d 4
mkdir t
make_trace t/a.json
analyse()
{
    tprof-analyze "$@" --no_plots --output_dir out > text 2>&1
    echo "exit $?"
    sed -n 's/^tprof-analyze: warning: \(s: left .*\)/\1/p
        /^  s: .*known/,/^$/p' text
}
for what in tensors trace; do
    [ $what = tensors ] && full=d || full=t
    echo "$what"
    analyse $what $full --state s
    cp s before
    mv $full away
    mkdir $full
    analyse $what $full --state s
    cmp s before
    echo "nothing of ours" > $full/README
    analyse $what $full --state s
    cmp s before
    analyse $what none --state s
    cmp s before
    rm -r $full
    mv away $full
    analyse $what $full --state s
    mkdir -p empty
    analyse $what empty --state e
    analyse $what none --state n
    find . -maxdepth 1 -name '[en]' -o -name '*.lock'
    tprof-analyze merge s --no_plots --quiet --output_dir out
    echo "merge: $?"
    rm s before
done

# what another run looked for is not gone
mkdir f
cp d/* f/
analyse tensors d f --state s
analyse tensors d --state s
rm -r f
