# SPDX-License-Identifier: MIT
# Paths and options that name no dump, no step, no number.
dump=$srcdir/testdata/msprobe
mkdir empty
for args in none empty "$dump/../logs" "$dump --step 7" "$dump --rank 3" \
    "$dump --step x" "$dump --verify some" "$dump --step"; do
    # shellcheck disable=SC2086
    tprof-analyze dump $args
    echo $?
done
tprof-analyze dump
echo $?
ls
