# SPDX-License-Identifier: MIT
# Where in a tensor its NaN are is part of the finding: a weight of 16 x 16
# float16, the end of its file, is damaged in iteration 6 in several ways. A
# healthy run has no finding.
need jq
run=$srcdir/testdata/case_nan_inf

# healthy NAME: a run without damage, unless it is there.
healthy()
{
    [ -d "$1" ] && return
    mkdir "$1"
    cp "$run"/*_iter00[0-8]_linear_L2_*_weight.pt "$1"
}

# plant NAME CODE ELEMENT...: a run in which these elements are overwritten.
plant()
{
    local name=$1 code=$2 file size element
    shift 2
    healthy "$name"
    for file in "$name"/*_iter006_*; do
        size=$(wc -c < "$file")
        for element; do
            # shellcheck disable=SC2059 # the code is a format
            printf "$code" | dd of="$file" bs=1 conv=notrunc status=none \
                seek=$((size - 512 + 2 * element))
        done
    done
}

# column N...: the elements of these columns.
column()
{
    local column
    for column; do
        seq "$column" 16 255
    done
}

told()
{
    must tprof-analyze "$1" --no_plots --output_dir "$1.out" > text
    jq -r '.findings[] | select(.severity == "high") |
        "\(.rule) iteration \(.iteration): \(.evidence |
        if contains("; its ") then sub("^.*; its "; "") else . end)"' \
        "$1.out/findings.json"
}

nan='\000\176' inf='\000\174'
# shellcheck disable=SC2046 # numbers
{
    plant columns "$nan" $(column 4 5)
    plant row "$nan" $(seq 240 255)
    plant band "$nan" $(seq 37 76)
    plant most "$nan" $(column 0 1 2 3 4 5 6 7 8 9 10 11 12) 255
    plant stride "$nan" $(column 1 3 5 7 9 11 13 15)
    plant element "$nan" 200
    plant scattered "$nan" 3 18 40 61 77 90 101 133 158 160 185 201 222 239 254
    plant two "$nan" 5 250
    plant all "$nan" $(seq 0 255)
    plant inf "$inf" $(column 7)
    plant both "$nan" $(column 2)
    plant both "$inf" $(column 9 11)
}
healthy healthy
for case in columns row band most stride element scattered two all inf both \
    healthy; do
    echo "$case"
    told $case
done
