# SPDX-License-Identifier: MIT
# A saved iteration that lacks a tensor is named, with the tensor; one that was
# cut off at the end, too; of a run as it was saved nothing is said.
need jq
notes()
{
    tprof-analyze "$1" --no_plots --output_dir out --format json > json
    echo "$1: exit $?"
    jq -r '.notes[] | select(test("lack"))' json
}
cp -R "$logs/mxfp8" run
chmod -R u+w run
notes run
rm run/*_iter003_attention_L2_forward_*_rank01_*_query.pt
notes run
# rank 0 alone, stopped in its last backward pass
mkdir alone
mv run/*_rank00_* alone
find alone -name '*_iter007_*_backward_*' | sort | tail -n 5 | xargs rm
notes alone
: > "$(find alone -name '*_iter002_*_query.pt' | head -n 1)"
notes alone
