# SPDX-License-Identifier: MIT
# Writes the style and the script of a page as C: awk -f embed.awk x.css x.js;
# files of one kind follow each other, and are one text.
BEGIN {
    print "/* Made by html/embed.awk from the files in html/. */"
    print "#include \"report/html_assets.h\""
}
FNR == 1 {
    kind = FILENAME ~ /\.css$/ ? "style" : "script"
    if (NR > 1 && kind != name)
        print "    0};"
    if (kind != name)
        printf "\nconst char *const tp_html_%s[] = {\n", kind
    name = kind
}
{
    gsub(/\\/, "\\\\\\\\")
    gsub(/"/, "\\\"")
    printf "    \"%s\\n\",\n", $0
}
END {
    print "    0};"
}
