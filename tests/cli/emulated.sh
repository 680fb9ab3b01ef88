# SPDX-License-Identifier: MIT
# Tables of whole runs with an emulated device, sound or lost on the way, are
# those of the CPU.
need h5dump
emulated=${TPROF%/*}/tests/cli_emulated
[ -x "$emulated" ] || skip "no emulated device"
device_input in

export TP_EMULATOR_SHOW=1
for folder in cpu auto cuda; do
    run_tables "$emulated" $folder --device $folder
    echo "$folder: $(cat err)"
done
# Some calls after the device was opened for one job.
TP_EMULATOR_FAIL=90 run_tables "$emulated" lost --device cuda --jobs 1
echo "lost: $(cat err)"
[ "$(grep -c ^DATASET cpu/tables)" -gt 3 ] || echo "hardly a table"
for folder in auto cuda lost; do
    diff -r cpu $folder && echo "$folder is cpu"
done
# Other blocks, casts and statistics by index.
for folder in other_cpu other_cuda; do
    run_tables "$emulated" $folder --device ${folder#other_} --dims all \
        --block_axis 1 --mx_scale ceil --formats hif8,e4m3,mxfp4,nvfp4
    echo "$folder: $(cat err)"
done
diff -r other_cpu other_cuda && echo "other_cuda is other_cpu"
cmp -s cpu/tables other_cpu/tables && echo "nothing is other"
unset TP_EMULATOR_SHOW
"$emulated" list devices
"$emulated" --tensor_dir in --output_dir none --device cuda \
    --device_memory 1M 2>&1
echo "exit $?"
