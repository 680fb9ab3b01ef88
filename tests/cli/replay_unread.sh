# SPDX-License-Identifier: MIT
# Files that are none of tensors, are cut, or have another shape than the dump
# says: named, with the reason and the byte. Arguments that contradict a result.
# Steps that are not there. A mode of the command line brings its device.
must cp -r "$srcdir/testdata/replay/step0" dump
chmod -R u+w dump
data=$(echo dump/*/dump_tensor_data)
json=$(echo dump/*/dump.json)
must echo "no tensor" > "$data/Torch.topk.0.forward.input.0.pt"
must head -c 500 "$data/Torch.sort.0.forward.input.0.pt" > cut
must mv cut "$data/Torch.sort.0.forward.input.0.pt"
must cp "$data/Functional.layer_norm.1.forward.input.0.pt" \
    "$data/Torch.triu.0.forward.output.0.pt"
repeat='"Tensor.repeat.0.forward"[^]]*], *[^]]*"value": '
must tr -d '\n' < "$json" |
    sed "s/\\($repeat\\)2/\\11099511627776/" > changed
must mv changed "$json"
tprof-analyze replay dump --no_plots --output_dir out |
    sed -n '/^Forward/p;/^Not computed/,/^$/p'
echo "exit ${PIPESTATUS[0]}"
grep -o '<p class="lead"><b>.*' out/replay_report.html
tprof-analyze replay dump --step 99 --output_dir out
echo "exit $?"
echo '{"task": "free_benchmark", "free_benchmark": {"fuzz_device": "cpu"}}' \
    > config.json
must tprof-analyze replay dump --config config.json --pert_mode to_cpu \
    --no_plots --output_dir out | sed -n '/^Perturbed/,/^$/p'
