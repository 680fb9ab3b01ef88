#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `make bench`: how fast and how large, as ratios within one run, since
# absolute times belong to one machine and one hour. Never part of check.
#
#   BENCH_PARTS     which parts
#                   [dtypes widths dims large casts differences small memory
#                   series traces device]
#   BENCH_JSON      a file that keeps the ratios; tests/bench/compare compares
#                   two
#   BENCH_FIGURE    a file to draw those of dtypes into, .png or .svg
#   BENCH_MEBIBYTES size of the large tensor [1024]
#   BENCH_RUNS      runs of which the best counts [3]
#   BENCH_PYTHON    a python with torch [/usr/bin/python3]
#   BENCH_SERIES    how many series [10000]
#   BENCH_LOGS      folder of many small tensor files; unpacked from
#                   $TP_SHARED/dumps/tensor_saver when not given
# Needs: TPROF, builddir, srcdir.

set -eu -o pipefail
tools=$builddir/tests/bench
mebibytes=${BENCH_MEBIBYTES:-1024}
runs=${BENCH_RUNS:-3}
python=${BENCH_PYTHON:-/usr/bin/python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-bench.XXXXXX")
trap 'keep_ratios; rm -rf "$work"' EXIT
: > "$work/ratios"

# keep_ratios: as BENCH_JSON asks, also of a run that ended early.
keep_ratios()
{
    [ -z "${BENCH_JSON-}" ] || awk -F '\t' '
        BEGIN { printf "{" }
        { printf "%s\n  \"%s\": %s", comma, $1, $2; comma = "," }
        END { print "\n}" }' "$work/ratios" > "$BENCH_JSON"
}

# calc EXPRESSION: by awk, three significant digits.
calc()
{
    awk "BEGIN { printf \"%.3g\", $1 }"
}

# verdict RATIO at_least|at_most LIMIT; of tensors that are read in less time
# than the program takes to start, none.
verdict()
{
    [ "$mebibytes" -ge 128 ] || { echo -; return; }
    awk "BEGIN { print (\"$2\" == \"at_least\" ? $1 >= $3 : $1 <= $3) \
        ? \"ok\" : \"MISSED\" }"
}

# kept NAME RATIO: for BENCH_JSON. A ratio that has a name here is larger where
# the program is faster.
kept()
{
    printf '%s\t%s\n' "$1" "$2" >> "$work/ratios"
}

row()
{
    printf '%-44s %10s %10s  %-16s %s\n' "$@"
}

# versus_torch SECONDS WANTED: one row, when torch was measured.
versus_torch()
{
    local ratio
    [ -n "$torch" ] || return 0
    ratio=$(calc "$torch / $1")
    row "" "" "" "$ratio x torch" "$(verdict "$ratio" at_least "$2") (>= $2)"
}

# seconds FILE OPTION...: of a run that reads the file; $clock is empty or cpu.
clock=
seconds()
{
    local file=$1 taken
    shift
    taken=$("$tools/measure" $clock "$runs" "$TPROF" --tensor_dir "$file" \
        --output_dir "$work/draw" --no_plots --quiet "$@")
    rm -rf "$work/draw"
    echo "${taken% *}"
}

# large_run NAME OPTION...: one row; leaves the seconds in $taken.
large_run()
{
    local name=$1
    shift
    taken=$(seconds "$file" "$@")
    row "$name" "$taken s" "$(calc "$mebibytes / 1024 / $taken") GiB/s" "" ""
}

large()
{
    local file=$work/large.pt jobs taken floor torch ratio
    "$tools/make_pt" "$file" "$mebibytes"
    torch=
    if "$python" -c 'import torch' 2> /dev/null; then
        torch=$("$python" "$srcdir/tests/bench/torch_stats.py" "$file" \
            "$runs" 2> "$work/torch" | head -n 1)
        row "torch $(cut -d ' ' -f 1 "$work/torch"), 2 threads" \
            "$torch s" "$(calc "$mebibytes / 1024 / $torch") GiB/s" "" ""
    else
        echo "skipped: the comparison with torch ($python has none)"
    fi
    for jobs in 1 2; do
        floor=$("$tools/measure" "$runs" "$tools/floor" "$file" $jobs)
        floor=${floor% *}
        row "pread + counting codes, $jobs thread(s)" "$floor s" \
            "$(calc "$mebibytes / 1024 / $floor") GiB/s" "" ""
        large_run "statistics, --jobs $jobs" --formats none --jobs $jobs
        ratio=$(calc "$floor / $taken")
        kept "statistics, $jobs jobs" "$ratio"
        row "" "" "" "$ratio of counting" \
            "$(verdict "$ratio" at_least 0.5) (>= 0.5)"
        versus_torch "$taken" $((30 * jobs))
        large_run "and all default formats, --jobs $jobs" --jobs $jobs
        versus_torch "$taken" $((15 * jobs))
    done
    rm "$file"
}

# wanted DTYPE NAME RATIO: the verdict on a row of dtypes that has a goal.
wanted()
{
    local goal=
    case "$1 $2" in
    "float32 statistics") goal=0.8 ;;
    "float32 default_formats") goal=0.3 ;;
    "float8_e4m3fn default_formats") goal=0.5 ;;
    "bfloat16 nvfp4") goal=0.4 ;;
    "bfloat16 all_formats") goal=0.15 ;;
    esac
    [ -z "$goal" ] || echo "$(verdict "$3" at_least $goal) (>= $goal)"
}

