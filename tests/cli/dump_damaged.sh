# SPDX-License-Identifier: MIT
# Whatever is done to a dump is named, and the status is 3; what is put back is
# well again. Bytes of tensors, their files, and dump.json cut at many places.
dump=$srcdir/testdata/msprobe
cp -r "$dump" d
chmod -R u+w d
place=d/step0/proc4711
files=$place/dump_tensor_data

# damaged NAME CHECK...: the status is 3, and these findings are there.
damaged()
{
    local status check name=$1
    tprof-analyze dump d --quiet
    status=$?
    [ $status -eq 3 ] || echo "$name: status $status"
    shift
    for check; do
        grep -q ",$check," draw/dump_integrity.csv ||
            { echo "$name: no $check"; cat draw/dump_integrity.csv; }
    done
}

# back NAME: as it was.
back()
{
    must cp "$dump/step0/proc4711/$1" "$place/$1"
}

# flip FILE BYTE: changes one bit.
flip()
{
    local byte
    byte=$(od -A n -t u1 -j "$2" -N 1 "$1")
    printf "%b" "\\0$(printf %o $((byte ^ 16)))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2> dd.err || cat dd.err
}

count=0
for name in "$files"/*forward.0.output*.pt "$files"/Torch.*.input.0.pt; do
    [ -f "$name" ] || continue
    base=${name##*/}
    # the bytes of a storage begin at 64, 128, ... behind their record's name
    at=$(grep -a -b -o '/data/0FB' "$name" | head -n 1 | cut -d: -f1)
    [ -n "$at" ] || continue
    flip "$name" $(((at + 64) / 64 * 64))
    damaged "byte of $base" damaged_file
    back "dump_tensor_data/$base"
    rm "$name"
    damaged "no $base" missing_file
    head -c 700 "$dump/step0/proc4711/dump_tensor_data/$base" > "$name"
    damaged "cut $base" damaged_file
    back "dump_tensor_data/$base"
    count=$((count + 3))
done
[ $count -ge 9 ] || echo "only $count files"

a=Functional.linear.0.forward.output.0.pt
b=Functional.layer_norm.0.forward.output.0.pt
cp "$files/$a" swapped
cp "$files/$b" "$files/$a"
cp swapped "$files/$b"
damaged swapped renamed_file statistics
grep -c -e "${a%.pt},statistics,high" -e "${b%.pt},statistics,high" \
    draw/dump_integrity.csv
back "dump_tensor_data/$a"
back "dump_tensor_data/$b"

size=$(wc -c < "$place/dump.json")
for at in 0 1 7 30 $((size / 7)) $((size / 3)) $((size / 2)) $((size - 9)) \
    $((size - 2)) $((size - 1)); do
    head -c "$at" "$dump/step0/proc4711/dump.json" > "$place/dump.json"
    damaged "json of $at bytes" json
done
# of another step: the names are the same, the numbers are not
cp "$dump/step1/proc4711/dump.json" "$place/dump.json"
damaged "stale json" statistics
echo '{"task": "tensor", "level": "mix", "data": {}}' > "$place/dump.json"
damaged "no data" json
rm "$place/dump.json"
damaged "no json" json
tprof-analyze dump d/step0 --recover > printed
echo "$? $(grep -c '; known by files only: ' printed)"
back dump.json
echo '{"A": "B", "B": "A"}' > "$place/construct.json"
damaged circle tree
back construct.json
cp "$files/$a" "$files/Torch.none.0.forward.output.0.pt"
damaged orphan orphan_file
rm "$files/Torch.none.0.forward.output.0.pt"
must tprof-analyze dump d --quiet
rm -r d/step1/proc4711/dump_tensor_data
tprof-analyze dump d > printed
echo $?
grep -c '^  medium  missing_file' printed
