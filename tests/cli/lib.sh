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

# must COMMAND...: the case fails here when the command does.
must()
{
    "$@" || { echo "failed ($?): $*"; exit 98; }
}

# some_logs FOLDER [NUMBER]: the first tensor files of our training run.
some_logs()
{
    mkdir -p "$1"
    find "$logs" -name '*.pt' | LC_ALL=C sort | head -n "${2:-6}" |
        while read -r file; do cp "$file" "$1/"; done
    [ -n "$(ls "$1")" ] || { echo "no testdata/logs"; exit 98; }
}

# rows FILE [DATASET]: number of rows of a table of a summary.
rows()
{
    h5dump -H -d "/${2:-tensors}" "$1" |
        sed -n 's/.*DATASPACE *SIMPLE *{ ( \([0-9]*\).*/\1/p' | head -n 1
}

# make_trace FILE [LOADER_US]: a trace of three steps with one kernel each; the
# GPU works 4 ms a step, the DataLoader takes LOADER_US of it before.
make_trace()
{
    local loader=${2:-100} step=0 at=1000 call
    {
        printf '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Test GPU"}],\n"traceEvents": [\n'
        while [ $step -lt 3 ]; do
            call=$((at + loader + 10))
            printf '{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": %d, "dur": %d},\n' $at "$loader"
            printf '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, "dur": 30},\n' $((call - 5))
            printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 10, "args": {"correlation": %d}},\n' $call $((step + 7))
            printf '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": %d, "dur": 4000, "args": {"device": 0, "stream": 7, "correlation": %d}},\n' $((call + 5)) $((step + 7))
            printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1, "ts": %d, "dur": %d},\n' $step $at $((loader + 4100))
            at=$((at + loader + 4110))
            step=$((step + 1))
        done
        printf '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}\n]}\n'
    } > "$1"
}

# real_traces: sets traces to the folder of real ones, or skips.
real_traces()
{
    traces=${TP_SHARED:-$srcdir/../shared}/traces
    [ -d "$traces" ] || skip "no traces at $traces"
}
