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
