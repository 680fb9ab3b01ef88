# SPDX-License-Identifier: MIT
# Findings of a dump beside the scripts of its run: line 42 of the script that
# made it is where its NaN comes from.
dump=$srcdir/testdata/msprobe
said()
{
    tprof-analyze dump "$dump" --quiet --format json "$@" |
        tr '\n' ' ' | grep -o 'Called in File[^"]*'
}
mkdir -p run/sub empty
{
    echo 'import torch'
    seq 38 | sed 's/^/# /'
    printf 'def f(x):\n    return torch.log(\n        torch.softmax(x, -1),\n'
    printf '        out=x)\n'
} > run/make_msprobe_dump.py
sed -n 42p run/make_msprobe_dump.py
said
echo "-- a finding in the statement"
said --scripts run
echo "-- none"
sed -i 's/torch.softmax(x, -1)/x/' run/make_msprobe_dump.py
said --scripts run
echo "-- two scripts that may be meant, and no script"
cp run/make_msprobe_dump.py run/sub
said --scripts run
tprof-analyze dump "$dump" --quiet --scripts empty; echo "status $?"
