# SPDX-License-Identifier: MIT
for what in formats stats dtypes figures rules commands devices; do
    tprof-analyze list $what > $what || echo "list $what: $?"
    [ -s $what ] || echo "list $what: empty"
done
grep -c torch_zip formats
grep -c bfloat16 dtypes
tprof-analyze list > all
[ "$(wc -l < all)" -ge "$(cat stats formats | wc -l)" ] || echo "short list"
tprof-analyze list nothing > out 2> err
echo $?
ls | grep -x draw
