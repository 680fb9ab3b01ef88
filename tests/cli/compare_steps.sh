# SPDX-License-Identifier: MIT
# Two steps that differ: the second starts from what the first left; checksums
# of two kinds; a figure of errors from small to huge.
need gnuplot
call() { # NAME INPUT OUTPUT [MD5]
    for value in "$2" "$3"; do
        printf '{"type": "torch.Tensor", "dtype": "torch.float32", '
        printf '"shape": [2], "Max": %s, "Min": 0, "Mean": 0, ' "$value"
        printf '"Norm": %s, "md5": "%s"}\n' "$value" "${4:-$value}"
    done | jq -sc --arg name "$1" '{($name): {input_args: [.[0]],
        input_kwargs: {}, output: [.[1]]}}'
}
run() { # FOLDER
    mkdir -p "$1"
    jq -sc '{task: "statistics", level: "L1", data: add}' > "$1/dump.json"
}
need jq
{ call Torch.exp.0.forward 1 2; call Torch.log.0.forward 2 3; } | run b/step0
call Torch.exp.0.forward 2 3 | run b/step1
{ call Torch.exp.0.forward 1 2; call Torch.log.0.forward 2 3.1; } | run a/step0
call Torch.exp.0.forward 2.1 3e9 | run a/step1
must tprof-analyze compare a b --mode statistics --output_dir out > text
grep -A 2 '^First difference' text
grep -c 'largest relative error \[1, log10\]' \
    out/comparisons/error_by_module.gp
echo "the second step alone"
must tprof-analyze compare a b --mode statistics --step 1 --no_plots \
    --output_dir one | grep -A 1 '^First difference'
call Torch.exp.0.forward 1 2 0badcafe | run crc
call Torch.exp.0.forward 1 2 0x12 | run xor
tprof-analyze compare crc xor --mode md5 --output_dir none
echo "exit $?"
