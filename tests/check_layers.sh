#!/bin/sh
# SPDX-License-Identifier: MIT
# The arrows of the house. CONTRIBUTING.md has a table of folders and what
# each may see, and a table of what there is to add; this holds the code to
# both, over every #include "..." and every symbol that one object takes from
# another (nm, of what is built):
#
# - a folder uses only folders it may see (and what these may see);
# - modules are in no circle. A module is a header with the source of the same
#   name. Left out are edges from the file of a table to the rows it lists;
# - no folder has more than MOST percent of the lines;
# - the name of a file is unique in the whole tree (headers and their sources
#   share one).
#
# Needs srcdir; builddir with libraries for the symbols.

MOST=15
cd "$srcdir" || exit 99
LC_ALL=C
export LC_ALL
sources=$(find src formats cuda mpi plots -type f \( -name '*.[ch]' \
    -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.inc' \) \
    ! -name Makefile.inc ! -path plots/templates.c | sort)
symbols=$(mktemp) || exit 99
trap 'rm -f "$symbols"' EXIT
# "name of the object, kind, symbol", of everything built
for built in "$builddir"/libtp_*.a "$builddir"/cuda/*.eo \
             "$builddir"/src/cli/*.o; do
    test -f "$built" && nm -A -g -P "$built" 2> /dev/null
done | awk '{
    object = $1
    sub(/:$/, "", object)
    if (sub(/\]$/, "", object)) sub(/^.*\[/, "", object)
    else sub(/^.*\//, "", object)
    sub(/\.(o|eo)$/, "", object)
    sub(/^libtp_[a-z]+_a-/, "", object)
    sub(/^tprof_analyze-/, "", object)
    print object, $3, $2
}' | sort -u > "$symbols"

# shellcheck disable=SC2086 # no blank in our file names
awk -v most=$MOST -f tests/check_layers.awk CONTRIBUTING.md "$symbols" $sources
