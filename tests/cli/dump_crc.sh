# SPDX-License-Identifier: MIT
# CRC-32s of another dump of the same run, by numbers that zlib gave: equal, of
# bf16 also as float32; of a later content; and one that nothing explains.
must cp -r "$srcdir/testdata/msprobe/step0/proc4711" d
chmod -R u+w d
mkdir m
input=Functional.layer_norm.0.forward.input
# entry ARGUMENT CRC: an argument of the layer norm.
entry()
{
    printf '{"type": "torch.Tensor", "dtype": "torch.bfloat16", "md5": "%s"}' \
        "$1"
}
# other FIRST: a dump that says so of the first argument.
other()
{
    printf '{"task": "statistics", "level": "L1", "data": {"%s": ' \
        "${input%.input}"
    printf '{"input_args": [%s]}}}\n' "$(entry "$1")"
}
for crc in df6155cb e6c6160d; do # as it is, and as float32
    other $crc > m/dump.json
    must tprof-analyze dump d --crc_from m > printed
    grep 'of --crc_from' printed
done
other 00000000 > m/dump.json
tprof-analyze dump d --crc_from m > printed
echo $?
grep -A 2 "^  high    crc" printed
# Those of later contents are notes, which are shown as one.
norm=Module.blocks.0.norm.LayerNorm.forward.0
# two FIRST SECOND: of the inputs of the layer norm and of its module.
two()
{
    printf '{"data": {"%s": {"input_args": [%s]}, ' "${input%.input}" \
        "$(entry "$1")"
    printf '"%s": {"%s": [%s]}}}\n' "$norm" "$3" "$(entry "$2")"
}
two df6155cb 00000000 output > m/dump.json
tprof-analyze dump d --crc_from m --quiet
later=$(sed -n 's/.*,crc,high,00000000,//p' draw/dump_integrity.csv)
two "$later" df6155cb input_args > m/dump.json
must tprof-analyze dump d --crc_from m > printed
grep -c '^  low     crc' printed
grep -c 'other tensor.* was taken later' printed
two "$later" "$later" input_args > m/dump.json
must tprof-analyze dump d --crc_from m > printed
grep -c '^  low     crc' printed
grep -o '1 other tensor was taken later' printed
grep -c ',crc,low,' draw/dump_integrity.csv
must rm m/dump.json
tprof-analyze dump d --crc_from m
echo $?
tprof-analyze dump d --crc_from m/none
echo $?
