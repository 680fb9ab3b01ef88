/* SPDX-License-Identifier: MIT */
/* Trees are read back from the markup: names, values, what is inside what. */
#include "report/html_tree.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    int64_t trace, around;
    const char *kind, *name;
    int64_t count;
    double host_us, device_us;
};

static const struct tp_column place_columns[] = {
    TP_COLUMN(struct place, trace, "1"),
    TP_COLUMN(struct place, around, "1"),
    TP_COLUMN(struct place, kind, ""),
    TP_COLUMN(struct place, name, ""),
    TP_COLUMN(struct place, count, "1"),
    TP_COLUMN(struct place, host_us, "us"),
    TP_COLUMN(struct place, device_us, "us"),
};

struct why {
    const char *path, *kind, *change, *base_name, *test_name;
    double base_us, test_us;
};

static const struct tp_column why_columns[] = {
    TP_COLUMN(struct why, path, ""),      TP_COLUMN(struct why, kind, ""),
    TP_COLUMN(struct why, change, ""),    TP_COLUMN(struct why, base_name, ""),
    TP_COLUMN(struct why, test_name, ""), TP_COLUMN(struct why, base_us, "us"),
    TP_COLUMN(struct why, test_us, "us"),
};

/* Markup without tags: "> " in, "< " out of a list, a line an element. */
static void flatten(const char *html, char *to, size_t room)
{
    int depth = 0;
    size_t n = 0;
    for (const char *p = html; *p && n + 80 < room; p++) {
        if (*p != '<') {
            if (*p != '\n')
                to[n++] = *p;
            continue;
        }
        depth += !strncmp(p, "<ul>", 4) - !strncmp(p, "</ul>", 5);
        if (!strncmp(p, "<li>", 4))
            n += (size_t)snprintf(to + n, room - n, "\n%.*s", depth,
                                  "++++++++++++++++++++++++++++++++++++++++");
        if (!strncmp(p, "<span data-of", 13))
            to[n++] = '|';
        p = strchr(p, '>');
        cr_assert_not_null(p);
    }
    to[n] = '\0';
    cr_assert_eq(depth, 0);
}

static void expect_tree(const struct tp_table *table, const char *wanted)
{
    static char shown[1 << 16];
    struct tp_text html = {0};
    cr_assert(tp_html_is_tree(table));
    cr_assert_eq(tp_html_tree_add(&html, table, "x.h5", NULL), TP_OK);
    flatten(tp_text_get(&html), shown, sizeof shown);
    cr_expect_not_null(strstr(shown, wanted), "%s", shown);
    tp_text_clear(&html);
}

/* Heaviest first by the larger share; what is small is one line of sums. */
Test(html_tree, places)
{
    static const struct place rows[] = {{0, -1, "module", "Net", 2, 5000, 900},
                                        {0, 0, "operator", "mm", 3, 1000, 900},
                                        {0, 1, "kernel", "k<1>", 3, NAN, 900},
                                        {0, 0, "operator", "view", 1, 3, 0},
                                        {0, 0, "operator", "t", 4, 2, 0},
                                        {0, -1, "range", "loader", 1, 5000, 0},
                                        {0, -1, "kernel", "lone", 1, NAN, 100}};
    const struct tp_table table =
        TP_TABLE_OF("tree", place_columns, rows, sizeof rows / sizeof *rows);
    expect_tree(&table, "\n+module Net|2|5.000|0.900"
                        "\n++operator mm|3|1.000|0.900"
                        "\n+++kernel k&lt;1&gt;|3||0.900"
                        "\n++2 more|5|0.005|0.000"
                        "\n+range loader|1|5.000|0.000"
                        "\n+kernel lone|1||0.100");
}

