# SPDX-License-Identifier: MIT
# Files with code beside Python scripts: notebooks, shell scripts that start
# runs, configurations of DeepSpeed.
need jq
cp "$srcdir/testdata/check/cells.ipynb" .
echo "-- a notebook"
tprof-analyze check cells.ipynb
tprof-analyze check cells.ipynb --format json |
    jq -c '.findings[] | [.file, .cell, .line, .column, .rule]'
echo "-- one without findings, one of another language, one that is damaged"
mkdir books
jq 'del(.cells[3, 4])' cells.ipynb > books/good.ipynb
jq '.metadata.language_info.name = "julia"' cells.ipynb > books/julia.ipynb
tprof-analyze check books
tprof-analyze check books/julia.ipynb; echo "named: $?"
head -c 300 cells.ipynb > books/cut.ipynb
mkdir -p books/.ipynb_checkpoints
cp cells.ipynb books/.ipynb_checkpoints/cells-checkpoint.ipynb
tprof-analyze check books; echo "damaged: $?"
echo "-- options of a run"
mkdir runs
cp "$srcdir/testdata/check/bad-fp16_and_bf16.sh" runs/start.sh
cat > runs/ds.json << 'END'
{
  "train_micro_batch_size_per_gpu": "auto",
  "fp16": {
    "enabled": true,
    "loss_scale": 128
  },
  "bf16": {"enabled": true}, "communication_data_type": "fp16",
  "data_types": {"grad_accum_dtype": "fp32"}
}
END
cp runs/ds.json cut.json
echo '{"fp16": true, "bf16": [1], "enabled": 3}' > runs/other.json
echo '"enabled" {' > runs/broken.json
tprof-analyze check runs | grep -v '^  ->'
tprof-analyze check runs --format json |
    jq -c '.scripts, (.findings[] | [.file, .line, .column, .rule])'
jq '.fp16.enabled = "auto" | .communication_data_type = "fp32"' runs/ds.json \
    > auto.json
tprof-analyze check auto.json
head -c 200 cut.json > broken.json
tprof-analyze check broken.json; echo "damaged: $?"
tprof-analyze check runs/other.json; echo "named: $?"
