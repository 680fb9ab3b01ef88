# SPDX-License-Identifier: MIT
# Colours on a terminal that has some, and was not asked to have none.
need_terminal
mkdir d
must cp "$srcdir"/testdata/torch/good-*.pt d/
coloured()
{
    on_terminal "$1 tprof-analyze --tensor_dir d --no_plots" > text
    grep -q 'high' text || echo "no finding"
    grep -c $'\033' text
}
[ "$(coloured 'NO_COLOR= TERM=xterm')" -gt 0 ] || echo "no colours"
coloured 'NO_COLOR= TERM=dumb'
coloured 'NO_COLOR=1 TERM=xterm'
exit 0
