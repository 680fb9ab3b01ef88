# SPDX-License-Identifier: MIT
# What a process that was killed left while it wrote a state is removed by the
# next run with this state, but not what belongs to others.
[ "$(uname)" = Linux ] || skip "only Linux names its machine"
need cc
! is_sanitized || skip "a sanitizer comes first"
some_logs d 3
mkdir t
make_trace t/a.json
# ended where the state would get its name
cat > preload.c << 'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int rename(const char *from, const char *to)
{
    raise(SIGKILL);
    return 0;
}
C
must cc -shared -fPIC -o killed.so preload.c
for what in tensors trace; do
    [ $what = tensors ] && in=d || in=t
    (LD_PRELOAD=$PWD/killed.so exec tprof-analyze $what $in --no_plots --quiet \
        --output_dir out --state s) &
    { wait $!; } 2> /dev/null
    echo "killed: $?"
    left=$(find . -maxdepth 1 -name '.s.*.tmp' | wc -l)
    other=$(find . -maxdepth 1 -name '.s.*.tmp' | sed 's/\.s\./.other./')
    touch .s.00000000.1.tmp "$other"
    must tprof-analyze $what $in --no_plots --quiet --output_dir out --state s
    echo "$left left, then $(find . -maxdepth 1 -name '.s.*' -printf '%f ')"
    [ -e "$other" ] || echo "that of another is gone"
    rm s .s.* "$other"
done
