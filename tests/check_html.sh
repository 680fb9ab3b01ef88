#!/bin/sh
# SPDX-License-Identifier: MIT
# The hashes by which a page's policy knows its style and its script are those
# of the files, and the script could not end early; findings of each rule about
# traces know which tables they stand on; names and colours of times are those
# of the figures. Needs srcdir.

command -v sha256sum > /dev/null || { echo "skipped: no sha256sum"; exit 77; }
command -v base64 > /dev/null || { echo "skipped: no base64"; exit 77; }
header=$srcdir/src/report/html_assets.h
bad=0
assets=$(sed -n '/^HTML_ASSETS = /,/[^\\]$/{s/^HTML_ASSETS = //;s/\\$//;p}' \
    "$srcdir/html/Makefile.inc")
for kind in css js; do
    files=
    for asset in $assets; do
        case $asset in *."$kind") files="$files $srcdir/$asset" ;; esac
    done
    # shellcheck disable=SC2086 # names without blanks, but for srcdir's
    octal=$(cat $files | sha256sum | cut -c1-64 | awk '{
        digits = "0123456789abcdef"
        for (i = 1; i < 64; i += 2)
            printf "\\%03o", 16 * (index(digits, substr($0, i, 1)) - 1) \
                + index(digits, substr($0, i + 1, 1)) - 1
    }')
    # shellcheck disable=SC2059 # octal escapes are what is printed
    hash=sha256-$(printf "$octal" | base64)
    grep -qF "\"$hash\"" "$header" || {
        echo "$header has to know$files as $hash"
        bad=1
    }
    # shellcheck disable=SC2086
    if grep -n '</\(script\|style\)\|<!--' $files; then
        echo "ends the element it stands in"
        bad=1
    fi
done
for rule in $(sed -n 's/^ *{"\([a-z_0-9]*\)".*/\1/p' \
    "$srcdir/src/verdict/trace_rules.c"); do
    grep -q "\b$rule: \[\[" "$srcdir/html/report_evidence.js" || {
        echo "OF_TRACES of html/report_evidence.js has no $rule"
        bad=1
    }
done
# colours of times and their names are those of the figures
figures=$srcdir/src/figures/trace_colours.c
for colour in $(sed -n 's/svg \.t-/\n&/g; p' "$srcdir/html/report.css" |
    sed -n 's/^svg \.t-[a-z]* { fill: \(#[0-9a-f]*\); }.*/\1/p'); do
    grep -q "\"$colour\", \"" "$figures" || {
        echo "html/report.css: $colour is no colour of $figures"
        bad=1
    }
done
sed -n "s/^  \([a-z]*\): \['[A-Z]', '\(.*\)'\],$/\1:\2/p" \
    "$srcdir/html/report_traces.js" | {
    while IFS=: read -r kind words; do
        colour=$(sed -n "s/.*svg \.t-$kind { fill: \(#[0-9a-f]*\);.*/\1/p" \
            "$srcdir/html/report.css")
        grep -q "\"$colour\", \"$words\"" "$figures" || {
            echo "html/report_traces.js: $words ($colour) is not in $figures"
            bad=1
        }
    done
    exit $bad
}
