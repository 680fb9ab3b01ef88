# SPDX-License-Identifier: MIT
# Writes the style and the script of a page as C: awk -f embed.awk x.css x.js
BEGIN {
    print "/* Made by html/embed.awk from the files in html/. */"
    print "#include \"report/html_assets.h\""
}
FNR == 1 {
    if (NR > 1)
        print "    0};"
    name = FILENAME ~ /\.css$/ ? "style" : "script"
    printf "\nconst char *const tp_html_%s[] = {\n", name
}
{
    gsub(/\\/, "\\\\\\\\")
    gsub(/"/, "\\\"")
    printf "    \"%s\\n\",\n", $0
}
END {
    print "    0};"
}
