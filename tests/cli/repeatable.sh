# SPDX-License-Identifier: MIT
# Twice into the same folder: the same bytes, whatever the hour, and no
# leftovers.
some_logs d 6
must tprof-analyze --tensor_dir d --output_dir out > first
cp -r out before
sleep 1.1
must tprof-analyze --tensor_dir d --output_dir out > second
cmp first second
diff -r --exclude='*.png' out before
find out -name '*.tmp*' -o -name '.*' -type f
