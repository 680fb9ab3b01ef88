#!/bin/sh
# SPDX-License-Identifier: MIT
# guard.sh and total.sh tell what ran: made-up programs that pass, fail, skip,
# do nothing, or die before they begin, and the sums over their logs.

work=$(mktemp -d "${TMPDIR:-/tmp}/tp-counts.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
bad=0

# expect WHAT WANTED GOT
expect()
{
    test "$2" = "$3" && return
    printf '%s: "%s" instead of "%s"\n' "$1" "$3" "$2"
    bad=$((bad + 1))
}

# fake NAME STATUS TAP: a program that reports TAP; "-": no report at all.
fake()
{
    {
        echo '#!/bin/sh'
        test "$3" = - || printf 'printf "%s" > "${1#--tap=}"\n' \
            "$3"
        echo "exit $2"
    } > "$work/$1"
    chmod +x "$work/$1"
}

# guarded NAME STATUS LAST: what guard.sh makes of a program, as automake
# would write it down.
guarded()
{
    "${SHELL:-sh}" "$srcdir/tests/guard.sh" "$work/$1" > "$work/$1.log" 2>&1
    status=$?
    case $status in
    0) echo ':test-result: PASS' ;;
    77) echo ':test-result: SKIP' ;;
    *) echo ':test-result: FAIL' ;;
    esac > "$work/$1.trs"
    expect "status of $1" "$2" $status
    test -z "$3" ||
        expect "last line of $1" "$3" "$(tail -n 1 "$work/$1.log")"
}

fake test_good 0 '1..3\nok - a::b  (0.00s)\nok - a::c  # SKIP no data\n'
guarded test_good 0 '1 passed, 0 failed, 1 skipped'
expect 'reason of test_good' 'skipped: a::c: no data' \
    "$(grep skipped: "$work/test_good.log")"
fake test_bad 1 'ok - a::b  (0.00s)\nnot ok - a::c  (0.00s)\n  wrong\n'
guarded test_bad 1 '1 passed, 1 failed, 0 skipped'
fake test_idle 0 'ok - a::b  # SKIP no data\nok - a::c  # SKIP no data\n'
guarded test_idle 77 '0 passed, 0 failed, 2 skipped'
fake test_empty 0 '1..0\n# Criterion\n'
guarded test_empty 1 ''
fake test_mute 0 -
guarded test_mute 1 ''
fake test_leaky 3 'ok - a::b  (0.00s)\n'
guarded test_leaky 3 ''
fake other 0 - # no Criterion program: counts as one
guarded other 0 ''
fake sulky 77 -
guarded sulky 77 ''

logs=
for name in test_good test_bad test_idle test_empty test_mute test_leaky \
    other sulky test_absent; do
    logs="$logs $work/$name.log"
done
# Failed: one test of bad, and as a whole empty, mute, leaky and absent.
# shellcheck disable=SC2086 # a list of names without blanks
expect total '4 passed, 5 failed, 4 skipped' \
    "$("${SHELL:-sh}" "$srcdir/tests/total.sh" $logs | tail -n 1)"
# shellcheck disable=SC2086
expect 'reasons of total' 3 \
    "$("${SHELL:-sh}" "$srcdir/tests/total.sh" $logs | grep -c ^skipped:)"
echo "guard and total: $bad breaches"
test $bad -eq 0
