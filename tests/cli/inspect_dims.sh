# SPDX-License-Identifier: MIT
# What inspect says of the axes of the requirements' example, in three dtypes;
# the numbers are those that tests/make_dims_file.py printed.
dims=$srcdir/testdata/dims
must tprof-analyze inspect "$dims/bbox_pred.pt" > text
# the axis of 1000 indices with two values each comes last
sed -n '/axis 1/,/axis 0/p' text
grep -q "on its own (with 2 values an index, chance" text &&
    echo "axis 0: 2 values an index"
# what a sum in bf16 would lose, whatever is stored
for stored in pred pred.float16 pred.float32; do
    for reduce in stored bf16; do
        must tprof-analyze inspect "$dims/bbox_$stored.pt" \
            --reduce_dtype $reduce | grep -A1 'axis 1,'
    done
done
need python3
must tprof-analyze inspect "$dims/bbox_pred.pt" --format json > json
must tprof-analyze inspect "$dims/bbox_pred.float32.pt" --format json \
    --reduce-dtype bf16 > wide
python3 - << 'END'
import json
wide = json.load(open("wide"))["tensors"][0]["dims"][0]
print(round(wide["max_ratio"], 3), wide["risk_level"], wide["reduce_dtype"],
      wide["risks"])
tensor = json.load(open("json"))["tensors"][0]
print(tensor["shape"], tensor["dtype"], [d["axis"] for d in tensor["dims"]])
axis = tensor["dims"][0]
print(axis["dim_ratio"], axis["risk_level"], axis["outliers"], axis["dead"])
print(axis["suggestion"])
for index, its in sorted(axis["dim_stats"].items()):
    print(index, its["count"], its["min"], its["max"], its["mean"], its["std"],
          its["abs_max"], round(its["l2_norm"], 9))
END
