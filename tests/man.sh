#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual is as true as the program. Its OPTIONS are exactly those of the
# program's table (--dump_options), its commands those of the program, and the
# guide has the section that each rule names, which names that rule. Both pages
# render without a warning, and every command in an example runs, in the order
# of the page, in a folder that holds testdata.
# TP_MAN_SHOW=1 shows what each example printed. Needs: TPROF, srcdir.

set -u
page=$srcdir/man/tprof-analyze.1
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-man.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
bad=0

# section NAME: the source lines of a section.
section()
{
    awk -v name="$1" '/^\.SH/ { on = $0 ~ "^\\.SH \"?" name "\"?$"; next } on' \
        "$page"
}

# Options stand first on a line of a .B, .BR, .BI macro below .TP.
section OPTIONS | sed 's/\\-/-/g' | awk '
    /^\.TP|^\.TQ/ { item = 1; next }
    item && /^\.[BI]/ {
        for (i = 2; i <= NF; i++)
            if (match($i, /^"?--[a-z_]+/)) {
                gsub(/[^a-z_-]/, " ", $i)
                split($i, word, " ")
                print word[1]
            }
    }
    { item = 0 }' | sort > "$work/page"
"$TPROF" --dump_options | sort > "$work/program"
if ! diff "$work/program" "$work/page" > "$work/diff"; then
    echo "options of the program (<) and of the manual (>) differ:"
    cat "$work/diff"
    bad=1
fi
[ -s "$work/program" ] || { echo "the program lists no options"; bad=1; }

# Commands are items of their own below Commands, and stand in SYNOPSIS.
"$TPROF" list commands | awk '/^  [a-z]/ { print $1 }' | sort > "$work/commands"
awk '/^\.S[SH]/ { on = $2 == "Commands" } on && item && /^\.B / { print $2 }
     { item = /^\.TP/ }' "$page" | sort > "$work/items"
if ! diff "$work/commands" "$work/items" > "$work/diff"; then
    echo "commands of the program (<) and of the manual (>) differ:"
    cat "$work/diff"
    bad=1
fi
while read -r command; do
    section SYNOPSIS | sed 's/\\f[A-Z]/ /g' | grep -qw "$command" || {
        echo "not in SYNOPSIS: $command"
        bad=1
    }
done < "$work/commands"
[ -s "$work/commands" ] || { echo "the program lists no commands"; bad=1; }

# "SECTION: rule" of each rule of the program stands among the words behind the
# "Finding:" of that section, and every section with findings is one of those.
guide=$srcdir/man/tprof-guide.7
{ "$TPROF" list rules && "$TPROF" list checks; } | sed -n \
    's/^  \([a-z0-9_]*\) .*\[tprof-guide: \([A-Z ]*\)\]$/\2: \1/p' |
    sort > "$work/linked"
awk 'NR == FNR { sub(/.*: /, ""); rule[$0] = 1; next }
    /^\.S[SH]/ { title = $0; sub(/^\.S[SH] *"?/, "", title); on = 0 }
    /^\.PP/ { on = 0 }
    on { gsub(/[^a-z0-9_]/, " ")
         for (i = 1; i <= NF; i++) if ($i in rule) print title ": " $i }
    /^\.B Finding:/ { on = 1; print title > titles }' \
    titles="$work/titles" "$work/linked" "$guide" | sort -u > "$work/told"
comm -23 "$work/linked" "$work/told" | grep . &&
    { echo "these rules are not told in their section of the guide"; bad=1; }
sed 's/: .*//' "$work/linked" | sort -u > "$work/sections"
sort -u "$work/titles" | comm -13 "$work/sections" - | grep . &&
    { echo "no rule has these sections of the guide, with findings"; bad=1; }
[ -s "$work/linked" ] || { echo "the program lists no sections"; bad=1; }

# Commands are the lines between .EX and .EE; a backslash continues one.
examples()
{
    awk '/^\.EX/ { on = 1; next } /^\.EE/ { on = 0 } on' "$1" |
        sed 's/\\-/-/g; s/\\e/\\/g' | sed -e ':more' -e '/\\$/{N' \
            -e 's/\\\n *//' -e 'b more' -e '}'
}

mkdir "$work/bin"
ln -s "$TPROF" "$work/bin/tprof-analyze"
PATH=$work/bin:$PATH

# run_page FILE: renders it, and runs its examples in a folder of its own.
run_page()
{
    local folder=$work/${1##*/} count=0 line program
    if command -v groff > /dev/null; then
        groff -man -Tutf8 -ww -z "$1" 2> "$work/groff" || bad=1
        [ -s "$work/groff" ] && { cat "$work/groff"; bad=1; }
    else
        echo "not rendered: no groff"
    fi
    mkdir "$folder"
    ln -s "$srcdir/testdata" "$folder/testdata"
    examples "$1" > "$work/examples"
    while read -r line; do
        [ -n "$line" ] || continue
        count=$((count + 1))
        program=$(echo "$line" | sed -n 's/.* | *\([a-z0-9]*\).*/\1/p')
        if [ -n "$program" ] && ! command -v "$program" > /dev/null; then
            echo "example not run, no $program: $line"
            continue
        fi
        if ! (cd "$folder" && bash -o pipefail -c "$line") \
            > "$work/out" 2>&1 < /dev/null; then
            echo "example of ${1##*/} fails: $line"
            tail -n 20 "$work/out"
            bad=1
        elif [ -n "${TP_MAN_SHOW-}" ]; then
            echo "== $line"
            cat "$work/out"
        fi
    done < "$work/examples"
    [ $count -gt 0 ] || { echo "no examples in ${1##*/}"; bad=1; }
    echo "man: $count examples of ${1##*/}"
}

run_page "$page"
run_page "$guide"
echo "man: $(wc -l < "$work/program") options," \
    "$(wc -l < "$work/linked") rules in sections of the guide"
exit $bad
