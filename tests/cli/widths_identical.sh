# SPDX-License-Identifier: MIT
# Tables, texts and pages do not depend on which instructions the processor has:
# AVX-512, AVX2 or none of these, over every dtype, several layouts and all
# number formats. One that the processor lacks is the best there is.
need h5dump
data=$srcdir/testdata
some_logs d 40
must cp "$data"/torch/good-*.pt "$data"/dims/*.pt d/
for shape in "2048 2048" "300 33" "16 4096"; do
    for dtype in bfloat16 float16 float32 float64 float8_e4m3fn; do
        # shellcheck disable=SC2086 # two numbers
        large_tensor "d/large_${dtype}_${shape/ /x}.pt" 0.5 $shape $dtype
    done
done
formats=$(tprof-analyze list dtypes |
    awk '/^number formats/ { on = 1 } on && $1 ~ /[0-9]/ && $1 != "id" &&
        $1 != "e8m0" { printf "%s%s", comma, $1; comma = "," }')
for width in portable avx2 avx512; do
    TPROF_ISA=$width tprof-analyze tensors d --formats "$formats" --no_plots \
        --jobs 2 --dims all --output_dir draw > printed 2> told
    echo "exit $?" >> printed
    must mv printed told draw/
    must mv draw $width
done
same portable avx2
same portable avx512
tail -n 1 portable/printed
echo "$(rows portable/summary.h5 quantization) casts," \
    "$(rows portable/summary.h5 dims) rows by index"
for width in portable avx2 avx512; do
    TPROF_ISA=$width tprof-analyze compare "$data/divergence/step1" \
        "$data/divergence/step2" --no_plots --output_dir draw > printed 2> told
    must mv printed told draw/
    find draw -name 'compare_result_*' -delete
    sed -i '/compare_result_/d' draw/printed draw/*report.txt
    must mv draw compare.$width
done
same compare.portable compare.avx2
same compare.portable compare.avx512
