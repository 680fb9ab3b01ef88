# SPDX-License-Identifier: MIT
# A state that this run cannot go on from is refused, named, and left as it is.
some_logs d 6

analyse()
{
    tprof-analyze --tensor_dir d --no_plots --quiet --output_dir out \
        --state s "$@"
    echo "exit $?"
}
analyse
cp s good
analyse --mx_scale ceil
analyse --dims all --formats hif8
analyse --parts
cmp s good && echo "the state is as it was"
analyse --sigma 5 --pairs none # what does not shape rows

# refuse: what is said of this state, which stays
refuse()
{
    cp s before
    analyse
    cmp s before || echo "the state has changed"
    [ -e out/summary.h5 ] || echo "no earlier results"
}
head -c 700 good > s
refuse
head -c 100 good > s
refuse
: > s # as mktemp makes it: none yet
analyse
cmp s good
sed 's/schema 3/schema 2/' good > s
refuse
cp good s
printf x | dd of=s bs=1 seek=3000 conv=notrunc status=none
refuse
echo "not a state, but someone's notes" > s
refuse
rm s
mkdir s
analyse
rmdir s
analyse --state no/such/folder/s
cp good s
need flock
flock s.lock bash -c "$(declare -f analyse); analyse"
cmp s good && echo "the state is as it was"
rm s s.lock
analyse --state d/../s2 --state_every -1
ls -A
