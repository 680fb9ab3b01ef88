# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the cases of tests/cli.sh may use; read before each of them.

# Names are relative, so that no expectation holds a machine's path.
logs=$srcdir/testdata/logs

# Every shell that starts reads this again: keep it free of effects.

# skip REASON: this case cannot run here.
skip()
{
    echo "$1"
    exit 77
}

# need PROGRAM...: skips when one is not installed.
need()
{
    local program
    for program in "$@"; do
        command -v "$program" > /dev/null || skip "no $program"
    done
}

# need_terminal: skips where `script` of util-linux cannot make one.
need_terminal()
{
    need script
    script -qec true /dev/null > /dev/null 2>&1 < /dev/null ||
        skip "no terminals"
}

# on_terminal COMMAND: what it prints on a terminal, and whether it leaves with
# 0. `script` reads on for a moment when its child has ended, and loses what
# a busy machine brings later: so the shell in it stays until its last line has
# come through.
on_terminal()
{
    script -qec "$1
        printf '\\nleft with %s\\n' \$?
        until grep -q '^left with' terminal; do sleep 0.05; done" /dev/null \
        > terminal < /dev/null
    tr -d '\r' < terminal | grep -v '^left with'
    grep -q '^left with 0' terminal
}

# is_sanitized: whether the program has a sanitizer in it, which has the
# allocator.
is_sanitized()
{
    nm "$TPROF" 2> /dev/null | grep -q '__asan_\|__tsan_\|__ubsan_'
}

# le64 NUMBER: its eight bytes, the lowest first.
le64()
{
    local n=$1 i
    for i in 1 2 3 4 5 6 7 8; do
        printf "\\$(printf %03o $((n % 256)))"
        n=$((n / 256))
    done
}

# must COMMAND...: the case fails here when the command does.
must()
{
    "$@" || { echo "failed ($?): $*"; exit 98; }
}

# some_logs FOLDER [NUMBER]: the first tensor files of our training run.
some_logs()
{
    mkdir -p "$1"
    find "$logs" -name '*.pt' | LC_ALL=C sort | sed -n "1,${2:-6}p" |
        while read -r file; do cp "$file" "$1/"; done
    [ -n "$(ls "$1")" ] || { echo "no testdata/logs"; exit 98; }
}

# rows FILE [DATASET]: number of rows of a table of a summary.
rows()
{
    h5dump -H -d "/${2:-tensors}" "$1" |
        sed -n 's/.*DATASPACE *SIMPLE *{ ( \([0-9]*\).*/\1/p' | head -n 1
}

