# SPDX-License-Identifier: MIT
# Files with code beside Python scripts: notebooks.
need jq
cp "$srcdir/testdata/check/cells.ipynb" .
echo "-- a notebook"
tprof-analyze check cells.ipynb
tprof-analyze check cells.ipynb --format json |
    jq -c '.findings[] | [.file, .cell, .line, .column, .rule]'
echo "-- one without findings, one of another language, one that is damaged"
mkdir books
jq 'del(.cells[3, 4])' cells.ipynb > books/good.ipynb
jq '.metadata.language_info.name = "julia"' cells.ipynb > books/julia.ipynb
tprof-analyze check books
tprof-analyze check books/julia.ipynb; echo "named: $?"
head -c 300 cells.ipynb > books/cut.ipynb
mkdir -p books/.ipynb_checkpoints
cp cells.ipynb books/.ipynb_checkpoints/cells-checkpoint.ipynb
tprof-analyze check books; echo "damaged: $?"