# number_formats: all, as --formats takes them.
number_formats()
{
    "$TPROF" list dtypes |
        awk '/^number formats/ { on = 1 } on && $1 ~ /[0-9]/ &&
            $1 != "id" && $1 != "e8m0" { printf "%s%s", comma, $1
            comma = "," }'
}

# One job per dtype and choice of formats: bytes a second of processor time, as
# a share of what reading the same file and counting its 16-bit codes reaches,
# which is 1. The start of the program counts.
dtypes()
{
    local file=$work/dtype.pt table=$work/dtypes dtype floor name options ratio
    local torch clock=cpu
    : > "$table"
    for dtype in bfloat16 float16 float32 float64 float8_e4m3fn; do
        "$tools/make_pt" "$file" "$mebibytes" 2048 2048 $dtype
        floor=$("$tools/measure" cpu "$runs" "$tools/floor" "$file" 1)
        floor=${floor% *}
        row "$dtype, pread + counting codes" "$floor s" \
            "$(calc "$mebibytes / 1024 / $floor") GiB/s" "1" ""
        torch=
        ! "$python" -c 'import torch' 2> /dev/null ||
            torch=$("$python" "$srcdir/tests/bench/torch_stats.py" "$file" \
                "$runs" 2> /dev/null | head -n 1)
        while read -r name options; do
            # shellcheck disable=SC2086 # several words
            taken=$(seconds "$file" --jobs 1 $options)
            ratio=$(calc "$floor / $taken")
            printf '%s %s %s\n' $dtype "$name" "$ratio" >> "$table"
            kept "$dtype $name" "$ratio"
            row "$dtype, $name" "$taken s" \
                "$(calc "$mebibytes / 1024 / $taken") GiB/s" \
                "$ratio of counting" "$(wanted $dtype "$name" "$ratio")"
            [ "$name" != statistics ] || [ -z "$torch" ] ||
                row "$dtype, torch, 2 threads, by the clock" "$torch s" "" \
                    "$(calc "$torch / $taken") x of this" ""
        done << EOF
statistics --formats none
default_formats
mxfp8_e4m3 --formats mxfp8_e4m3
mxfp6_e3m2 --formats mxfp6_e3m2
mxfp4 --formats mxfp4
nvfp4 --formats nvfp4
all_formats --formats $(number_formats)
EOF
    done
    rm "$file"
    [ -z "${BENCH_FIGURE-}" ] || draw_dtypes "$table"
}

