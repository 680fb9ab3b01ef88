#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests mirror the sources: tests/unit/FOLDER/test_NAME.c tests the source of
# FOLDER whose name is the longest beginning of NAME that ends at a "_" (so
# test_trace_reader_damage.c tests trace_reader.c), and every folder with
# sources has a test. Who changes a file finds its tests by name. How many .c
# and .cpp files no test names is printed, and with TP_VERBOSE set which: some
# are tested by a test of a file that uses them. Needs: srcdir.

cd "$srcdir" || exit 99
{
    find src formats cuda -type f | sed 's|^src/||; s|^|source |'
    find tests/unit/support -type f ! -name 'test_*' |
        sed 's|^tests/unit/|source |'
    find tests/unit -name 'test_*.c' -o -name 'test_*.cpp' |
        sed 's|^tests/unit/|test |'
} | grep -E '\.(c|h|cpp|cu|cuh|inc)$' | grep -v 'Makefile\.inc$' | sort |
awk -v verbose="${TP_VERBOSE:+1}" '
    function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    function name_of(path)
    {
        sub(/.*\//, "", path)
        sub(/\.[a-z]*$/, "", path)
        return path
    }
    {
        folder = folder_of($2)
        name = name_of($2)
    }
    $1 == "source" {
        if (!((folder, name) in is_source))
            sources++
        is_source[folder, name] = 1
        if ($2 ~ /\.(c|cpp)$/ && folder != "support") {
            units++
            file_of[units] = $2
            key_of[units] = folder SUBSEP name
        }
        if (!(folder in has_test))
            has_test[folder] = 0
        next
    }
    {
        tests++
        sub(/^test_/, "", name)
        while (name != "" && !((folder, name) in is_source))
            if (!sub(/_[^_]*$/, "", name))
                name = ""
        if (name == "") {
            print "tests/unit/" $2 ": names no source of " folder
            bad++
        } else if (!((folder, name) in tested)) {
            tested[folder, name] = 1
            named++
        }
        has_test[folder]++
    }
    END {
        for (folder in has_test) {
            folders++
            if (has_test[folder] == 0 && folder != "support") {
                print folder ": no test in tests/unit/" folder
                bad++
            }
        }
        for (i = 1; i <= units; i++) {
            if (key_of[i] in tested)
                continue
            without++
            if (verbose)
                print file_of[i] ": no test of its name"
        }
        printf "%d of %d .c and .cpp files have no test of their name\n",
               without, units
        printf "%d folders, %d sources, %d tests that name %d of them, " \
               "%d breaches\n", folders, sources, tests, named, bad
        exit bad > 0 || tests < 10
    }'
