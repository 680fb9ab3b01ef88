# SPDX-License-Identifier: MIT
# Scripts and tables are still written, with one warning.
some_logs d 6
mkdir empty
PATH=$PWD/empty "$TPROF" --tensor_dir d --output_dir out > text
echo $?
find out -name '*.gp' | grep -q . || echo "no scripts"
find out -name '*.tsv' | grep -q . || echo "no tables"
find out -name '*.png'
