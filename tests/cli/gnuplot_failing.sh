# SPDX-License-Identifier: MIT
# A gnuplot that fails leaves scripts and tables, and no half picture.
some_logs d 6
mkdir bin
printf '#!/bin/sh\necho broken >&2\nexit 3\n' > bin/gnuplot
chmod +x bin/gnuplot
PATH=$PWD/bin:$PATH tprof-analyze --tensor_dir d --output_dir out > text
echo $?
find out -name '*.gp' | grep -q . || echo "no scripts"
find out -name '*.tsv' | grep -q . || echo "no tables"
find out -name '*.png*'
