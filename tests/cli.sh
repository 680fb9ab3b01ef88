#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The command line as users meet it. Each tests/cli/NAME.sh is run by bash in
# an empty folder of its own and compared with the files beside it:
#
#   NAME.exit  the exit status; 0 when absent
#   NAME.out   what it prints; anything when absent
#   NAME.err   what it prints on standard error; nothing when absent
#
# Lines of .out and .err are patterns of `case`; a line "..." stands for any
# number of lines. A case that cannot run here prints why and exits with 77.
# `tests/cli.sh NAME...` runs some. Needs: TPROF, srcdir; see tests/cli/lib.sh
# for what cases may use. TP_CLI_SHOW=1 shows what each printed.

set -u
: "${TPROF:?the program to test}" "${srcdir:?the source folder}"
[ -x "$TPROF" ] || { echo "no program $TPROF" >&2; exit 99; }
cases=$srcdir/tests/cli
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-cli.XXXXXX") || exit 99
trap 'chmod -R u+rwX "$work" 2> /dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"

mkdir "$work/bin"
ln -s "$TPROF" "$work/bin/tprof-analyze"
PATH=$work/bin:$PATH
BASH_ENV=$cases/lib.sh
LC_ALL=C
SHELL=/bin/sh # which `script` starts
export PATH BASH_ENV LC_ALL SHELL srcdir TPROF
unset NO_COLOR CDPATH TENSOR_SAVE_DIR

# Who starts tests in the background, or by nohup, leaves them signals that are
# ignored, which no shell can undo.
signals=
! env --default-signal true 2> /dev/null || signals="env --default-signal"

# matches EXPECTED ACTUAL: does the text fit the patterns?
matches()
{
    local -a want got
    mapfile -t want < "$1"
    mapfile -t got < "$2"
    match_from 0 0
}

# Lines from want[$1] on fit got[$2] on.
match_from()
{
    local w=$1 g=$2
    while [ "$w" -lt ${#want[@]} ]; do
        if [ "${want[w]}" = ... ]; then
            while [ "$g" -le ${#got[@]} ]; do
                match_from $((w + 1)) "$g" && return 0
                g=$((g + 1))
            done
            return 1
        fi
        [ "$g" -lt ${#got[@]} ] || return 1
        # shellcheck disable=SC2053 # the right side is a pattern
        [[ ${got[g]} == ${want[w]} ]] || return 1
        w=$((w + 1)) g=$((g + 1))
    done
    [ "$g" -eq ${#got[@]} ]
}

# complain NAME WHAT: one failed expectation, with what was printed.
complain()
{
    echo "FAIL $1: $2"
    sed 's/^/    out: /' "$work/out" | head -n 40
    sed 's/^/    err: /' "$work/err" | head -n 40
}

run_case()
{
    local name=$1 expect=0 status
    local folder=$work/$name
    mkdir "$folder"
    chmod 755 "$folder"
    # shellcheck disable=SC2086 # none or two words
    (cd "$folder" && exec $signals bash -u "$cases/$name.sh") \
        > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    if [ $status = 77 ]; then
        echo "skip $name: $(head -n 1 "$work/out")"
        skipped=$((skipped + 1))
        return
    fi
    [ -f "$cases/$name.exit" ] && expect=$(cat "$cases/$name.exit")
    if [ $status != "$expect" ]; then
        complain "$name" "exit status $status instead of $expect"
    elif [ -f "$cases/$name.out" ] &&
        ! matches "$cases/$name.out" "$work/out"; then
        complain "$name" "output does not fit $name.out"
    elif [ -f "$cases/$name.err" ] &&
        ! matches "$cases/$name.err" "$work/err"; then
        complain "$name" "standard error does not fit $name.err"
    elif ! [ -f "$cases/$name.err" ] && [ -s "$work/err" ]; then
        complain "$name" "something on standard error"
    else
        echo "ok   $name"
        passed=$((passed + 1))
        [ -z "${TP_CLI_SHOW-}" ] || sed 's/^/    /' "$work/out" "$work/err"
        return
    fi
    failed=$((failed + 1))
}

passed=0 failed=0 skipped=0
if [ $# = 0 ]; then
    set -- "$cases"/*.sh
fi
for name in "$@"; do
    name=$(basename "$name" .sh)
    [ "$name" = lib ] || run_case "$name"
done
echo "cli: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
