#!/bin/sh
# SPDX-License-Identifier: MIT
# The look of all text files: licence line, 80 columns, no tabs in C, no
# blanks at line ends, no carriage returns, no path of somebody's machine. And
# no program that was built is kept with the sources.

cd "$srcdir" || exit 99
LC_ALL=C
export LC_ALL
built=$(git ls-files -z 2> /dev/null |
    xargs -0 -r grep -la "$(printf '\177ELF')")
[ -z "$built" ] || { echo "built, and committed: $built"; exit 1; }
find src formats cuda mpi plots tests man .ci bootstrap configure.ac \
    Makefile.am \
    README.md CONTRIBUTING.md -type f \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \
    -o -name '*.sh' -o -name '*.awk' \
    -o -name '*.gp' -o -name '*.py' -o -name '*.inc' -o -name '*.am' \
    -o -name '*.ac' -o -name '*.md' -o -name '*.1' -o -name bootstrap \
    -o -path .ci/run \) ! -path plots/templates.c 2> /dev/null | sort |
xargs awk '
    function complain(what)
    {
        print FILENAME ":" FNR ": " what
        bad++
    }
    FNR == 1 {
        files++
        code = FILENAME ~ /\.([ch]|cuh?|cpp|inc)$/ &&
            FILENAME !~ /Makefile\.inc$/
        embedded = FILENAME ~ /\.gp$/ # in the scripts users get
        prose = FILENAME ~ /\.(md|1)$/
        spdx = 0
    }
    FNR <= 2 && /SPDX-License-Identifier: MIT/ { spdx = 1 }
    FNR == 2 && !spdx && !prose && !embedded { complain("no SPDX line above") }
    {
        # Characters, not bytes: continuation bytes of UTF-8 do not count.
        line = $0
        if (line ~ /[\200-\377]/)
            gsub(/[\200-\277]/, "", line)
        if (length(line) > 80 && !prose)
            complain(length(line) " columns")
    }
    code && /\t/ { complain("tab") }
    /[ \t]$/ { complain("blank at the end") }
    /\r/ { complain("carriage return") }
    /(^|[^A-Za-z0-9_.])\/(work|farm|root|home)\// {
        complain("path of a machine")
    }
    END {
        printf "%d files, %d breaches\n", files, bad
        exit bad > 0 || files < 20
    }'