# draw_dtypes TABLE: what users choose between.
draw_dtypes()
{
    awk '
        $2 !~ /^mxfp/ {
            if (!($1 in at)) { names[++n] = $1; at[$1] = n }
            if (!($2 in of)) { kinds[++k] = $2; of[$2] = k }
            shown[at[$1], of[$2]] = $3
        }
        END {
            printf "dtype"
            for (j = 1; j <= k; j++) {
                gsub("_", " ", kinds[j])
                printf " \"%s\"", kinds[j]
            }
            for (i = 1; i <= n; i++) {
                printf "\n%s", names[i]
                for (j = 1; j <= k; j++)
                    printf " %s", shown[i, j]
            }
            print ""
        }' "$1" > "$work/columns"
    gnuplot -c "$srcdir/tests/bench/dtypes.gp" "$work/columns" "$BENCH_FIGURE"
}

# The widths of instructions, default formats, one job; that tables are equal
# tests/cli/widths_identical.sh has.
widths()
{
    local file=$work/width.pt dtype isa best ratio clock=cpu
    for dtype in bfloat16 float32 float8_e4m3fn; do
        "$tools/make_pt" "$file" "$((mebibytes / 4))" 2048 2048 $dtype
        best=
        for isa in avx512 avx2 portable; do
            taken=$(TPROF_ISA=$isa seconds "$file" --jobs 1)
            best=${best:-$taken}
            ratio=$(calc "$best / $taken")
            kept "$dtype $isa" "$ratio"
            row "$dtype, default formats, $isa" "$taken s" "" \
                "$ratio of widest" "$(verdict "$ratio" at_least 0.1) (>= 0.1)"
        done
    done
    rm "$file"
}

# Statistics by index of all axes: their share of the whole time.
dims()
{
    local file=$work/dims.pt dtype shape formats plain share clock=cpu
    local options
    row "dtype and shape" with without "by index" ""
    for dtype in bfloat16 float32 float8_e4m3fn; do
        for shape in "2048 2048" "4096 256" "16 65536"; do
            # shellcheck disable=SC2086 # two arguments
            "$tools/make_pt" "$file" "$((mebibytes / 4))" $shape $dtype
            for formats in none default; do
                options=(--jobs 1)
                [ $formats = default ] || options+=(--formats none)
                plain=$(seconds "$file" "${options[@]}" --dims none)
                taken=$(seconds "$file" "${options[@]}")
                share=$(calc "1 - $plain / $taken")
                kept "$dtype $shape $formats without index" \
                    "$(calc "$plain / $taken")"
                row "$dtype, n x ${shape/ / x }, formats $formats" "$taken s" \
                    "$plain s" "$share of it" \
                    "$(verdict "$share" at_most 0.333) (<= 1/3 by index)"
            done
        done
    done
    rm "$file"
}

# Casts alone, in memory, on one core: least with the widest instructions.
casts()
{
    local isa
    for isa in avx512 avx2 portable; do
        echo "TPROF_ISA=$isa; wanted of mxfp8_e4m3: 1 GB/s (avx512), 0.6 (avx2)"
        TPROF_ISA=$isa "$tools/casts" "${BENCH_CASTS:-256}"
    done
}

# Two tensors element by element, in memory, on one core.
differences()
{
    echo "wanted of bfloat16, float32: 1 GB/s, 0.25 of plain statistics"
    "$tools/differences" "${BENCH_CASTS:-256}"
    "$tools/differences" "${BENCH_CASTS:-256}" equal
}

# small_run NAME WANTED OPTION...: one row for the folder of logs, by $clock,
# which is to take so many times the seconds of $floor at most; leaves its own
# in $taken.
small_run()
{
    local name=$1 wanted=$2 measured peak ratio
    shift 2
    measured=$("$tools/measure" $clock "$runs" "$TPROF" --tensor_dir "$logs" \
        --output_dir "$work/draw" --quiet "$@")
    taken=${measured% *}
    peak=$(calc "${measured#* } / 1024")
    ratio=$(calc "$taken / $floor")
    row "$name" "$taken s" "$peak MiB" "$ratio x" \
        "$(verdict "$ratio" at_most "$wanted") (<= $wanted)"
    rm -rf "$work/draw"
}

