#!/bin/bash
# SPDX-License-Identifier: MIT
# What a reader that was taken over can still do: tests/sandbox/attack.c tries
# to break each promise of src/sandbox/sandbox.c from inside each command, with
# the sandbox, where nothing may come of it, and without, where it must, so that
# a trial that could never work proves nothing. Then gnuplot, asked to run
# scripts that start programs. Needs: TPROF, srcdir, CC.

[ "$(uname)" = Linux ] || { echo "skipped: not Linux"; exit 77; }
built=$("$TPROF" --version | sed -n 's/^sandbox: //p')
[ "$built" = "Landlock, seccomp" ] || {
    echo "skipped: built with the sandbox: $built"
    exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-sandbox.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
srcdir=$(cd "$srcdir" && pwd)
# shellcheck disable=SC2086 # CC may be "ccache gcc"
${CC:-cc} -O1 -shared -fPIC -o "$work/attack.so" \
    "$srcdir/tests/sandbox/attack.c" -ldl || {
    echo "skipped: this C library is not the one that attacks are for"
    exit 77
}
. "$srcdir/tests/cli/lib.sh"
unset TZ TPROF_INPUT
mkdir "$work/tmp"
export TMPDIR=$work/tmp # runs that are ended leave empty folders there
passed=0 failed=0
data=$srcdir/testdata
cd "$work" || exit 99

mkdir in script canary
some_logs in 4
first=$(find in -type f | LC_ALL=C sort | head -n 1)
cp "$first" "in/hostile_$(basename "$first")"
cp in/hostile* hostile.pt
make_trace hostile.json
cp "$data/check/bad-adam_eps_half.py" script/hostile.py
cp -R "$data/msprobe/step0" hostile
cp -R "$data/msprobe/step1" step1
cp -R "$data/replay/step3" hostile_replay
"$TPROF" in --no_plots --no_sandbox --state hostile.state --output_dir old \
    > /dev/null || exit 99

"$TPROF" in --output_dir with > /dev/null || exit 99
active=$(sed -n 's/^Sandbox: //p' with/report.txt)
[ "$active" = "Landlock, seccomp" ] || {
    echo "skipped: of the sandbox there is, here: $active"
    exit 77
}

fail()
{
    echo "FAIL $*"
    sed 's/^/    /' err | head -n 5
    failed=$((failed + 1))
}

# tries ATTACK WORD...: runs a command that is attacked; its words are in err.
# With $without by a program that takes something of the kernel away.
tries()
{
    local attack=$1
    shift
    rm -rf canary out
    mkdir -p canary out/evil/cat
    echo whole > canary/canary
    cp "$work/script.gp" out/evil/cat/script.gp
    CANARY=$work/canary OUTPUT=out RUN_IN=out/evil ATTACK=$attack \
        LD_PRELOAD=$work/attack.so timeout -k 1 30 ${without:-} "$TPROF" \
        "$@" > /dev/null 2> err
    status=$?
    [ -z "$(find tmp -type f)" ] || fail "$*: temporary files are left"
}

is_whole()
{
    [ "$(ls -A canary)" = canary ] && [ "$(cat canary/canary)" = whole ] &&
        [ "$(stat -c %a canary/canary)" = 644 ]
}

# refused ATTACK WORD...: nothing comes of it.
refused()
{
    tries "$@"
    if ! grep -q "^$1 reached" err; then
        fail "$*: it never came to be tried"
    elif grep -q "^$1 done" err; then
        fail "$*: it worked"
    elif ! is_whole; then
        fail "$*: it did something"
    elif [ -n "$(find . -maxdepth 1 -name x)" ]; then
        fail "$*: a program was started"
    else
        passed=$((passed + 1))
    fi
}

# stopped ATTACK CALL WORD...: the run is ended, and says why.
stopped()
{
    local attack=$1 call=$2
    shift 2
    refused "$attack" "$@"
    if [ $status != 4 ] || ! grep -q "sandbox.* $call()" err ||
        [ -e out/report.txt ]; then
        fail "$attack $*: it was not stopped and told (status $status)"
    fi
}

# works ATTACK WORD...: it does what it tries.
works()
{
    tries "$@"
    if grep -q "^$1 done" err; then
        passed=$((passed + 1))
    else
        fail "$*: it does not work here"
    fi
}

umask 022
cat > script.gp << EOF
set print '$work/canary/printed'
print 'x'
EOF
# Each waits for what it started: "set print" closes a pipe, the end does not.
for line in "system('touch $work/canary/a')" "!touch $work/canary/b" \
    "x = system('touch $work/canary/c')" "plot '< touch $work/canary/d'" \
    "set output '$work/canary/e'; set term svg; plot x" \
    "set print '| touch $work/canary/f'; print 1; set print" \
    "load '< touch $work/canary/g'" "save '$work/canary/h'"; do
    echo "$line"
done > all.gp
to="--output_dir out --jobs 2"
tensors="in $to --no_plots"

# --- each promise, from inside tensors, and that it could be broken ----------

# shellcheck disable=SC2086
{
    works inside $tensors
    for attack in create write empty unlink rename mkdir symlink utime proc \
        signal thread_signal limit processors size type clone shell \
        inside_symlink inside_fifo; do
        refused $attack $tensors
    done
    stopped network socket $tensors
    stopped local socket $tensors
    stopped exec execve $tensors
    stopped truncate truncate $tensors
    stopped chmod chmod $tensors
    stopped fchmod fchmod $tensors
    stopped fchmodat fchmodat $tensors
    stopped fchown fchown $tensors
    stopped fchownat fchownat $tensors
    stopped xattr setxattr $tensors
    stopped ptrace ptrace $tensors
    stopped memory process_vm_readv $tensors
    stopped ring io_uring_setup $tensors
    stopped namespace unshare $tensors
    if [ "$(uname -m)" = x86_64 ]; then
        stopped chown chown $tensors
        stopped lchown lchown $tensors
        refused x32 $tensors
        tries bits32 $tensors --no_sandbox
        if ! grep -q '^bits32 done' err; then
            echo "not tried: this kernel has no calls of 32 bits"
        else
            refused bits32 $tensors
            [ ! -e out/bits32 ] || fail "bits32: it made a folder"
        fi
    fi
    for attack in local shell create write empty truncate unlink rename mkdir \
        symlink chmod fchmod fchmodat chown lchown fchown fchownat utime \
        signal thread_signal limit processors size inside_symlink inside_fifo \
        inside_socket; do
        works $attack $tensors --no_sandbox
    done

    # --- from inside the others ----------------------------------------------

    for attack in create shell; do
        refused $attack trace hostile.json $to --no_plots
        refused $attack dump hostile $to
        refused $attack compare hostile step1 $to --no_plots
        refused $attack replay hostile_replay $to --no_plots
        refused $attack replay step1 --config hostile.json $to --no_plots
        refused $attack merge hostile.state $to --no_plots
        refused $attack inspect hostile.pt
        refused $attack check script
    done
    stopped network socket inspect hostile.pt
    stopped network socket check script
    stopped network socket trace hostile.json $to

    # a folder that an option names, and no other
    refused create trace hostile.json --output_json json/a.json $to --no_plots
    [ -s json/a.json ] || fail "no json/a.json"
}

# --- gnuplot, which is started for a reader that may not ---------------------

if command -v gnuplot > /dev/null; then
    for way in plot_elsewhere plot_program; do
        # shellcheck disable=SC2086
        refused $way in $to
        grep -q '^answer: 3 ' err || fail "$way: not refused as damaged"
    done
    # every way by itself: the first that fails ends a script
    number=0
    while read -r line; do
        number=$((number + 1))
        echo "$line" > script.gp
        rm -rf canary
        mkdir canary
        timeout 20 gnuplot script.gp > /dev/null 2>&1
        [ -n "$(ls canary)" ] || fail "gnuplot: no way: $line"
        # shellcheck disable=SC2086
        tries plot_script in $to
        if ! grep -q '^answer: 0 ' err; then
            fail "gnuplot did not run: $line"
        elif is_whole; then
            passed=$((passed + 1))
        else
            fail "gnuplot got out: $line"
        fi
    done < all.gp
    [ $number = 8 ] || fail "$number ways"

    # with and without: figures, tables and scripts are the same bytes
    "$TPROF" in --output_dir without --no_sandbox > /dev/null
    [ "$(find with -name '*.png' | wc -l)" -ge 10 ] || fail "no figures"
    diff -rq with without |
        grep -vE '^Files with/(summary\.h5|report\.(txt|html)) ' > err
    [ ! -s err ] || fail "figures with and without differ"
    [ "$(sed -n 's/^Sandbox: //p' without/report.txt)" = \
        "none, as --no_sandbox asks" ] || fail "not in the report"
    passed=$((passed + 1))
fi
# --- kernels and containers that have less: the report says so -------------

# lacks CALL ERROR WORDS: a run without that system call ends well, with these
# words in its report.
lacks()
{
    rm -rf less
    "$work/deny" "$1" "$2" "$TPROF" in --output_dir less --no_plots \
        > /dev/null 2> err
    status=$?
    said=$(sed -n 's/^Sandbox: //p' less/report.txt 2> /dev/null)
    if [ $status = 0 ] && [ "$said" = "$3" ] && [ ! -s err ]; then
        passed=$((passed + 1))
    else
        fail "without call $1: status $status, \"$said\""
    fi
}

if [ "$(uname -m)" = x86_64 ] &&
    ${CC:-cc} -o "$work/deny" "$srcdir/tests/sandbox/deny.c"; then
    create=444 restrict=446 seccomp=317 EPERM=1 ENOMEM=12 ENOSYS=38
    lacks $create $ENOSYS "no Landlock (the kernel has none), seccomp"
    lacks $restrict $EPERM "no Landlock (landlock_restrict_self: Operation not \
permitted), seccomp"
    lacks $seccomp $EPERM "Landlock, no seccomp (the kernel refuses it: \
Operation not permitted)"
    # each of the two keeps by itself what both keep
    for attack in inside_symlink inside_fifo inside_socket; do
        # shellcheck disable=SC2086
        without="$work/deny $seccomp $EPERM" refused $attack $tensors
    done
    # what is there and just could not be had is no reason to go without
    for call in $create $seccomp; do
        rm -rf less
        "$work/deny" $call $ENOMEM "$TPROF" in --output_dir less > /dev/null \
            2> err
        if [ $? = 4 ] && [ ! -e less/report.txt ] &&
            grep -q 'cannot set up the sandbox' err; then
            passed=$((passed + 1))
        else
            fail "went on without call $call"
        fi
    done
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
