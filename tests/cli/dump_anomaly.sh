# SPDX-License-Identifier: MIT
# Where NaN came from in a dump that msprobe made: the logarithm in step 1, and
# not the masks of both steps; without stack.json and construct.json, too.
dump=$srcdir/testdata/msprobe
tprof-analyze dump "$dump" --fail_on high > printed
echo "status $?"
sed -n '/nonfinite/,/see/p; /^First/,/^$/p' printed
cut -d, -f1,3,4,5,8,9 draw/overflow.csv
echo "rows $(rows draw/dump.h5 overflow)"
must tprof-analyze dump "$dump" --step 0 --fail_on high > printed
sed -n '/^First/,/^$/p' printed
must cp -r "$dump/step1/proc4711" d
chmod -R u+w d
rm d/stack.json d/construct.json
tprof-analyze dump d --quiet --verify none
cut -d, -f4,5,8,9,10 draw/overflow.csv | grep ,1,0
# Another rank gets it by a collective: the origin stays one.
entry()
{
    printf '"%s": {"input_args": [{"type": "torch.Tensor", "dtype": ' "$1"
    printf '"torch.float32", "shape": [8], "Max": %s, "Min": %s}], ' "$2" "$2"
    printf '"output": [{"type": "torch.Tensor", "dtype": "torch.float32", '
    printf '"shape": [8], "Max": %s, "Min": %s}]}' "$3" "$3"
}
must mkdir -p r/step0/rank0 r/step0/rank1
reduce=Distributed.all_reduce.0.forward
{
    echo '{"data": {'
    entry $reduce 1 NaN
    echo '}}'
} > r/step0/rank0/dump.json
{
    echo '{"data": {'
    entry Torch.log.0.forward -1 NaN
    echo ,
    entry $reduce NaN NaN
    echo '}}'
} > r/step0/rank1/dump.json
tprof-analyze dump r > printed
sed -n '/nonfinite/,/see/p' printed
# With more calls behind it than are shown, it is in the first row still.
{
    echo '{"data": {'
    entry $reduce 1 NaN
    for i in 0 1 2 3 4 5 6 7 8 9 10; do
        echo ,
        entry Tensor.__mul__.$i.forward NaN NaN
    done
    echo '}}'
} > r/step0/rank0/dump.json
tprof-analyze dump r > printed
sed -n '/^First/,/^ *0 *0 /p; /and .* more/p' printed
