# SPDX-License-Identifier: MIT
# Newlines, quotes, escapes, blanks, bytes that are no UTF-8.
need h5dump jq
some_logs d 1
set -- d/*
folder=$(printf 'a\nb')
mkdir "d/$folder"
cp "$1" "d/$folder/x.pt"
cp "$1" "d/$(printf 'new\nline.pt')"
cp "$1" "d/$(printf 'escape\033[31m.pt')"
cp "$1" "d/$(printf 'latin\351.pt')"
cp "$1" "d/qu'ote\"s\`id\`\$(id).pt"
cp "$1" "d/-dash.pt"
cp "$1" "d/ blank .pt"
rm "$1"
must tprof-analyze --tensor_dir d --output_dir out > text
rows out/summary.h5
# Nothing of it reaches a terminal raw.
grep -c "$(printf '\033')" text out/report.txt
jq -e '.findings | type' out/findings.json
tprof-analyze --tensor_dir d --output_dir out --no_plots --format json |
    jq -e type
