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
