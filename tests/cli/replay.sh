# SPDX-License-Identifier: MIT
# A dump whose operators are right, and one with a softmax in fp16: what is
# found, what is written, that threads change nothing; msprobe's config.json and
# its contradictions; what is refused.
# The example of msprobe's documentation, blanks at the ends of lines included.
must cp "$srcdir/tests/fuzz/fuzz_replay_config.corpus/example" config.json
dumps=$srcdir/testdata
for jobs in 1 3; do
    must tprof-analyze replay "$dumps/replay" --pert_mode all --jobs $jobs \
        --compat msprobe --fail_on low --output_dir out --no_plots \
        > printed$jobs
    must mv out out$jobs
    h5dump -d /replay -d /free_benchmark out$jobs/replay.h5 |
        tail -n +2 > tables$jobs
    rm out$jobs/replay.h5
done
diff tables1 tables3 && diff -r out1 out3 > /dev/null && echo "no difference" ||
    echo "jobs differ"
ls out1
sed -n '3p;/^Forward/p;/^Perturbed/,/^$/p' printed1
head -n 1 out1/free_benchmark.csv | tr -d '\r'
tr -d '\r' < out1/free_benchmark.csv | grep -F Functional.linear.0. |
    head -n 2
grep -c ',replayed,$' out1/replay_coverage.csv
tprof-analyze replay "$dumps/divergence" --fail_on high --output_dir bad > text
echo "exit $?"
grep 'wrong_result:' text
must tprof-analyze replay "$dumps/divergence/step2" --fail_on high \
    --output_dir right > text
grep '^Findings' text
# By our own rules a flag means that rounding grows, not that a bit moved.
must tprof-analyze replay "$dumps/replay" --pert_mode all --output_dir own |
    sed -n '/^Perturbed/,/^$/p'
echo "config"
must tprof-analyze replay "$dumps/replay" --config config.json \
    --output_dir config > text
sed -n '/^Perturbed/,/^$/p' text
must tprof-analyze replay "$dumps/replay" --config config.json --verbose \
    --pert_mode bit_noise,change_value --scope Torch.square.0.forward \
    --output_dir config | grep '^\[msprobe\]'
must tprof-analyze replay "$dumps/replay" --pert_mode add_noise --verbose \
    --list arange,Tensor.masked_fill,Torch.eq --output_dir config |
    grep '^\[msprobe\]'
echo "backward, fix, preheat"
must tprof-analyze replay "$dumps/msprobe" --list relu,linear --fail_on high \
    --fuzz_stage backward --pert_mode all --output_dir backward > text
grep '^Perturbed' text
must tprof-analyze replay "$dumps/divergence" --step 1 --handler_type fix \
    --fuzz_device cpu --pert_mode to_cpu --output_dir fix > text
sed -n '/^Results/,/softmax.*matmul/p' text
grep softmax fix/replay_fix.csv | cut -d , -f 1-7
must tprof-analyze replay "$dumps/divergence" --if_preheat --compat msprobe \
    --pert_mode bit_noise --list softmax --verbose --output_dir preheat |
    grep '^\[msprobe'.*preheat
echo "refused"
refuse()
{
    tprof-analyze replay "$dumps/replay" --output_dir none "$@" 2>&1
    echo "exit $?"
}
refuse --handler_type fix --pert_mode add_noise
refuse --fuzz_device cpu
refuse --fuzz_stage backward
refuse --fuzz_stage backward --list relu --handler_type fix
refuse --fuzz_device npu --pert_mode to_cpu
refuse --pert_mode to_cpu
sed 's/improve_precision/to_cpu/' config.json > wrong.json
refuse --config wrong.json
sed 's/"level": "L1"/"level": "L0"/' config.json > wrong.json
refuse --config wrong.json
refuse --if_preheat
refuse --list nothing
sed 's/"preheat_step"/"preheat"/' config.json > wrong.json
refuse --config wrong.json
echo '{"task": "free_benchmark",' > wrong.json
refuse --config wrong.json | sed 's/: byte.*//'
refuse --config absent.json
mkdir statistics
cp "$dumps"/replay/step0/*/dump.json statistics
tprof-analyze replay statistics --output_dir none 2>&1
echo "exit $?"
[ ! -e none ]
# of a json that is cut, what came before is replayed
cp -r "$dumps/replay" cut
chmod -R u+w cut
json=$(echo cut/step0/*/dump.json)
head -c 2000 "$json" > text && mv text "$json"
tprof-analyze replay cut --no_plots --output_dir cut_draw |
    grep -A 1 -e '^Damaged' -e '^Forward'
echo "exit ${PIPESTATUS[0]}"
