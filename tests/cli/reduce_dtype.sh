# SPDX-License-Identifier: MIT
# What a sum is made in decides whether the requirements' example, stored in
# float32, is a finding; the table tells the risk of each dtype either way.
file=$srcdir/testdata/dims/bbox_pred.float32.pt
for reduce in stored bf16 fp16; do
    tprof-analyze "$file" --reduce_dtype $reduce --fail_on low --no_plots \
        --output_dir $reduce > $reduce.txt
    echo "$reduce: exit $?, $(grep -c 'HIGH in bfloat16' $reduce/findings.json)"
done
need h5dump
h5dump -H -d /dims bf16/summary.h5 |
    grep -E '"(dead|max_ratio|risk[a-z0-9_]*)"' | sed 's/.*"\(.*\)".*/\1/'
# risk, risk_fp16 and risk_bf16 of both axes, whatever decides
for reduce in stored bf16; do
    h5dump -d /dims $reduce/summary.h5 | grep -E '"(LOW|MEDIUM|HIGH)' |
        tr -d ' \n' | sed 's/\\000//g'
    echo
done
