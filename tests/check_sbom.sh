#!/bin/sh
# SPDX-License-Identifier: MIT
# The list of what the program is made of (sbom.cdx.json, CycloneDX 1.5) is
# true: its version is configure's, it has every library that configure looks
# for with the same least version, and each stands in the README's table.

cd "$srcdir" || exit 99
bad=0
complain()
{
    echo "sbom.cdx.json: $1"
    bad=$((bad + 1))
}

# "NAME LEAST-VERSION" of each library, as configure.ac has them.
asked()
{
    grep -v '^ *#' configure.ac |
        grep -o 'TP_LIBRARY(\[[A-Z0-9]*\], \[[^]]*\]' |
        sed 's/.*\[\(.*\)\]/\1/; s/ >= / /'
    printf '%s\n' hdf5 mpi-c
    sed -n 's/.*PKG_CHECK_MODULES(\[CRITERION\], \[\(.*\)\],.*/\1/p' \
        configure.ac | sed 's/ >= / /'
}

# The same of the list: what stands in its properties.
listed()
{
    awk -F'"' '
        /"bom-ref"/ { end() }
        $4 == "pkg-config" { which = 1 }
        $4 == "least-version" { which = 2 }
        $2 == "value" && which == 1 { name = $4; which = 0 }
        $2 == "value" && which == 2 { least = " " $4; which = 0 }
        END { end() }
        function end() { if (name) print name least; name = least = "" }
        ' sbom.cdx.json
}

version=$(sed -n 's/^AC_INIT(\[tprof-analyze\], \[\(.*\)\])/\1/p' configure.ac)
grep -q "\"version\": \"$version\"" sbom.cdx.json ||
    complain "another version than configure's $version"
wanted=$(asked | sort) found=$(listed | sort)
[ "$wanted" = "$found" ] ||
    complain "configure looks for: $wanted; it lists: $found"
names=$(awk -F'"' '/^    {/ { in_one = 1 }
    in_one && $2 == "name" { print $4; in_one = 0 }' sbom.cdx.json)
[ -n "$names" ] || complain "no component"
echo "$names" | {
    count=0
    while read -r name; do
        count=$((count + 1))
        grep -q "^| ${name% runtime}" README.md ||
            grep -q "^| ${name##* }" README.md ||
            complain "$name is not in the README's table"
    done
    echo "$count components, $bad wrong"
    [ "$bad" = 0 ]
}
