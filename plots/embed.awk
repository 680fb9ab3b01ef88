# SPDX-License-Identifier: MIT
# Writes the templates given as a C table: awk -f embed.awk a.gp b.gp > x.c
BEGIN {
    print "/* Made by plots/embed.awk from the templates in plots/. */"
    print "#include \"report/plot_script.h\"\n"
    print "const struct tp_template tp_templates[] = {"
}
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.gp$/, "", name)
    if (NR > 1)
        print "    },"
    printf "    {\"%s\",\n", name
}
{
    gsub(/\\/, "\\\\\\\\")
    gsub(/"/, "\\\"")
    printf "     \"%s\\n\"\n", $0
}
END {
    print "    },"
    print "    {0, 0}\n};"
}
