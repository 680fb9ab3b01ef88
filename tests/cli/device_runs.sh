# SPDX-License-Identifier: MIT
# Tables of whole runs on a device are those of the CPU.
need h5dump
why=$(tprof-analyze list devices | sed -n 's/^  cuda  *none: //p')
[ -z "$why" ] || skip "no CUDA device: $why"
device_input in
for folder in cpu cuda; do
    run_tables tprof-analyze $folder --device $folder
    cat err
done
[ "$(grep -c ^DATASET cpu/tables)" -gt 3 ] || echo "hardly a table"
diff -r cpu cuda && echo "cuda is cpu"