# trace_event CATEGORY NAME PID:TID START LENGTH [CORRELATION]: one line.
trace_event()
{
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": %s, "tid": %s, ' \
        "$1" "$2" "${3%:*}" "${3#*:}"
    printf '"ts": %s, "dur": %s, "args": {"device": 0, "stream": 7' "$4" "$5"
    printf ', "correlation": %s}},\n' "${6--1}"
}

# make_trace FILE [LOADER_US]: a trace of three steps with one kernel each; the
# GPU works 4 ms a step, the DataLoader takes LOADER_US of it before.
make_trace()
{
    local loader=${2:-100} step=0 at=1000 call
    local iterator='enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__'
    {
        echo '{"schemaVersion": 1, "traceEvents": ['
        while [ $step -lt 3 ]; do
            call=$((at + loader + 10))
            trace_event user_annotation "$iterator" 1:1 $at "$loader"
            trace_event cpu_op aten::mm 1:1 $((call - 5)) 30
            trace_event cuda_runtime cudaLaunchKernel 1:1 $call 10 $step
            trace_event kernel gemm 0:7 $((call + 5)) 4000 $step
            trace_event user_annotation "ProfilerStep#$step" 1:1 $at \
                $((loader + 4100))
            at=$((at + loader + 4110))
            step=$((step + 1))
        done
        echo '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0}'
        echo ']}'
    } > "$1"
}

# large_tensor FILE WORD...: a tensor large enough for a device, see
# tests/bench/make_pt.c.
large_tensor()
{
    local tool=${TPROF%/*}/tests/bench/make_pt
    [ -x "$tool" ] || skip "no $tool"
    must "$tool" "$@"
}

# device_input FOLDER: our training run, small files of all kinds, and tensors
# large enough for a device.
device_input()
{
    local dumps=${TP_SHARED:-$srcdir/../shared}/dumps
    local run=20260115_100002_0001_iter001_attention_L1_forward_pre_FA
    local part=rank00_sample000_group000_query
    some_logs "$1" 100
    must cp "$srcdir"/testdata/torch/good-*.pt "$1/"
    must mkdir "$1/large"
    large_tensor "$1/large/$run"_mxfp8_$part.pt 0.3 331 211 bfloat16
    large_tensor "$1/large/$run"_hifp8_$part.pt 0.6 331 211 float32
    large_tensor "$1/large/turned.pt" 0.6 331 211 float32 turned
    large_tensor "$1/large/turned16.pt" 0.3 331 211 bfloat16 turned
    large_tensor "$1/large/small.pt" 0.15 331 211 float8_e4m3fn
    if [ -d "$dumps" ]; then
        must cp -R "$dumps" "$1/dumps"
        must chmod -R u+w "$1/dumps"
    fi
}

# run_tables PROGRAM FOLDER WORD...: in FOLDER, analyses the files of `in`
# beside it and leaves all tables as text; standard error is `err` beside it.
run_tables()
{
    local program=$1
    must mkdir "$2"
    cd "$2" || exit
    shift 2
    "$program" --tensor_dir ../in --output_dir draw --no_plots "$@" \
        > printed 2> ../err
    echo "exit $?" >> printed
    tables_of draw/summary.h5 > tables
    rm draw/summary.h5 # its attributes hold the command line
    cd ..
}

# tables_of FILE: every table of an HDF5 file, but not its attributes, which
# hold the command line.
tables_of()
{
    local sets
    mapfile -t sets < <(h5dump -n 1 "$1" | awk '$1 == "dataset" { print $2 }')
    h5dump "${sets[@]/#/--dataset=}" "$1" | tail -n +2
}

# all_of FOLDER: every table, text and figure of a result, but not the command
# line that made it (a page says what was asked for), nor what sandbox it had.
all_of()
{
    local file
    find "$1" -type f | LC_ALL=C sort |
        while read -r file; do
            echo "${file#"$1"}"
            case $file in
            *.h5) tables_of "$file" ;;
            *) LC_ALL=C sed '/^Sandbox: /d; /^<p>Read: /d' "$file" ;;
            esac
        done
}

# same A B: says how the results in two folders differ.
same()
{
    all_of "$1" > "$1.all"
    all_of "$2" > "$2.all"
    [ -s "$1.all" ] || echo "nothing in $1"
    cmp "$1.all" "$2.all" || echo "$1 and $2 differ"
}

# mpi_program: skips where tprof-analyze-mpi was not built or cannot be started.
mpi_program()
{
    mpi_program=${TPROF%/*}/tprof-analyze-mpi
    [ -x "$mpi_program" ] || skip "no ${mpi_program##*/}"
    need mpirun
    mpirun --allow-run-as-root --oversubscribe -n 2 true > /dev/null 2>&1 ||
        skip "mpirun starts nothing"
}

# ranks COUNT WORD...: starts it in so many processes on this machine.
ranks()
{
    local count=$1
    shift
    mpirun --allow-run-as-root --oversubscribe -n "$count" "$mpi_program" "$@"
}

# ranks_alike COUNT...: so many processes leave what is in `alone`, each time. A
# case says what a run is, as `analyse PROGRAM WORD...`, with `err` and `draw`.
ranks_alike()
{
    local count
    for count; do
        analyse ranks "$count" --jobs 1
        grep tprof-analyze: err
        mv draw together
        same alone together
        rm -r together
    done
}

# A case with runs that are killed says what one is, as `analyse WORD...`, which
# does not return, leaves its result whole in `whole`, and sets -m.

# kill_after SECONDS SIGNAL: such a run with the state `s`.
kill_after()
{
    (analyse --state s --state_every 0) > text 2> err &
    local pid=$!
    sleep "$1"
    kill -"$2" $pid 2> /dev/null
    { wait $pid; } 2> /dev/null
}

# go_on FILES SECONDS: runs that are killed, the first after so long, and one
# that goes on from what they left. Says what is wrong; `went_on` is there if
# something was left.
go_on()
{
    local known
    rm -f s
    kill_after "$2" KILL
    kill_after "$2" INT
    kill_after 0.0$((RANDOM % 90 + 10)) KILL
    (analyse --state s) > text
    known=$(sed -n 's/^  s: \([0-9]*\) files\? known, \([0-9]*\) .*/\1 + \2/p' \
        text)
    [ $((known)) -eq "$1" ] || echo "after $2: $known of $1"
    [ "${known% +*}" = 0 ] || touch went_on
    mv draw again
    same whole again
    rm -r again
}

# go_on_at_last FILES SECONDS...: until something was left, as a busy machine
# may not have come to a first state by then.
go_on_at_last()
{
    local files=$1 seconds
    shift
    for seconds in "$@"; do
        [ -e went_on ] || go_on "$files" "$seconds"
    done
    [ ! -e went_on ] || echo "went on from a state"
}

# kill_reader NAME: kills the process of a job in this folder that reads a file,
# which takes it longer than a second, as the result's journals say.
kill_reader()
{
    local process file='' victim=
    for _ in $(seq 600); do
        file=$(grep -l "$1" draw/.reading-* 2> /dev/null)
        [ -z "$file" ] || break
        sleep 0.02
    done
    sleep 0.3
    for process in /proc/[0-9]*; do
        if { tr '\0' '\n' < "$process/environ"; } 2> /dev/null |
            grep -qx "OMPI_COMM_WORLD_RANK=${file##*-}" &&
            [ "$(readlink "$process/cwd")" = "$(pwd -P)" ] &&
            [ "$(readlink "$process/exe")" = \
                "$(readlink -f "$mpi_program")" ]; then
            victim=${process##*/}
        fi
    done
    must kill -KILL "$victim"
}
