# SPDX-License-Identifier: MIT
# Training scripts: the text of the requirements byte for byte, its English
# twin, JSON, exit statuses, choosing rules, and files that cannot be read.
need jq
cp "$srcdir/testdata/check/model.py" .
tprof-analyze check model.py --lang zh > zh.txt || echo "status $?"
cat > want.txt << 'END'
File: model.py
Line 45: [HIGH] .half() call detected
  -> 手动类型转换可能绕过AMP保护
  -> 建议：删除.half()，使用with autocast()

Line 67: [HIGH] binary_cross_entropy usage
  -> 该函数在AMP中会报错
  -> 建议：改用binary_cross_entropy_with_logits
END
cmp zh.txt want.txt && echo "zh: as required"
tprof-analyze check model.py > en.txt
cat > want.txt << 'END'
File: model.py
Line 45: [HIGH] .half() call detected
  -> a cast by hand may go around what AMP protects
  -> suggestion: remove .half(), use with autocast()

Line 67: [HIGH] binary_cross_entropy usage
  -> this function raises an error under AMP on CUDA
  -> suggestion: use binary_cross_entropy_with_logits instead
END
cmp en.txt want.txt && echo "en: of the same form"

echo "-- which rules, which files"
tprof-analyze check model.py --select bce --format json |
    jq -c '.findings[] | [.file, .line, .column, .rule, .severity]'
tprof-analyze check . --ignore bce,half_call
tprof-analyze check model.py --select bcee; echo "unknown rule: $?"
mkdir empty && tprof-analyze check empty; echo "no script: $?"
tprof-analyze check nowhere.py; echo "no file: $?"
tprof-analyze check; echo "no argument: $?"
tprof-analyze check model.py --quiet --fail_on high; echo "fail_on: $?"
tprof-analyze check model.py --quiet --fail_on high --ignore bce,half_call
echo "fail_on without: $?"

echo "-- what cannot be read"
printf 'print "old"\nx.half()\n' > old.py
printf 'x.half()\ny = \0 1\n' > nul.py
printf 'x = (1,\n' > open.py
printf 'x.half()\n' > script # named: read, whatever its name is
tprof-analyze check old.py nul.py open.py script > out.txt
echo "status $?"
grep -c 'Line [12]: \[HIGH\]' out.txt
tprof-analyze check open.py --format json 2> err.txt |
    jq -c '.skipped[] | [.file, .line, .reason]'

echo "-- many files, any number of jobs"
for i in $(seq 40); do
    sed "s/^import torch/# $i\n&/" model.py > "many$i.py"
done
tprof-analyze check many*.py --jobs 1 > one.txt
tprof-analyze check many*.py --jobs 4 > four.txt
cmp one.txt four.txt && grep -c '^Line' one.txt
