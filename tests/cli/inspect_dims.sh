# SPDX-License-Identifier: MIT
# What inspect says of the axes of a tensor; the numbers are those that
# tests/make_dims_file.py printed.
must tprof-analyze inspect "$srcdir/testdata/dims/bbox_pred.pt" > text
sed -n '/axis 1/,$p' text
grep -c "axis 0, 1000 indices: dim_ratio .* risk_level HIGH" text
grep -q "on its own (with 2 values an index, chance" text &&
    echo "axis 0: 2 values an index"
need python3
must tprof-analyze inspect "$srcdir/testdata/dims/bbox_pred.pt" \
    --format json > json
python3 - << 'END'
import json
tensor = json.load(open("json"))["tensors"][0]
print(tensor["shape"], tensor["dtype"], len(tensor["dims"]))
axis = tensor["dims"][1]
print(axis["dim_ratio"], axis["risk_level"], axis["outliers"], axis["dead"])
print(axis["suggestion"])
for index, its in sorted(axis["dim_stats"].items()):
    print(index, its["count"], its["min"], its["max"], its["mean"], its["std"],
          its["abs_max"], round(its["l2_norm"], 9))
END
