#!/bin/sh
# SPDX-License-Identifier: MIT
# Every #include "..." of a layer names a header of a layer it may see; the
# drawing is in README.md. Libraries alone do not show this: a header without
# functions would slip through.

cd "$srcdir" || exit 99
find src formats cuda plots -name '*.[ch]' -o -name '*.cu' | sort |
xargs awk '
    BEGIN {
        see["base"]    = "base"
        see["data"]    = "base data"
        see["stats"]   = "base data stats"
        see["cuda"]    = "base data stats cuda"
        see["formats"] = "base data formats"
        see["analyze"] = "base data stats cuda formats analyze"
        see["report"]  = "base data stats formats analyze report"
        see["plots"]   = see["report"] " plots"
        see["cli"]     = see["plots"] " cuda cli"
    }
    FNR == 1 {
        files++
        layer = FILENAME
        sub(/^src\//, "", layer)
        sub(/\/.*/, "", layer)
        if (!(layer in see)) {
            print FILENAME ": no such layer: " layer
            bad++
        }
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, part, "\"")
        header = part[2]
        from = header
        sub(/\/.*/, "", from)
        includes++
        if (header == "config.h")
            next
        if (header !~ /\//) {
            print FILENAME ":" FNR ": name the layer: \"" header "\""
            bad++
        } else if (index(" " see[layer] " ", " " from " ") == 0) {
            print FILENAME ":" FNR ": " layer " may not see " header
            bad++
        }
    }
    END {
        printf "%d files, %d includes, %d breaches\n", files, includes, bad
        exit bad > 0 || files < 10
    }'
