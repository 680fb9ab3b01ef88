#!/bin/bash
# SPDX-License-Identifier: MIT
# Configure chose what the compiler takes against damaged memory; it is in the
# program, as readelf and nm see it, which has no function that opens a socket
# of a network or starts a shell. (With CUDA it has: the CUDA runtime is linked
# statically.) Needs: TPROF, builddir, CC, HARDENING (the flags that were
# chosen), NVCC.

command -v readelf > /dev/null && command -v nm > /dev/null || {
    echo "skipped: no readelf or nm"
    exit 77
}
[ -n "${HARDENING// /}" ] || {
    echo "skipped: configured without"
    exit 77
}
passed=0 failed=0

for flag in -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
    -fstack-clash-protection -fcf-protection -fPIE -pie -Wl,-z,relro \
    -Wl,-z,now -Wl,-z,noexecstack; do
    case " $HARDENING " in *" $flag "*) continue ;; esac
    # shellcheck disable=SC2086 # CC may be "ccache gcc"
    if echo 'int main(void) { return 0; }' |
        ${CC:-cc} -Werror -O1 -U_FORTIFY_SOURCE "$flag" -x c - -o /dev/null \
            2> /dev/null; then
        echo "FAIL $flag: the compiler takes it, and it was not chosen"
        failed=$((failed + 1))
    fi
done

# has FLAG WORDS -- COMMAND...: where the flag was chosen, what the command
# prints has these words.
has()
{
    local flag=$1 words=$2
    shift 3
    case " $HARDENING " in *" $flag "*) ;; *) return ;; esac
    if "$@" 2> /dev/null | grep -q -e "$words"; then
        passed=$((passed + 1))
    else
        echo "FAIL $flag: \`$*\` has no '$words'"
        failed=$((failed + 1))
    fi
}

library=$builddir/libtp_base.a
has -pie 'DYN' -- readelf -hW "$TPROF"
has -Wl,-z,relro 'GNU_RELRO' -- readelf -lW "$TPROF"
has -Wl,-z,now '\<NOW\>' -- readelf -dW "$TPROF"
has -Wl,-z,noexecstack 'GNU_STACK.* RW ' -- readelf -lW "$TPROF"
has -fstack-protector-strong '__stack_chk_fail' -- nm -D "$TPROF"
has -D_FORTIFY_SOURCE=3 '_chk\(@\|$\)' -- nm -D "$TPROF"
has -fcf-protection 'IBT, SHSTK' -- readelf -nW "$library"
reach=$(nm -D "$TPROF" | sed 's/@.*//' |
    grep -wE 'socket|connect|bind|listen|accept4?|sendto|system|popen|wordexp')
if [ -z "$reach" ] || [ -n "$NVCC" ]; then
    passed=$((passed + 1))
else
    echo "FAIL: it can reach out: $reach"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
