#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one test of `make check`: guard.sh PROGRAM [ARG...]
#
# Fails when the program fails, runs too long, or prints a sanitizer report:
# Criterion runs each test in a process of its own and does not see that one
# leaked. A fuzz target gets its corpus and its old crashes as arguments.
# Needs: srcdir.

program=$1
name=$(basename "$program")
case $name in
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

timeout "${TP_TEST_SECONDS:-900}" "$@" < /dev/null
status=$?
test $status -eq 124 && echo "guard.sh: stopped after too long" >&2

for report in "$reports"/report*; do
    test -s "$report" || continue
    cat "$report" >&2
    echo "guard.sh: sanitizer report above" >&2
    test $status -eq 0 && status=1
done
exit $status