/* A single one that is small is not folded into "1 more"; traces are apart. */
Test(html_tree, traces)
{
    static const struct place rows[] = {{0, -1, "operator", "a", 1, 1000, 0},
                                        {0, -1, "operator", "b", 1, 1, 0},
                                        {1, -1, "operator", "c", 1, 7, 0}};
    const struct tp_table table = TP_TABLE_OF("tree", place_columns, rows, 3);
    expect_tree(&table, "\n+operator a|1|1.000|0.000"
                        "\n+operator b|1|0.001|0.000");
    expect_tree(&table, "Row 1 of /ranks");
    expect_tree(&table, "\n+operator c|1|0.007|0.000");
}

/* Places of a path are made once, in whatever order the rows come; gaps are
 * apart; all adds up. */
Test(html_tree, changes)
{
    static const struct why rows[] = {
        {"step > a", "device", "slower", "k", "k", 1000, 3000},
        {"step > a b", "host", "removed", "", "", 500, 0},
        {"x", "gap", "faster", "y", "y", 4000, 1000},
        {"step > a > c", "device", "replaced", "k1", "k2", 1000, 2000},
        {"", "device", "added", "", "Memset", 0, 100},
        {"step > a", "call", "faster", "launch", "launch", 600, 400}};
    const struct tp_table table = TP_TABLE_OF("compare/why", why_columns, rows,
                                              sizeof rows / sizeof *rows);
    expect_tree(&table,
                "all of it|7.100|6.500|-0.600"
                "\n+ step|3.100|5.400|+2.300"
                "\n++ a|2.600|5.400|+2.800"
                "\n+++device, slower k|1.000|3.000|+2.000"
                "\n+++ c|1.000|2.000|+1.000"
                "\n++++device, replaced k1 now k2|1.000|2.000|+1.000"
                "\n+++call, faster launch|0.600|0.400|-0.200"
                "\n++ a b|0.500|0.000|-0.500"
                "\n+++host, removed itself|0.500|0.000|-0.500"
                "\n+ between operators, nothing recorded|4.000|1.000|-3.000"
                "\n++gap, faster x until y|4.000|1.000|-3.000"
                "\n+device, added Memset|0.000|0.100|+0.100");
}

/* A path of very many parts is not one of very many lists. */
Test(html_tree, deep)
{
    static char path[4096];
    struct why row = {path, "host", "slower", "", "", 1, 2};
    struct tp_text html = {0};
    for (size_t i = 0; i + 5 < sizeof path; i += 4)
        memcpy(path + i, i ? " > a" : "aaaa", 4);
    const struct tp_table table =
        TP_TABLE_OF("compare/why", why_columns, &row, 1);
    size_t lists = 0;
    cr_assert_eq(tp_html_tree_add(&html, &table, "x.h5", NULL), TP_OK);
    for (const char *p = tp_text_get(&html); (p = strstr(p, "<ul>")); p++)
        lists++;
    cr_expect_leq(lists, 42);
    cr_expect_gt(lists, 30);
    tp_text_clear(&html);
}

/* A dump's table of this name is another. */
Test(html_tree, others)
{
    const struct tp_table table = {
        .name = "tree", .columns = why_columns, .column_count = 7};
    cr_expect(!tp_html_is_tree(&table));
}

Test(html_tree, names_hold_no_markup)
{
    static const struct place rows[] = {
        {0, -1, "operator", "<script>alert(1)</script>", 1, 1000, 0},
        {0, 0, "operator", "</ul></details>\" onload='x", 1, 1000, 0},
        {0, 1, "operator", "\xe2\x80\xae\x1b[31m\xff", 1, 1000, 0}};
    const struct tp_table table = TP_TABLE_OF("tree", place_columns, rows, 3);
    expect_tree(&table, "\n+operator &lt;script&gt;alert(1)&lt;/script&gt;|");
    expect_tree(&table, "\n++operator &lt;/ul&gt;&lt;/details&gt;&quot; "
                        "onload=&#39;x|");
    expect_tree(&table, "\\x1b[31m\\xff|");
}
