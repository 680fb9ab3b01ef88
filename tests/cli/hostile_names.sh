# SPDX-License-Identifier: MIT
# Forty names that are meant for a terminal, a shell, gnuplot, a browser, a
# spreadsheet or a reader of JSON, as names of files, tensors, operators,
# kernels, modules and variables: none reaches an output as what it is meant to
# be, and no script for gnuplot does more than draw.
names()
{
    cat << 'END'
plain, comma
new\nline
tab\tstop
return\r
bell\a
escape\0033[31mred
title\0033]0;x\a
screen\0033[2J
delete\0177
csi\0302\0233 31m
override\0342\0200\0256turned
isolate\0342\0201\0246x\0342\0201\0251
zero\0342\0200\0213width
marks\0357\0273\0277\0302\0255\0363\0240\0201\0201
latin\0351
overlong\0300\0257
surrogate\0355\0240\0200
cut\0342\0202
byte\0377
"quoted", comma
'single'
back`touch made`tick
$(touch made)
${HOME}
;touch made;
|touch made
&& touch made
\0134
\0134"x
%s%n%1$n
@touch made
system("touch made")
`touch made`
"; system "touch made"; "
'.system('touch made').'
!touch made
<script>alert(1)<script>
" onload="alert(1)
<img src=x onerror=alert(1)>
<style><svg onload=alert(1)>
=cmd|' 'C'!A0
+1+cmd|'x'!A
-2+3+cmd|'x'!A
@SUM(A1:A9)
javascript:alert(1)
{^x}_{y}@~a{.8-}/Symbol
END
}

# A name as a text of JSON and Python; bytes that are no UTF-8 stay.
quoted()
{
    printf '%b' "$1" | LC_ALL=C od -An -v -tu1 | tr -s ' \n' '\n\n' |
        LC_ALL=C awk '
            $1 == "" { next }
            $1 < 32 || $1 == 127 || $1 == 34 || $1 == 92 {
                printf "\\u%04x", $1; next }
            { printf "%c", $1 + 0 }'
}

mkdir -p files st traces dump/step0/proc0 dump2/step0/proc0 py cut \
    dump3/step0/proc0/dump_tensor_data
some_logs d 50
set -- d/*
tensors='' events='' items='' calls='' at=0
while IFS= read -r coded; do
    name=$(printf '%bx' "$coded") name=${name%x} text=$(quoted "$coded")
    file=${name//\//_}
    cp "${!#}" "files/${file}_$at.pt" &&
        cp "$1" "files/$(basename "$1" .pt)$file.pt" || exit 98
    head -c 300 "$1" > "cut/${file}_$at.pt"
    head -c 300 "$1" > "dump3/step0/proc0/dump_tensor_data/$file.pt"
    shift
    printf 'def f(x):\n    """%s"""\n    return x.half().sum()\n' "$text" \
        > "py/${file}_$at.py"
    if printf %s "$name" | iconv -f utf-8 -t utf-8 > /dev/null 2>&1; then
        tensors="$tensors,\"$text\":{\"dtype\":\"F32\",\"shape\":[2],\
\"data_offsets\":[$((8 * at)),$((8 * at + 8))]}"
        events="$events,{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"$text\",\
\"pid\":1,\"tid\":1,\"ts\":$((100 * at)),\"dur\":50,\"args\":{\"External id\":\
$at,\"$text\":\"$text\"}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k$text\",\
\"pid\":0,\"tid\":7,\"ts\":$((100 * at + 20)),\"dur\":40,\"args\":{\
\"External id\":$at,\"stream\":7,\"device\":0}},{\"ph\":\"M\",\"name\":\
\"thread_name\",\"pid\":1,\"tid\":$at,\"args\":{\"name\":\"$text\"}}"
        for key in "Module.$text.Linear.forward.0" "$text.forward"; do
            items="$items,\"$key\":{\"input_args\":[{\
\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],\
\"Max\":$at,\
\"Min\":0.0,\"Mean\":0.5,\"Norm\":NUMBER,\"requires_grad\":false}],\
\"input_kwargs\":{},\"output\":[]}"
        done
        calls="$calls,\"Functional.$text.0.forward\":{\"input_args\":[{\
\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],\
\"Max\":$at,\"Min\":0.0,\"Mean\":0.5,\"Norm\":2.5,\"requires_grad\":false,\
\"data_name\":\"$text.pt\"}],\"input_kwargs\":{},\"output\":[]}"
        at=$((at + 1))
    fi
done < <(names)
header="{${tensors#,}}"
{
    le64 "$(printf %s "$header" | LC_ALL=C wc -c)"
    printf %s "$header"
    head -c $((8 * at)) /dev/zero
} > st/model.safetensors
printf '{"traceEvents":[%s]}' "${events#,}" > traces/rank0.json
for step in 1 2; do
    folder=dump$([ $step = 1 ] || echo 2)/step0/proc0
    printf '{"task":"statistics","level":"L0","framework":"pytorch",
"dump_data_dir":null,"data":{%s}}' "${items#,}" |
        sed "s/NUMBER/$step.5/g" > $folder/dump.json
    echo '{}' > $folder/stack.json
    echo '{}' > $folder/construct.json
done
printf '{"task":"tensor","level":"L1","framework":"pytorch",
"dump_data_dir":"x","data":{%s}}' "${calls#,}" > dump3/step0/proc0/dump.json
names | while IFS= read -r coded; do
    printf '%s: %b\n' "$(quoted "$coded")" "$coded"
done > map.yaml

run()
{
    local name=$1
    shift
    tprof-analyze "$@" > "$name.stdout" 2> "$name.stderr"
    echo "$name: $?"
}
run files tensors files --output_dir o_files --formats e4m3 --state s
run merge merge s --output_dir o_merge
run tensors tensors st --output_dir o_tensors --formats e4m3
run trace trace traces --output_dir o_trace --annotate o_trace.json
run traces trace --compare traces/rank0.json traces/rank0.json \
    --output_dir o_traces
run dump dump dump/step0 --output_dir o_dump
run compare compare dump/step0 dump2/step0 --output_dir o_compare
run mapped compare dump/step0 dump2/step0 --output_dir o_mapped \
    --map map.yaml
cp st/model.safetensors cut
run content compare cut files --match content --output_dir o_content
run cut dump dump3 --output_dir o_cut
run json dump dump3 --output_dir o_json --format json
run autodiff compare dump3 dump3 --autodiff --output_dir o_autodiff
run replay replay dump3 --output_dir o_replay
run page check py --output_dir o_page
run check check py
run sarif check py --format sarif
run inspect inspect files st
run nothing tensors "$(printf 'no\033[31m\n`touch made`')" --output_dir o_no

# What is read as text: no control characters but the ends of lines, none that
# turn or hide what follows, and UTF-8.
unseen=$(printf '\342\200[\213-\217\250-\256]\\|\342\201[\240-\257]')
unseen=$unseen$(printf '\\|\302\233\\|\302\255\\|\357\273\277\\|\363\240\201')
count=0
while IFS= read -r file; do
    count=$((count + 1))
    iconv -f utf-8 -t utf-8 "$file" > /dev/null 2>&1 || echo "no UTF-8: $file"
    # what was read is unchanged in there
    [ "$file" = ./o_trace.json ] && continue
    # msprobe ends its lines so
    [ "$file" = ./o_replay/free_benchmark.csv ] && sed -i 's/\r$//' "$file"
    [ "$(LC_ALL=C tr -cd '\000-\010\013-\037\177' < "$file" | wc -c)" = 0 ] ||
        echo "control: $file"
    LC_ALL=C grep -q "$unseen" "$file" && echo "turned or hidden: $file"
done < <(find . -name '*.std*' -o -path './o_*' -type f \
    \( -name '*.txt' -o -name '*.gp' -o -name '*.tsv' -o -name '*.csv' \
    -o -name '*.json' -o -name '*.html' \))
[ $count -gt 60 ] && echo "texts looked at"

# Pages hold no markup of theirs, tables no formula.
find . -path './o_*' -name '*.html' -exec cat {} + > pages
grep -cE '<script>alert|<img src=x|<(style><)?svg onload|" onload="alert' pages
LC_ALL=C grep -c "$(printf '[\001-\010\013-\037\177]')" pages
find . -path './o_*' -name '*.csv' -exec cat {} + > sheets
grep -cE '(^|,)"?([=+@]|-[^0-9.in,"])' sheets
# As many cells in each row, a quote only where a cell needs it (RFC 4180).
find . -path './o_*' -name '*.csv' | while IFS= read -r file; do
    LC_ALL=C awk '
        {
            for (i = 1; i <= length($0); i++) {
                c = substr($0, i, 1)
                if (state == "quoted")
                    state = c == "\"" ? "closed" : state
                else if (c == ",") {
                    cells++
                    state = ""
                } else if (c == "\"") {
                    wrong += state == "plain"
                    state = "quoted"
                } else {
                    wrong += state == "closed"
                    state = "plain"
                }
            }
            if (state == "quoted")
                next
            state = ""
            wanted = wanted ? wanted : cells + 1
            wrong += cells + 1 != wanted
            cells = 0
        }
        END { exit wrong > 0 || state == "quoted" }' "$file" ||
        echo "cells: $file"
done
# Cells of HDF5 neither; newlines stay, and a backslash is two of h5dump.
if command -v h5dump > /dev/null; then
    looked=0
    commands='\\(0[0-3][0-7]|177|[abefrtv]|302\\2[0-3][0-7]'
    commands=$commands'|342\\200\\25[2-6]|342\\201\\24[6-7]|377)'
    while IFS= read -r file; do
        looked=$((looked + 1))
        tables_of "$file" | sed 's/\\\\//g; s/\\000//g; s/\\37777777/\\/g' |
            LC_ALL=C grep -E -m 3 "$commands" &&
            echo "control: $file"
    done < <(find . -path './o_*' -name '*.h5')
    [ $looked -gt 5 ] || echo "only $looked files of HDF5"
fi
# JSON is JSON.
if command -v jq > /dev/null; then
    find . -path './o_*' -name '*.json' -o -name sarif.stdout \
        -o -name json.stdout |
        while IFS= read -r file; do jq -e . "$file" > /dev/null ||
            echo "no JSON: $file"; done
fi
# Scripts draw, and do nothing else.
drawn=0
if command -v gnuplot > /dev/null; then
    while IFS= read -r script; do
        (cd "$(dirname "$script")" && gnuplot -d "$(basename "$script")") \
            > /dev/null 2> wrong || { echo "gnuplot: $script"; cat wrong; }
        drawn=$((drawn + 1))
    done < <(find . -path './o_*' -name '*.gp')
    [ $drawn -gt 20 ] || echo "only $drawn scripts"
fi
find . -name made
