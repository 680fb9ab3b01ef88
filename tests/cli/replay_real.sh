# SPDX-License-Identifier: MIT
# What msprobe's free_benchmark wrote in six runs on a CPU, against the replay
# of a dump of the same model: the same verdicts, and the same max_rel but where
# the kernel sums in its own way (bf16 matmul, layer_norm, gelu). Rows of
# msprobe are taken before its second dropout, which it ran again and so changed
# its run, and of the CNN, which has data of its own; without dropout (random)
# and what works in place (run again on what it had changed).
shared=${TP_SHARED:-$srcdir/../shared}/dumps/msprobe
[ -d "$shared" ] || skip "no $shared"
for name in tensor_L1_v26 tensor_L1_v26_bf16 tensor_mix_v8.3 overflow_check_v8.3
do
    must tar xzf "$shared/$name.tar.gz"
    must chmod -R u+w "$name"
    must tprof-analyze replay "$name" --pert_mode all --fail_on high \
        --compat msprobe \
        --output_dir "out_$name" > printed
    echo "$name: $(grep '^Forward' printed)"
    grep -o '^  medium .*:' printed
done
must tprof-analyze replay tensor_L1_v26_bf16 --step 0 --pert_mode all \
    --compat msprobe \
    --output_dir out > printed
head -n 1 out/free_benchmark.csv | cmp - <(head -n 1 \
    "$shared/expected/free_benchmark/to_cpu_step0.csv") && echo "same header"

# Calls of which msprobe's rows are an oracle.
awk -F , '
    $1 == "Functional.dropout.1.forward" { late = 1 }
    $1 == "Functional.conv2d.0.forward" { cnn = 1 }
    (!late || cnn) && $1 !~ /dropout|__setitem__|[a-z]_\.|api_name/ { print $1 }
    $1 == "Functional.cross_entropy.1.forward" { cnn = 0 }' \
    out/replay_coverage.csv > calls
echo "$(wc -l < calls) calls"

# keys FILE...: "mode api index max_rel dtype shape" of these calls.
keys()
{
    cat "$@" | tr -d '\r' | awk -F , '
        NR == FNR { chosen[$1] = 1; next }
        $5 in chosen {
            index_of = $NF
            shape = $0
            for (i = 0; i < 7; i++)
                sub(/^[^,]*,/, "", shape)
            sub(/,[^,]*$/, "", shape)
            print $2 " " $5 " " index_of "|" ($6 == "" ? "-" : $6) "|" $7 \
                "|" shape
        }' calls - | LC_ALL=C sort
}
keys "$shared"/expected/free_benchmark/*_step0.csv > expected
keys out/free_benchmark.csv > got
for mode in add_noise bit_noise change_value improve_precision no_change to_cpu
do
    echo "$mode: $(grep -c "^$mode " expected) of msprobe, $(grep -c \
        "^$mode " got) of the replay"
done
cut -d '|' -f 1,3- expected > left
cut -d '|' -f 1,3- got > right
diff left right && echo "verdicts, dtypes and shapes are equal"
paste -d '|' expected got | awk -F '|' '
    { split($1, key, " "); a = $2; b = $6; d = a - b; if (d < 0) d = -d
      if (a != b && !(a ~ /^[0-9]/ && b ~ /^[0-9]/ && d <= 1e-6)) {
          split(key[2], api, ".")
          print "  another max_rel: " key[1] " " api[1] "." api[2] "." api[3]
      } else same++ }
    END { print same " of " NR " alike" }'
