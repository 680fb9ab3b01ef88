# SPDX-License-Identifier: MIT
# A real run with a known fault (dumps/README.md): on rank 1, from iteration
# 32 on, the third linear input of layer 2 is scaled up. It comes first, and
# what is healthy has nothing of medium severity or more.
need jq tar
run=${TP_SHARED:-nowhere}/dumps/tensor_saver/training_run.tar.gz
[ -f "$run" ] || skip "no training run in TP_SHARED"
must tar -xzf "$run"
dir=$(dirname "$(find . -type d -name mxfp8)")
for part in mxfp8 hifp8 bf16 .; do
    must tprof-analyze --tensor_dir "$dir/$part" --no_plots --quiet \
        --output_dir out
    echo "$part"
    jq -r '.findings[] | select(.severity == "high") |
        "  \(.quant_type) rank \(.rank) iteration \(.iteration) " +
        "L\(.layer_idx) \(.layer_type) \(.operation) \(.phase) " +
        "\(.tensor_name) \(.ordinal)"' out/findings.json
    jq -r '.findings[] | select(.severity == "high") | "  " + .evidence' \
        out/findings.json
    jq -r '[.findings[] | select(.severity != "low") |
        select(.rank == 0 or .quant_type == "bf16" or .iteration < 32)] |
        "  \(length) of the healthy part"' out/findings.json
    size=$(wc -c < out/report.html)
    [ "$size" -le 5000000 ] || echo "  a page of $size bytes, without figures"
done
