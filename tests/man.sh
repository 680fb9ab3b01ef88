#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual is as true as the program: its OPTIONS are exactly those of the
# program's table (--dump_options), its commands those of the program, it
# renders without a warning, and every command in EXAMPLES runs, in this order,
# in a folder that holds testdata.
# Needs: TPROF, srcdir.

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

if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww -z "$page" 2> "$work/groff" || bad=1
    [ -s "$work/groff" ] && { cat "$work/groff"; bad=1; }
else
    echo "not rendered: no groff"
fi

# Commands are the lines between .EX and .EE.
section EXAMPLES | awk '/^\.EX/ { on = 1; next } /^\.EE/ { on = 0 } on' |
    sed 's/\\-/-/g; s/\\e/\\/g' > "$work/examples"
mkdir "$work/bin" "$work/run"
ln -s "$TPROF" "$work/bin/tprof-analyze"
ln -s "$srcdir/testdata" "$work/run/testdata"
PATH=$work/bin:$PATH
count=0
while read -r line; do
    [ -n "$line" ] || continue
    count=$((count + 1))
    program=$(echo "$line" | sed -n 's/.*[^|]| *\([a-z0-9]*\).*/\1/p')
    if [ -n "$program" ] && ! command -v "$program" > /dev/null; then
        echo "example not run, no $program: $line"
        continue
    fi
    if ! (cd "$work/run" && bash -o pipefail -c "$line") \
        > "$work/out" 2>&1 < /dev/null; then
        echo "example fails: $line"
        tail -n 20 "$work/out"
        bad=1
    fi
done < "$work/examples"
[ $count -gt 0 ] || { echo "no examples"; bad=1; }
echo "man: $(wc -l < "$work/program") options, $count examples"
exit $bad
