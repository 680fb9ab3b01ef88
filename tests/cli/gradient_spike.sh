# SPDX-License-Identifier: MIT
# The requirements' own alert, through files: gradients of norm 2.1 +- 0.5, at
# least 0.3, and 15.6 in step 305 of 310; by each baseline, and the same run
# without it. Each file is one of the old format whose eight values are written
# anew: plus and minus the norm by the root of 8.
need jq
head -c 337 "$srcdir/testdata/torch/good-count-big-endian.legacy.pt" > head

# norms SPIKE: the values' magnitude in each step, as the four octal bytes of
# +x and of -x; Park and Miller's numbers, made normal by Box and Muller.
norms()
{
    awk -v spike="$1" '
    function even() { state = state * 16807 % 2147483647
                      return state / 2147483647 }
    function bytes(x, sign, e, m) {
        for (e = 127; x >= 2; e++) x /= 2
        for (; x < 1; e--) x *= 2
        m = int((x - 1) * 8388608)
        return sprintf("\\%03o\\%03o\\%03o\\%03o", m % 256,
                       int(m / 256) % 256, int(m / 65536) + e % 2 * 128,
                       sign * 128 + int(e / 2))
    }
    BEGIN {
        state = 20260601
        for (step = 0; step < 310; step++) {
            norm = 2.1 + 0.5 * sqrt(-2 * log(even())) * cos(6.2831853 * even())
            norm = step == 305 && spike ? spike : norm < 0.3 ? 0.3 : norm
            print bytes(norm / sqrt(8), 0) bytes(norm / sqrt(8), 1)
        }
    }'
}

# save FOLDER SPIKE
save()
{
    local step=0 pair name
    mkdir "$1"
    norms "$2" | while read -r pair; do
        printf -v name '20260601_000000_%04d_iter%03d_%s' "$step" "$step" \
            linear_L1_backward_pre_linear_bf16_rank00_input.pt
        { cat head; printf "$pair$pair$pair$pair"; } > "$1/$name"
        step=$((step + 1))
    done
}

save ill 15.6
save well 0
for baseline in retro online rolling; do
    for run in ill well; do
        must tprof-analyze "$run" --baseline $baseline --no_plots \
            --output_dir out > text
        echo "$run, $baseline:"
        jq -r '.findings[] | select(.rule == "onset") |
            "\(.severity) \(.iteration) \(.tensor_name)"' out/findings.json
        grep '^\[ALERT\] Step 305 .* grad_norm' text || echo "no such alert"
    done
done
