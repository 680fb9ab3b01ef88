# SPDX-License-Identifier: MIT
# What cannot be compared is said, and leaves no folder.
dump=$srcdir/testdata/msprobe
try()
{
    tprof-analyze compare "$@" --output_dir out 2>&1
    echo "exit $?"
}
try "$dump"
try "$dump" "$dump" "$dump"
try "$dump/step0" "$dump/step1" --mode md5
try "$dump" "$dump" --step 7
mkdir empty
try empty "$dump"
mkdir other
cp -r "$dump/step0/proc4711" other/rank1
cp -r "$dump/step0/proc4711" other/rank2
mkdir one
cp -r "$dump/step0/proc4711" one/rank0
cp -r "$dump/step0/proc4711" one/rank3
try other one
ls
