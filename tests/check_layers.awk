# SPDX-License-Identifier: MIT
# For check_layers.sh: reads CONTRIBUTING.md, the symbols, then all sources.

function folder_of(path)
{
    sub(/\/[^\/]*$/, "", path)
    return path
}

# A header with the source of its name; one of the insides of x.c (x_math.h,
# x_lanes.h, x_plan.h, x_state.cuh) with that.
function module_of(path,    name)
{
    sub(/\.[a-z]+$/, "", path)
    name = path
    if (!(name in compiled) && sub(/_(math|lanes|plan|state)$/, "", name) &&
        name in compiled)
        return name
    return path
}

BEGIN {
    for (i = 3; i < ARGC; i++)
        if (ARGV[i] !~ /\.(h|cuh|inc)$/) {
            path = ARGV[i]
            sub(/\.[a-z]+$/, "", path)
            compiled[path] = 1
        }
}

function complain(what)
{
    print what
    bad++
}

# What a folder sees, with what that sees in turn.
function open_up(folder,    part, n, i)
{
    if (folder in opened)
        return
    opened[folder] = 1
    sees[folder, folder] = 1
    n = split(direct[folder], part, /, */)
    for (i = 1; i <= n; i++) {
        if (part[i] == "-" || part[i] == "")
            continue
        if (!(part[i] in direct)) {
            complain("CONTRIBUTING.md: " folder " sees unknown " part[i])
            continue
        }
        open_up(part[i])
        for (other in direct)
            if ((part[i], other) in sees)
                sees[folder, other] = 1
    }
}

# One thing in `from` (a file) uses one in module `to`; `row`: that is a row of
# the table in `from`.
function use(from, to, where, row,    a, b, m)
{
    a = folder_of(from)
    b = folder_of(to)
    if (!((a, b) in sees))
        complain(where ": " a " may not see " b)
    if (row)
        return
    m = module_of(from)
    to = module_of(to)
    if (m == to)
        return
    if (!((m, to) in edge)) {
        edge[m, to] = where
        targets[m] = targets[m] " " to
        edges++
    }
    known[m] = known[to] = 1
}

# Whether module `to` has a row of the table in file `from`, named `symbol`
# there: it stands inside the initialiser of an array.
function is_row(from, to, symbol,    i)
{
    for (i = 1; i <= rows; i++)
        if (row_file[i] == from && to ~ row_pattern[i] &&
            (from, symbol) in in_table)
            return 1
    return 0
}

# Tarjan's search for circles (strongly connected components): circle[m] is
# the same for all modules of one.
function visit(m,    part, n, i, to)
{
    number[m] = low[m] = ++visited
    stack[++depth] = m
    on_stack[m] = 1
    n = split(targets[m], part, " ")
    for (i = 1; i <= n; i++) {
        to = part[i]
        if (!(to in number)) {
            visit(to)
            if (low[to] < low[m])
                low[m] = low[to]
        } else if (on_stack[to] && number[to] < low[m]) {
            low[m] = number[to]
        }
    }
    if (low[m] == number[m])
        do {
            to = stack[depth--]
            on_stack[to] = 0
            circle[to] = m
        } while (to != m)
}