# instructions NAME OPTION...: of a file, the program's start left out.
instructions()
{
    local name=$1 count counted=()
    shift
    for count in 200 400; do
        mkdir "$work/some"
        find "$logs" -name '*.pt' | LC_ALL=C sort |
            awk -v n="$count" 'NR <= n' | xargs ln -s -t "$work/some"
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$TPROF" \
            --tensor_dir "$work/some" --output_dir "$work/draw" --no_plots \
            --no_sandbox --jobs 1 --quiet "$@" > "$work/counted" 2>&1 || true
        # a process that it forks says so too, and before
        counted+=("$(awk '/Collected/ { n = $NF } END { print n }' \
            "$work/counted")")
        rm -rf "$work/some" "$work/draw"
    done
    row "$name" "$(calc "(${counted[1]} - ${counted[0]}) / 200e6") M" "" "" \
        "instructions a file"
}

small()
{
    local logs=${BENCH_LOGS-} one plain floor clock=cpu
    local run=${TP_SHARED:-nowhere}/dumps/tensor_saver/training_run.tar.gz
    if [ -z "$logs" ]; then
        [ -f "$run" ] || {
            echo "skipped: many small files (neither BENCH_LOGS nor" \
                "TP_SHARED with its training run)"
            return
        }
        mkdir "$work/run"
        tar -xzf "$run" -C "$work/run"
        logs=$(find "$work/run" -type d -name logs | head -n 1)
    fi
    echo "$(find "$logs" -type f | wc -l) files of $(du -sh "$logs" |
        cut -f 1), $(nproc) cores; of processor time"
    floor=$("$tools/measure" cpu "$runs" "$tools/floor" "$logs")
    floor=${floor% *}
    row "open + read + close" "$floor s" "" 1 ""
    small_run "--jobs 1" 14 --no_plots --jobs 1
    small_run "--jobs 1 --formats none" 8 --no_plots --jobs 1 --formats none
    small_run "--jobs 1 --formats none --dims none" 5 --no_plots --jobs 1 \
        --formats none --dims none
    small_run "--jobs 1 --no_html" 14 --no_plots --jobs 1 --no_html
    if command -v valgrind > /dev/null; then
        instructions "--jobs 1"
        instructions "--jobs 1 --formats none" --formats none
        instructions "--jobs 1 --formats none --dims none" --formats none \
            --dims none
    fi
    clock=
    echo "by the clock"
    small_run "--jobs 1" 14 --no_plots --jobs 1
    one=$taken
    small_run "--jobs 2" 8 --no_plots --jobs 2
    plain=$taken
    faster "  two jobs" "$one" "$plain" 1.8
    floor=$plain
    small_run "--jobs 2, every figure" 4 --jobs 2
    kept "training run, tables of all" "$(calc "$plain / $taken")"
}

# faster NAME BEFORE AFTER GOAL: one row.
faster()
{
    local ratio
    ratio=$(calc "$2 / $3")
    kept "$1" "$ratio"
    row "$1" "" "" "$ratio x one job" \
        "$(verdict "$ratio" at_least "$4") (>= $4)"
}

memory()
{
    local file=$work/memory.pt size measured peak first=
    for size in 16 64 256 "$mebibytes"; do
        "$tools/make_pt" "$file" "$size"
        measured=$("$tools/measure" 1 "$TPROF" --tensor_dir "$file" \
            --output_dir "$work/draw" --no_plots --jobs 2)
        peak=$(calc "${measured#* } / 1024")
        first=${first:-$peak}
        row "peak memory, tensor of $size MiB, 2 jobs" "${measured% *} s" \
            "$peak MiB" "$(calc "$peak / $first") x" \
            "$(verdict "$peak" at_most 72) (<= 64 + 2 * 4 MiB)"
        rm -rf "$file" "$work/draw"
    done
}

