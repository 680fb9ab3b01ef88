# SPDX-License-Identifier: MIT
# Each is a usage error that names the option and writes nothing.
mkdir d
for words in "--jobs 0" "--jobs x" "--jobs -3" "--jobs 99999999999" \
    "--plot_format bmp" "--format yaml" "--fail_on maybe" "--device tpu" \
    "--device_memory 0" "--device_memory 3T" "--device_memory 2KM" \
    "--device_memory 1025G" "--memory_limit 0" "--memory_limit x" \
    "--formats hif8,fp7" "--min_sqnr -1" "--max_underflow x" \
    "--max_underflow 100.1" "--formats none,hif8" "--formats hif8," \
    "--rounding rne" "--mx_scale round" "--baseline later" \
    "--warmup_steps 0" "--alert_window 1000000001" "--sigma 0.5" \
    "--output_dir" "--tensor_dir" "--jobs"; do
    # shellcheck disable=SC2086 # two words
    tprof-analyze --tensor_dir d $words > out 2> err
    echo "$words: $? $(grep -c -e "${words%% *}" err | sed 's/[1-9].*/named/')"
    [ ! -s out ] || echo "printed on stdout"
    [ ! -e draw ] || echo "made draw"
done
