# SPDX-License-Identifier: MIT
# Files that no editor would write: each is read as far as it goes, or named,
# and what stands beside what cannot be read is found.
many()
{
    head -c "$2" /dev/zero | tr '\0' "$1"
}
mkdir odd
{ printf 'x = '; many '(' 100000; many ')' 100000; printf '\nx.half()\n'; } \
    > odd/brackets.py
{ printf 'x = "'; many a 1000000; printf '"; x.half()\n'; } > odd/long.py
printf 'x = \0\ny.half()\n' > odd/nul.py
printf '\357\273\277x.half()\n' > odd/bom.py
printf 'if x:\r\n    x.half()\r\n' > odd/crlf.py
printf '# coding: latin-1\ns = "\351"\nx.half()\n' > odd/latin.py
: > odd/empty.py
: > odd/empty.json
: > odd/empty.sh
: > odd/empty.ipynb
many '[' 100000 > odd/brackets.ipynb
printf '\357\273\277{"cells": [{"cell_type": "code", "source": "x.half()"}]}' \
    > odd/bom.ipynb
{ printf '{"zero_optimization": '; many '[' 100000; } > odd/brackets.json
{ many '(' 100000; printf '\na --fp16 --bf16\n'; } > odd/brackets.sh
{ printf 'a --fp16 --bf16'; many ' ' 1000000; } > odd/long.sh
printf 'X="--fp16"\r\na --bf16 $X\r\n' > odd/crlf.sh
ln -s . odd/loop
ln -s nowhere odd/dangling.py
tprof-analyze check odd | sed -n '/^File/p; /^Line/p; /^Cell/p'
tprof-analyze check odd --quiet 2> /dev/null; echo "status $?"