# Takes a line of a table apart: cell[1..n], without backquotes.
function cells_of(line, cell,    n, i)
{
    gsub(/`/, "", line)
    n = split(line, cell, "|")
    for (i = 1; i <= n; i++)
        gsub(/^ +| +$/, "", cell[i])
    return n
}

FILENAME == ARGV[1] {
    if (!/^\|/) {
        table = ""
        next
    }
    n = cells_of($0, cell)
    if (cell[2] == "folder" || cell[2] == "to add") {
        table = cell[2]
    } else if (cell[2] !~ /^-+$/ && table == "folder") {
        direct[cell[2]] = cell[4]
        folders++
    } else if (cell[2] !~ /^-+$/ && table == "to add") {
        # "dir/rule_x.c" and "table, file; table, file"
        if (!match(cell[3], /[a-z_\/]+\/[a-z_]*x\.[a-z]+/))
            next
        pattern = substr(cell[3], RSTART, RLENGTH)
        sub(/x\.[a-z]+$/, "", pattern)
        m = split(cell[4], place, /; */)
        for (i = 1; i <= m; i++) {
            sub(/^[^,]*, */, "", place[i])
            row_file[++rows] = place[i]
            row_pattern[rows] = "^" pattern "[^/]*$"
        }
    }
    next
}

FILENAME == ARGV[2] {
    if ($2 == "U")
        wants[++want_count] = $1 " " $3
    else if ($2 != "w" && !($3 in made_by))
        made_by[$3] = $1
    next
}

FNR == 1 {
    files++
    folder = folder_of(FILENAME)
    path = name = FILENAME
    sub(/\.[a-z]+$/, "", path)
    sub(/\.[a-z]+$/, "", name)
    sub(/^.*\//, "", name)
    if (!(folder in direct))
        complain(FILENAME ": CONTRIBUTING.md has no folder " folder)
    if (name in where && where[name] != path)
        complain(FILENAME ": " where[name] " has that name, too")
    where[name] = path
    if (FILENAME !~ /\.h$/ && !(name in source))
        source[name] = FILENAME
    if (files == 1)
        for (one in direct)
            open_up(one)
}

{
    lines[folder]++
    all_lines++
}

# Names of functions inside a table, from "[] = {" or "[...] = {" to "};".
/^[a-z].*\[.*\] *= *\{/ { inside = 1 }
inside {
    rest = $0
    while (match(rest, /tp_[a-z0-9_]+/)) {
        in_table[FILENAME, substr(rest, RSTART, RLENGTH)] = 1
        rest = substr(rest, RSTART + RLENGTH)
    }
}
/^\};/ { inside = 0 }

/^[ \t]*#[ \t]*include[ \t]*<[a-z]+\/[a-z_]+\.h>/ {
    split($0, part, /[<>]/)
    if ((getline line < ("src/" part[2])) > 0)
        complain(FILENAME ":" FNR ": \"\" around " part[2])
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    header = part[2]
    if (header == "config.h")
        next
    includes++
    path = ""
    if (header ~ /^(formats|cuda|mpi|plots)\//)
        path = header
    else if (header ~ /\//)
        path = "src/" header
    sub(/\.[a-z]+$/, "", path)
    if (path == "")
        complain(FILENAME ":" FNR ": name the folder: \"" header "\"")
    else
        use(FILENAME, path, FILENAME ":" FNR, 0)
}

END {
    for (i = 1; i <= want_count; i++) {
        split(wants[i], part, " ")
        if (!(part[2] in made_by))
            continue
        from = part[1]
        to = made_by[part[2]]
        if (from == to || !(from in source) || !(to in source))
            continue
        uses++
        use(source[from], where[to], source[from] " uses " part[2],
            is_row(source[from], where[to], part[2]))
    }
    for (one in known)
        if (!(one in number))
            visit(one)
    for (pair in edge) {
        split(pair, end, SUBSEP)
        if (circle[end[1]] == circle[end[2]])
            complain("circle: " end[1] " -> " end[2] " (" edge[pair] ")")
    }
    for (one in lines) {
        if (lines[one] > biggest) {
            biggest = lines[one]
            big = one
        }
        if (lines[one] * 100 > most * all_lines)
            complain(one ": " lines[one] " of " all_lines " lines")
    }
    for (one in direct)
        if (!(one in lines) && one != "plots")
            complain("CONTRIBUTING.md: no folder " one)
    printf "%d folders, %d files, %d includes, %d uses of symbols, ", folders,
        files, includes, uses
    printf "%d edges; biggest %s, %.1f %%; %d breaches\n", edges, big,
        100 * biggest / all_lines, bad
    if (uses < files)
        print "too few symbols: build it all, and see that nm works"
    exit bad > 0 || uses < files || files < 10 || folders < 10 || rows < 5
}
