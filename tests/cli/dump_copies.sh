# SPDX-License-Identifier: MIT
# Three ranks with equal parameters; then one has another, by what the json
# says. A rank that is alone has no copies.
must mkdir -p d/step0
for rank in 0 1 2; do
    must cp -r "$srcdir/testdata/msprobe/step0/proc4711" d/step0/rank$rank
    chmod -R u+w d
    rm -r d/step0/rank$rank/dump_tensor_data
    must sed -i 's/"data_name": ".*"/"none": 0/' d/step0/rank$rank/dump.json
done
must tprof-analyze dump d > printed
sed -n '/^Copies/,/^$/p' printed
# a weight of the linear layer, by its mean
json=d/step0/rank1/dump.json
mean=$(sed -n '/"Module.blocks.0.linear.Linear.forward.0"/,/"bias"/p' $json |
    sed -n '/"weight"/,/Mean/s/.*"Mean": \([^,]*\),/\1/p')
[ -n "$mean" ] || echo "no mean"
must sed -i "s/\"Mean\": $mean,/\"Mean\": ${mean}1,/" $json
must tprof-analyze dump d > printed
sed -n '/^Copies/,/^$/p' printed
sed -n '/medium  copies/,/see/p' printed
cut -d, -f1-5,7,8 draw/dump_copies.csv
must tprof-analyze dump d --rank 1 > printed
grep '^Copies' printed || echo alone
