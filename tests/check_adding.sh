#!/bin/sh
# SPDX-License-Identifier: MIT
# The table "What there is to add" of CONTRIBUTING.md is true: each file it
# names is there, each array or function stands in the file beside it, and if a
# file to write is dir/prefix_x.c there is at least one such already. The
# README links to that table.

cd "$srcdir" || exit 99
awk '
    function complain(what) { print "CONTRIBUTING.md: " what; bad++ }
    function exists(pattern,    command, found) {
        command = "ls -d " pattern " 2> /dev/null"
        found = (command | getline line) > 0
        close(command)
        return found
    }
    !/^\|/ { inside = 0; next }
    { gsub(/`/, ""); n = split($0, cell, "|") }
    cell[2] ~ /^ *to add *$/ { inside = 1; next }
    !inside || cell[2] ~ /^-+$/ { next }
    {
        rows++
        rest = cell[3]
        while (match(rest, /[a-z_0-9]+\/[a-z_0-9\/]*\.[a-z]+/)) {
            path = pattern = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            sub(/(_|\/)x\./, "&", pattern)
            if (pattern ~ /[_\/]x\./)
                sub(/x\./, "*.", pattern)
            if (!exists(pattern))
                complain("no file like " path)
        }
        m = split(cell[4], place, ";")
        for (i = 1; i <= m; i++) {
            split(place[i], part, ",")
            sub(/ or .*/, "", part[1])
            sub(/^.*: */, "", part[1])
            gsub(/ /, "", part[1])
            gsub(/ /, "", part[2])
            found = 0
            while ((getline line < part[2]) > 0)
                if (line ~ "(^|[^a-z_])" part[1] \
                            "((\\[.*\\])? *= *(\\{|\\\\)|\\([^;]*$)")
                    found = 1
            close(part[2])
            if (!found)
                complain("no table " part[1] " in " part[2])
            places++
        }
    }
    END {
        printf "%d things to add, %d tables, %d wrong\n", rows, places, bad
        exit bad > 0 || rows < 8 || places < 8
    }' CONTRIBUTING.md || exit 1
grep -q 'CONTRIBUTING.md#what-there-is-to-add' README.md || {
    echo "README.md does not link to the table"
    exit 1
}
