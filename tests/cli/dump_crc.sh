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
must rm m/dump.json
tprof-analyze dump d --crc_from m
echo $?
tprof-analyze dump d --crc_from m/none
echo $?