# Baselines of series of 1000 iterations and 8 metrics. The peak includes the
# making of the values, the time does not.
series()
{
    local baseline measured peak taken count=${BENCH_SERIES:-10000}
    for baseline in retro online; do
        measured=$("$tools/measure" 1 "$tools/series" "$count" 1000 2 $baseline)
        peak=$(calc "${measured#* } / 1024")
        taken=$("$tools/series" "$count" 1000 2 $baseline)
        taken=$(calc "${taken%% *}")
        row "$count series x 1000 x 8, $baseline, 2 jobs" "$taken s" \
            "$peak MiB" "" "$(verdict "$taken" at_most 10) (<= 10 s) \
$(verdict "$peak" at_most 1024) (<= 1 GiB)"
    done
}

# trace_row FILE: the reader against simdjson alone, per core, and its memory;
# of gzip, with two jobs, against the slower of inflating and parsing.
trace_row()
{
    local json=$work/trace.json floor walk taken size peak inflate ratio
    gzip -dc "$1" > "$json"
    read -r floor walk <<< "$("$tools/trace_walk" "$json" "$runs" \
        2> "$work/walk")"
    read -r taken size peak <<< "$("$tools/trace_rate" read "$json" 1 "$runs")"
    ratio=$(calc "$floor / $taken")
    row "${1##*/traces/}" "$taken s" "$(calc "$size / $taken") MB/s" \
        "$ratio of simdjson" "$(verdict "$ratio" at_least 0.5) (>= 0.5)"
    row "" "" "" "$(calc "$walk / $taken") of it" "without loading the file"
    ratio=$(calc "$peak / (0.6 * $size + 50)")
    row "" "" "$peak MB" "$ratio of the limit" \
        "$(verdict "$ratio" at_most 1) (<= 0.6 x JSON + 50 MB)"
    read -r taken size peak inflate floor <<< "$("$tools/trace_rate" gzip \
        "$1" "$json" 2 "$((10 * runs))")"
    ratio=$(calc "$taken / ($inflate > $floor ? $inflate : $floor)")
    row "  gzip, 2 jobs" "$taken s" "$(calc "$size / $taken") MB/s" \
        "$ratio of slower" "$(verdict "$ratio" at_most 1.3) (<= 1.3)"
    rm "$json"
}

# trace_seconds JOBS FILE...: of the whole command without figures.
trace_seconds()
{
    local jobs=$1
    shift
    taken=$("$tools/measure" "$runs" "$TPROF" trace "$@" --jobs "$jobs" \
        --no_plots --quiet --output_dir "$work/draw")
    rm -rf "$work/draw"
    taken=${taken% *}
}

# trace_command NAME GOAL FILE...: the whole command by one job and by two, of
# which GOAL is wanted.
trace_command()
{
    local name=$1 goal=$2 one size rate
    shift 2
    size=$(cat "$@" | wc -c)
    trace_seconds 1 "$@"
    one=$taken
    rate=$(calc "$size / $one * 1e-9")
    kept "$name GB/s" "$rate"
    row "$name, one job" "$one s" "$rate GB/s" "" \
        "$([[ $1 = *.gz ]] ||
            echo "$(verdict "$rate" at_least 0.5) (>= 0.5 GB/s)")"
    trace_seconds 2 "$@"
    faster "$name, two jobs" "$one" "$taken" "$goal"
}

# trace_memory SHAPE: of a synthetic trace of 7 million events, bytes an event.
trace_memory()
{
    local measured peak each
    # shellcheck source=tests/shapes.sh
    (. "$srcdir/tests/shapes.sh" && cd "$work" && "$1" 2333334)
    measured=$("$tools/measure" 1 "$TPROF" trace "$work/in.json" --no_plots \
        --quiet --jobs 1 --output_dir "$work/draw")
    peak=$(calc "${measured#* } / 1024")
    each=$(calc "${measured#* } * 1024 / 7e6")
    row "7e6 events, $(du -h "$work/in.json" | cut -f 1), $1" \
        "${measured% *} s" "$peak MiB" "$each B an event" \
        "$(verdict "$each" at_most 36) (<= 36)"
    rm -rf "$work/in.json" "$work/draw"
}

