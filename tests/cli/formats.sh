# SPDX-License-Identifier: MIT
# --formats: its words, what it adds to the summary, and that none adds nothing.
some_logs d 4
tprof-analyze d --no_plots --formats hif8,fp7 > out 2> err
echo "$? $(grep -c 'fp7.*mxfp8_e4m3.*nvfp4' err)"
must tprof-analyze d --no_plots --formats none --output_dir none > none.txt
grep -c SQNR none.txt
must tprof-analyze d --no_plots --formats hif8,mxfp4 --output_dir two > two.txt
grep 'SQNR by format' two.txt
must tprof-analyze d --no_plots --format json > json
grep -c '"recommendations": \[' json
# 12 columns fit; only formats that files name are no columns
many=fp16,bf16,e4m3,e5m2,e4m3fnuz,e5m2fnuz,hif8,e3m2,e2m3,e2m1,mxfp4,nvfp4
must tprof-analyze d --no_plots --formats $many --output_dir 12 > 12.txt
grep -c 'more format' 12.txt
must tprof-analyze d --no_plots --formats $many,mxfp8_e4m3,mxfp8_e5m2 \
    --output_dir 14 > 14.txt
grep 'more format' 14.txt
must tprof-analyze d --no_plots --formats named --output_dir named > named.txt
grep -c 'SQNR by format' named.txt
must tprof-analyze list dtypes | grep '^  e8m0 '
