# SPDX-License-Identifier: MIT
# check_size.awk TAGS SOURCE...: TAGS holds ctags' lines for the sources.

BEGIN { FS = "\t" }

function complain(what)
{
    print what
    bad++
}

# Number of parameters in "(int a, void (*f)(int, int))"; the error object that
# ends every fallible call does not count.
function parameters(signature,    i, c, depth, count)
{
    if (signature ~ /^\( *(void)? *\)$/)
        return 0
    count = signature !~ /struct tp_error \* *err *\)$/
    for (i = 2; i < length(signature); i++) {
        c = substr(signature, i, 1)
        if (c == "(")
            depth++
        else if (c == ")")
            depth--
        else if (c == "," && depth == 0)
            count++
    }
    return count
}

# The element at share `q` of the `n` values of `list`, which it sorts.
function quantile(list, n, q,    i, j, t)
{
    for (i = 2; i <= n; i++) {
        t = list[i]
        for (j = i - 1; j > 0 && list[j] > t; j--)
            list[j + 1] = list[j]
        list[j + 1] = t
    }
    return n ? list[int(q * (n - 1)) + 1] : 0
}

FILENAME == "/dev/stdin" {
    name = $1
    file = $2
    start = end = 0
    signature = ""
    kind = $4
    for (i = 5; i <= NF; i++) {
        if ($i ~ /^line:/)
            start = substr($i, 6) + 0
        else if ($i ~ /^end:/)
            end = substr($i, 5) + 0
        else if ($i ~ /^signature:/)
            signature = substr($i, 11)
    }
    where = file ":" start ": " name
    if (parameters(signature) > 5)
        complain(where " has " parameters(signature) " parameters, at most 5")
    if (kind == "f") {
        lines[++functions] = end - start + 1
        if (end - start + 1 > 100)
            complain(where " has " end - start + 1 " lines, at most 100")
    } else if (kind == "p" && file ~ /\.h$/) {
        prototype[file, start] = name
        prototypes++
    }
    next
}

FNR == 1 {
    covered = 0
    FS = "\n"
    if (FILENAME ~ /\.c$/)
        files++
}

FILENAME ~ /\.c$/ { size[files] = FNR }

FNR == 651 { complain(FILENAME " has over 650 lines") }

# A comment covers the lines directly below it, up to the next blank line.
/\*\// { covered = 1 }
/^[ \t]*$/ { covered = 0 }
(FILENAME, FNR) in prototype {
    if (!covered)
        complain(FILENAME ":" FNR ": " prototype[FILENAME, FNR] \
                 " has no comment")
}

END {
    p95 = quantile(lines, functions, 0.95)
    median = quantile(lines, functions, 0.5)
    printf "%d functions: median %d lines, 95 %% up to %d; ", functions,
        median, p95
    printf "%d files: median %d lines; %d prototypes; %d breaches\n", files,
        quantile(size, files, 0.5), prototypes, bad
    if (median > 15)
        complain("the median function has over 15 lines")
    if (p95 > 60)
        complain("more than 5 % of the functions have over 60 lines")
    if (quantile(size, files, 0.5) > 250)
        complain("the median .c file has over 250 lines")
    exit bad > 0 || functions < 10
}