traces()
{
    local trace json goal found='' unpacked=()
    for trace in "${TP_SHARED:-nowhere}"/traces/{01,09,14,16,19}_*/*.gz; do
        [ -f "$trace" ] || continue
        found=1
        trace_row "$trace"
    done
    for trace in "${TP_SHARED:-nowhere}"/traces/{01,09,14,16,19}_*/*.gz; do
        [ -f "$trace" ] || continue
        json=$work/$(basename "${trace%/*}").json
        gzip -dc "$trace" > "$json"
        unpacked+=("$json")
        goal=1.6
        [ "$(wc -c < "$json")" -ge 50000000 ] || goal=1
        trace_command "$(basename "$json")" $goal "$json"
        trace_command "$(basename "$json").gz" 1 "$trace"
    done
    [ -z "$found" ] || trace_command "these at once" 1.6 "${unpacked[@]}"
    trace_memory packed_steps
    trace_memory packed_step
    [ -n "$found" ] || echo "skipped: traces (TP_SHARED has none)"
}

# Kernels with the data on the device, as shares of the rate of copies there
# (bytes read, of copies also written); and whole runs.
device()
{
    local why seconds bytes wanted what copy='' link='' rate share
    why=$("$TPROF" list devices | sed -n 's/^  cuda  *none: //p')
    [ -z "$why" ] || {
        echo "skipped: kernels (no CUDA device: $why)"
        return
    }
    "$tools/device" "$mebibytes" "$((10 * runs))" > "$work/device"
    while read -r seconds bytes wanted what; do
        rate=$(calc "$bytes / $seconds / 1e9")
        copy=${copy:-$rate}
        [ "$what" != "copy from pinned memory" ] || link=$rate
        share=$(calc "$rate / $copy")
        row "$what" "$(calc "$seconds * 1e3") ms" "$rate GB/s" \
            "$share of a copy" "$([ "$wanted" = 0 ] ||
                echo "$(verdict "$share" at_least "$wanted") (>= $wanted)")"
    done < "$work/device"
    end_to_end "$link"
}

# gbytes SECONDS: GB/s of the large tensor.
gbytes()
{
    calc "$mebibytes * 1.048576e-3 / $1"
}

# end_to_end LINK: whole runs, the file in the page cache, beside what bounds
# them: reading it by as many threads, or LINK, the GB/s of copies to the
# device. What a run of a small file takes is the start of program and device.
end_to_end()
{
    local link=$1 file=$work/large.pt jobs taken start read bound name where
    jobs=$(nproc)
    "$tools/make_pt" "$file" "$mebibytes"
    "$tools/make_pt" "$work/little.pt" 1
    taken=$("$tools/measure" "$runs" "$tools/floor" "$file" "$jobs" read)
    read=$(gbytes "${taken% *}")
    row "pread alone, $jobs thread(s)" "${taken% *} s" "$read GB/s" "" ""
    bound=$read name="reading the file"
    [ "$(verdict "$link" at_most "$read")" = MISSED ] ||
        bound=$link name="the link"
    for where in cpu cuda; do
        start=$(seconds "$work/little.pt" --device $where)
        taken=$(seconds "$file" --device $where)
        row "all default, --device $where, $jobs jobs" "$taken s" \
            "$(gbytes "$taken") GB/s" "" "start: $start s"
        taken=$(calc "($taken > $start ? $taken - $start : 1e-9)")
        row "  without the start" "$taken s" "$(gbytes "$taken") GB/s" \
            "$(calc "$(gbytes "$taken") / $bound") of bound" "$name"
    done
    rm "$file" "$work/little.pt"
}

parts='dtypes widths dims large casts differences small memory series traces
device'
for part in ${BENCH_PARTS:-$parts}; do
    case $part in
    dtypes | widths | dims | large | casts | differences | small | memory | \
        series | traces | device)
        echo "== $part"
        $part
        ;;
    *)
        echo "no part $part; there are: $parts" >&2
        exit 2
        ;;
    esac
done
