#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one test of `make check`: guard.sh PROGRAM [ARG...]
#
# Fails when the program fails, runs too long, or prints a sanitizer report:
# Criterion runs each test in a process of its own and does not see that one
# leaked. A fuzz target gets its corpus and its old crashes as arguments.
#
# A Criterion program also has to report its tests (as TAP, to a file): one
# that ran none fails, one that skipped all is skipped. Its skips are printed
# with their reasons, and last "N passed, N failed, N skipped" for total.sh.
# Needs: srcdir.

program=$1
name=$(basename "$program")
counted=
case $name in
test_* | real_*)
    counted=yes
    ;;
fuzz_*)
    for folder in "$srcdir/tests/fuzz/$name.corpus" \
                  "$srcdir/tests/fuzz/$name.repro"; do
        test -d "$folder" && set -- "$@" "$folder"
    done
    ;;
*.sh)
    set -- bash "$@"
    ;;
esac

# A leak found in a fork, or by a program a script runs, must be seen: the
# report goes to files of this test alone.
reports=$(mktemp -d "${TMPDIR:-/tmp}/tp-guard.XXXXXX") || exit 99
trap 'rm -rf "$reports"' EXIT
trap 'exit 99' HUP INT TERM
options=log_path=$reports/report:print_stacktrace=1
ASAN_OPTIONS=$options:detect_leaks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
UBSAN_OPTIONS=$options${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
TSAN_OPTIONS=$options${TSAN_OPTIONS:+:$TSAN_OPTIONS}
LSAN_OPTIONS=log_path=$reports/report${LSAN_OPTIONS:+:$LSAN_OPTIONS}
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS

# Criterion 2.4.1 loses 48 bytes of its own when two tests with a time limit
# run at once. make -j runs the programs side by side.
CRITERION_JOBS=1
export CRITERION_JOBS
# An option, since Criterion leaks what the variable CRITERION_OUTPUTS holds.
test -n "$counted" && set -- "$@" "--tap=$reports/tap"

# Against hangs only: tests/cli.sh under sanitizers, on two cores that had four
# times as much to do, took 13 minutes.
timeout "${TP_TEST_SECONDS:-7200}" "$@" < /dev/null
status=$?
test $status -eq 124 && echo "guard.sh: stopped after too long" >&2

for report in "$reports"/report*; do
    test -s "$report" || continue
    cat "$report" >&2
    echo "guard.sh: sanitizer report above" >&2
    test $status -eq 0 && status=1
done
test -n "$counted" || exit $status

touch "$reports/tap"
awk '
    /^(not )?ok - .* # SKIP/ {
        skipped++
        sub(/^(not )?ok - /, "")
        sub(/ *# SKIP */, ": ")
        print "skipped: " $0
        next
    }
    /^ok - / { passed++ }
    /^not ok - / { failed++ }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit passed + failed > 0 ? 0 : skipped > 0 ? 77 : 1
    }' "$reports/tap"
ran=$?
test $ran -eq 1 && echo "guard.sh: $name ran no test" >&2
test $status -eq 0 && status=$ran
exit $status
