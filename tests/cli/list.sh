# SPDX-License-Identifier: MIT
for what in formats stats dtypes figures rules checks damage ops names \
    commands devices gpus; do
    tprof-analyze list $what > $what || echo "list $what: $?"
    [ -s $what ] || echo "list $what: empty"
done
grep -q torch_zip formats || echo "no torch_zip"
grep -q bfloat16 dtypes || echo "no bfloat16"
grep -A 1 '^  band ' damage | grep -q 'likely memory that something else' ||
    echo "no cause of a band"
grep -q '^  iter_S ' names || echo "no iter_S"
grep -q '^  moment_2 ' names || echo "no moment_2"
tprof-analyze list > all
[ "$(wc -l < all)" -ge "$(cat stats formats | wc -l)" ] || echo "short list"
tprof-analyze list nothing > out 2> err
echo $?
[ ! -e draw ]
