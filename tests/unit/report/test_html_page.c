/* SPDX-License-Identifier: MIT */
/* Pages are read back here: rows unpacked, markup looked at. What a browser
 * makes of them is for tests/browser. */
#include "report/html_page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "report/html_assets.h"
#include "report/html_table.h"
#include "report/html_write.h"

struct row {
    const char *name;
    int64_t integer;
    uint64_t count;
    double real;
};

static const struct tp_column columns[] = {
    TP_COLUMN(struct row, name, ""),
    TP_COLUMN(struct row, integer, "1"),
    TP_COLUMN(struct row, count, "B"),
    TP_COLUMN(struct row, real, "us"),
};

static const struct row rows[] = {
    {"plain", 7, 1, 0.1},
    {"</script><script>alert(1)</script>", -1, UINT64_MAX, NAN},
    {"\"quoted\" & 'so'", 0, 0, -INFINITY},
    {"a\033[31m\xe2\x80\xae\xff", 1, 2, 1e300},
};

static struct tp_table table_of(const char *name, size_t count)
{
    return (struct tp_table){.name = name,
                             .columns = columns,
                             .column_count = 4,
                             .rows = rows,
                             .row_count = count,
                             .row_size = sizeof(struct row)};
}

/* --- texts ---------------------------------------------------------------- */

Test(html_write, texts_hold_no_markup)
{
    static const char *const names[] = {
        "<script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "</style><img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "<!--",
        "]]>",
        "a\nb\rc\td",
        "\xe2\x80\xae\xe2\x81\xa6 turned",
        "\x1b]8;;http://x\x07",
        "&lt;b&gt;",
        "\xff\xfe\xed\xa0\x80",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tp_text html = {0};
        tp_html_text(&html, names[i]);
        const char *text = tp_text_get(&html);
        cr_expect_null(strpbrk(text, "<>\"'\n\r\t\x1b\x07"), "%s", text);
        cr_expect(tp_text_is_utf8(text));
        cr_expect_null(strstr(text, "\xe2\x80\xae"), "%s", text);
        tp_text_clear(&html);
    }
}

static void expect_base64(const char *bytes, const char *wanted)
{
    struct tp_text text = {0};
    tp_html_base64(&text, bytes, strlen(bytes));
    cr_expect_str_eq(tp_text_get(&text), wanted);
    tp_text_clear(&text);
}

/* RFC 4648, section 10. */
Test(html_write, base64)
{
    expect_base64("", "");
    expect_base64("f", "Zg==");
    expect_base64("fo", "Zm8=");
    expect_base64("foo", "Zm9v");
    expect_base64("foob", "Zm9vYg==");
    expect_base64("fooba", "Zm9vYmE=");
    expect_base64("foobar", "Zm9vYmFy");
    expect_base64("\xff\xef\xbe", "/+++");
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

/* --- rows ----------------------------------------------------------------- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    return (int)(strchr(digits, c) - digits);
}

/* The JSON of the first rows that stand in a page; released with free(). */
static char *unpack(const char *html)
{
    const char *at = strstr(html, "data-rows=");
    cr_assert_not_null(at);
    at = strchr(at, '>') + 1;
    const size_t length = strcspn(at, "<");
    unsigned char *bytes = malloc(length);
    size_t count = 0;
    for (size_t i = 0; i + 3 < length; i += 4) {
        unsigned group = 0;
        for (int k = 0; k < 4; k++)
            group = group << 6 |
                    (at[i + k] == '=' ? 0U : (unsigned)digit_of(at[i + k]));
        for (int k = 0; k < 3 && (k == 0 || at[i + k + 1] != '='); k++)
            bytes[count++] = (unsigned char)(group >> (16 - 8 * k));
    }
    uLongf room = 1 << 22;
    char *json = malloc(room + 1);
    cr_assert_eq(uncompress((Bytef *)json, &room, bytes, count), Z_OK);
    json[room] = '\0';
    free(bytes);
    return json;
}

Test(html_table, rows_are_packed)
{
    struct tp_text html = {0};
    struct tp_html_packed packed = {.bytes = NULL};
    const struct tp_table table = table_of("a/b", 4);
    cr_assert_eq(tp_html_table_pack(&html, &table, 1 << 20, &packed, NULL),
                 TP_OK);
    cr_expect_eq(packed.rows, 4);
    cr_expect_not_null(strstr(tp_text_get(&html), "data-rows=\"a/b\""));
    char *json = unpack(tp_text_get(&html));
    cr_expect_str_eq(
        json,
        "{\"name\":\"a/b\",\"columns\":["
        "{\"name\":\"name\",\"unit\":\"\",\"number\":false},"
        "{\"name\":\"integer\",\"unit\":\"1\",\"number\":true},"
        "{\"name\":\"count\",\"unit\":\"B\",\"number\":true},"
        "{\"name\":\"real\",\"unit\":\"us\",\"number\":true}],"
        "\"total\":4,\"rows\":["
        "[\"plain\",7,1,0.1],\n"
        "[\"</script><script>alert(1)</script>\",null,18446744073709551615,"
        "null],\n"
        "[\"\\\"quoted\\\" & 'so'\",0,0,\"-inf\"],\n"
        "[\"a\\\\x1b[31m\\\\xe2\\\\x80\\\\xae\\\\xff\",1,2,1e+300]]}");
    free(json);
    tp_html_packed_clear(&packed);
    tp_text_clear(&html);
}

/* Rows that are made, many, and such as cannot be deflated to nothing. */
static void make_rows(const void *from, size_t first, size_t count, void *made)
{
    struct row *row = made;
    (void)from;
    for (size_t i = 0; i < count; i++)
        row[i] = (struct row){.name = "x",
                              .integer = (int64_t)(first + i),
                              .count = (first + i) * 2654435761U % 1000003,
                              .real = sin((double)(first + i))};
}

/* A column that says nothing in all rows is not among those that stand in the
 * page without its script; one that says something in one row is. */
Test(html_table, columns_without_a_word_are_not_shown)
{
    static const struct row blank[] = {
        {.name = "", .integer = -1, .count = 0, .real = NAN},
        {.name = "", .integer = -1, .count = 0, .real = NAN},
        {.name = "x", .integer = 0, .count = 0, .real = -INFINITY}};
    const struct tp_table table = TP_TABLE_OF("blank", columns, blank, 3);
    struct tp_text html = {0};
    tp_html_table_rows(&html, &table, 2);
    cr_expect_null(strstr(tp_text_get(&html), ">name<"));
    cr_expect_null(strstr(tp_text_get(&html), ">integer<"));
    cr_expect_null(strstr(tp_text_get(&html), ">real ["));
    cr_expect_eq(count_of(tp_text_get(&html), "<th "), 1);
    cr_expect_eq(count_of(tp_text_get(&html), "<td class=\"number\">0</td>"),
                 2);
    cr_expect_eq(count_of(tp_text_get(&html), "<td"), 2);
    tp_text_clear(&html);
    tp_html_table_rows(&html, &table, 3);
    cr_expect_eq(count_of(tp_text_get(&html), "<th "), 4);
    cr_expect_eq(count_of(tp_text_get(&html), "<td"), 12);
    tp_text_clear(&html);
}

Test(html_table, rows_that_have_no_room_are_left_out)
{
    struct tp_table table = table_of("many", 60000);
    const size_t room = 100000;
    struct tp_text html = {0};
    size_t lines = 1;
    struct tp_html_packed packed = {.bytes = NULL};
    table.make = make_rows;
    cr_assert_eq(tp_html_table_pack(&html, &table, 1 << 22, &packed, NULL),
                 TP_OK);
    cr_expect_eq(packed.rows, TP_HTML_ROWS);
    tp_html_packed_clear(&packed);
    tp_text_clear(&html);
    cr_assert_eq(tp_html_table_pack(&html, &table, room, &packed, NULL),
                 TP_OK);
    cr_expect_leq(html.length, room + 100);
    cr_expect_geq(html.length, room / 2);
    char *json = unpack(tp_text_get(&html));
    for (const char *at = json; (at = strstr(at, "],\n[")); at++)
        lines++;
    cr_expect_eq(lines, packed.rows);
    free(json);
    tp_html_packed_clear(&packed);
    tp_text_clear(&html);
    cr_assert_eq(tp_html_table_pack(&html, &table, 0, &packed, NULL), TP_OK);
    cr_expect_eq(packed.rows, 0);
    tp_html_packed_clear(&packed);
    tp_text_clear(&html);
}

/* --- pages ---------------------------------------------------------------- */

struct finding {
    const char *severity, *rule, *evidence, *suggestion, *name;
};

static const struct tp_column finding_columns[] = {
    TP_COLUMN(struct finding, severity, ""),
    TP_COLUMN(struct finding, rule, ""),
    TP_COLUMN(struct finding, evidence, ""),
    TP_COLUMN(struct finding, suggestion, ""),
    TP_COLUMN(struct finding, name, ""),
};

/* A dump's findings are of checks, not of rules. */
Test(html_page, findings_of_checks)
{
    struct tp_column of_checks[5];
    memcpy(of_checks, finding_columns, sizeof of_checks);
    of_checks[1].name = "check";
    static const struct finding found[] = {
        {"high", "nonfinite", "NaN", "", ""}};
    const struct tp_table findings = {.name = "findings",
                                      .columns = of_checks,
                                      .column_count = 5,
                                      .rows = found,
                                      .row_count = 1,
                                      .row_size = sizeof *found};
    const struct tp_html_words words = {
        .title = "t", .tool_version = "1", .report = ""};
    struct tp_html_page page = {.full = "dump.h5"};
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    cr_expect_not_null(strstr(tp_text_get(&html), "First: <b>nonfinite</b>"));
    cr_expect_null(strstr(tp_text_get(&html), "<dt>check</dt>"));
    tp_text_clear(&html);
    tp_html_page_clear(&page);
}

/* What the evidence names at its beginning is not named before it; what it
 * names later, or not, is. */
Test(html_page, a_finding_names_its_place_once)
{
    static const struct finding found[] = {
        {"high", "nonfinite", "Torch.log.0 gave NaN", "", "Torch.log.0"},
        {"high", "parting", "All calls before it are equal", "", "Torch.exp.0"},
        {"high", "slower", "the host is in aten::add for 3 ms", "",
         "aten::add"}};
    static const char *const words[] = {
        "<b>nonfinite</b> <span class=\"gist\">Torch.log.0 gave",
        "<b>parting</b> Torch.exp.0 <span class=\"gist\">All calls",
        "<b>slower</b> <span class=\"gist\">the host is in aten::add"};
    const struct tp_table findings = {.name = "findings",
                                      .columns = finding_columns,
                                      .column_count = 5,
                                      .rows = found,
                                      .row_count = 3,
                                      .row_size = sizeof *found};
    const struct tp_html_words head = {
        .title = "t", .tool_version = "1", .report = ""};
    struct tp_html_page page = {.full = "dump.h5"};
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
    cr_assert_eq(tp_html_page_write(&page, &head, &html, NULL), TP_OK);
    cr_expect_not_null(strstr(tp_text_get(&html),
                              "First: <b>nonfinite</b>: <span class=\"gist\">"
                              "Torch.log.0 gave NaN"));
    for (size_t i = 0; i < 3; i++)
        cr_expect_not_null(strstr(tp_text_get(&html), words[i]), "%s",
                           words[i]);
    tp_text_clear(&html);
    tp_html_page_clear(&page);
}

Test(html_page, whole)
{
    static const struct finding found[] = {
        {"high", "onset", "<b>it</b> began", "look & see", "weight"},
        {"low", "range", "small", "", ""},
    };
    const struct tp_table findings =
        TP_TABLE_OF("findings", finding_columns, found, 2);
    const struct tp_table table = table_of("tensors", 4),
                          empty = table_of("groups", 0);
    const struct tp_report_figure figures[] = {
        {"a/no_room.pdf", "", "what it shows"},
        {"a/none.png", "no rows", "nothing"}};
    const struct tp_html_words words = {.title = "a <test>",
                                        .tool_version = "1",
                                        .verdict = "host-bound",
                                        .sentence = "idles <50 %",
                                        .report = "line <1>\n  line 2\n",
                                        .folder = "/nowhere",
                                        .figures = figures,
                                        .figure_count = 2};
    struct tp_html_page page = {.full = "summary.h5"};
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
    cr_assert_eq(tp_html_page_add(&page, &table, NULL), TP_OK);
    cr_assert_eq(tp_html_page_add(&page, &empty, NULL), TP_OK);
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    const char *text = tp_text_get(&html);
    cr_expect_eq(count_of(text, "<details class=\"finding\""), 2);
    cr_expect_eq(count_of(text, "<details data-table="), 1);
    /* its own script and two of rows, and no more */
    cr_expect_eq(count_of(text, "<script"), 3);
    cr_expect_eq(count_of(text, "</script"), 3);
    cr_expect_eq(count_of(text, "Content-Security-Policy"), 1);
    cr_expect_not_null(
        strstr(text, "content=\"default-src 'none'; base-uri 'none'; "
                     "form-action 'none'; img-src data:; "
                     "style-src '" TP_HTML_STYLE_HASH "'; "
                     "script-src '" TP_HTML_SCRIPT_HASH "'\">"));
    cr_expect_not_null(strstr(text, "&lt;b&gt;it&lt;/b&gt; began"));
    cr_expect_not_null(strstr(text, "look &amp; see"));
    cr_expect_not_null(strstr(text, "line &lt;1&gt;\n  line 2\n"));
    cr_expect_not_null(strstr(text, "1 high, 0 medium, 1 low"));
    cr_expect_not_null(strstr(text, "<b>host-bound</b>: idles &lt;50 %</p>"));
    cr_expect_not_null(strstr(text, "1 is in the folders"));
    cr_expect_not_null(strstr(text, "id=\"map\""));
    cr_expect_null(strstr(text, "id=\"formats\""));
    cr_expect_not_null(strstr(
        text, "pandas.DataFrame(h5py.File('summary.h5')['tensors'][:])"));
    tp_text_clear(&html);
    tp_html_page_clear(&page);
}

/* Tables that are packed by several threads, of which the last have no room for
 * all of their rows, make the page that one thread makes. */
Test(html_page, jobs_are_not_seen)
{
    enum { TABLES = 8 };
    static const char *const names[TABLES] = {"tensors", "a", "b", "none",
                                              "c",       "d", "e", "f"};
    const struct tp_html_words words = {.title = "t",
                                        .tool_version = "1",
                                        .report = "",
                                        .folder = "."};
    struct tp_table tables[TABLES];
    struct tp_text html[3] = {{0}};
    for (int i = 0; i < TABLES; i++) {
        tables[i] = table_of(names[i], i == 3 ? 0 : 60000);
        tables[i].make = make_rows;
    }
    for (unsigned jobs = 0; jobs < 3; jobs++) {
        struct tp_html_page page = {.full = "summary.h5"};
        struct tp_pool *pool;
        cr_assert_eq(tp_pool_new(jobs ? 1 + 2 * jobs : 1, &pool, NULL), TP_OK);
        if (jobs == 0)
            for (int i = 0; i < TABLES; i++)
                cr_assert_eq(tp_html_page_add(&page, &tables[i], NULL), TP_OK);
        else
            cr_assert_eq(
                tp_html_page_add_all(&page, tables, TABLES, pool, NULL), TP_OK);
        cr_assert_eq(tp_html_page_write(&page, &words, &html[jobs], NULL),
                     TP_OK);
        tp_html_page_clear(&page);
        tp_pool_free(pool);
        cr_expect_eq(html[jobs].length, html[0].length);
        cr_expect_str_eq(tp_text_get(&html[jobs]), tp_text_get(&html[0]));
    }
    cr_expect_not_null(strstr(tp_text_get(&html[0]), "The first 50000 rows"));
    cr_expect_gt(count_of(tp_text_get(&html[0]), "rows are here. "),
                 count_of(tp_text_get(&html[0]), "The first 50000 rows"));
    for (int i = 0; i < 3; i++)
        tp_text_clear(&html[i]);
}

/* Without a verdict the worst finding is the sentence, and beside it what was
 * read. */
Test(html_page, says_first_what_was_read_and_what_is_worst)
{
    static const struct finding found[] = {
        {"medium", "onset", "it <began>", "", "weight"},
        {"low", "range", "small", "", ""},
    };
    static const char *const inputs[] = {"/none/<a>", "b", "c", "d", "e", "f"};
    const struct tp_table findings =
        TP_TABLE_OF("findings", finding_columns, found, 2);
    const struct tp_html_words words = {.title = "t",
                                        .tool_version = "1",
                                        .report = "",
                                        .folder = ".",
                                        .inputs = inputs,
                                        .input_count = 6};
    struct tp_html_page page = {.full = "summary.h5", .files = 7};
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    const char *text = tp_text_get(&html);
    cr_expect_not_null(strstr(
        text, "Read: 7 files of /none/&lt;a&gt;, b, c, d and 2 more</p>"));
    cr_expect_not_null(strstr(text, "First: <b>onset</b>: weight: "
                                    "<span class=\"gist\">it &lt;began&gt;"));
    cr_expect_null(strstr(text, "id=\"map\""));
    tp_text_clear(&html);
    tp_html_page_clear(&page);
}

/* What stands in the list is made of whole statements, however long one is. */
Test(html_page, no_sentence_is_cut)
{
    static const struct {
        const char *evidence, *gist;
    } texts[] = {
        {"short", ">short<"},
        {"it grew (from 1; to 2); one; two",
         ">it grew (from 1; to 2); one; two<"},
        {"It is 3.5 of L4. Called at x.py: a; b", "a; b<"},
        {"", "><"},
        {"LONG; more", ">LONG<"},
        {"First of it. LONG. More", ">First of it.<"},
        {"first of it; LONG; more", ">first of it<"},
    };
    char word[300 + 1];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    word[0] = 'X';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char evidence[700] = "", gist[700] = "";
        const char *const wanted[] = {texts[i].evidence, texts[i].gist};
        char *const made[] = {evidence, gist};
        for (int k = 0; k < 2; k++) {
            const char *long_one = strstr(wanted[k], "LONG");
            const int before = long_one ? (int)(long_one - wanted[k]) : 699;
            snprintf(made[k], 700, "%.*s%s%s", before, wanted[k],
                     long_one ? word : "", long_one ? long_one + 4 : "");
        }
        const struct finding found = {"low", "rule", evidence, "", ""};
        const struct tp_table findings =
            TP_TABLE_OF("findings", finding_columns, &found, 1);
        struct tp_html_page page = {.full = "summary.h5"};
        cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
        cr_expect_not_null(strstr(tp_text_get(&page.first), gist), "<%s> in %s",
                           gist, tp_text_get(&page.first));
        tp_html_page_clear(&page);
    }
}

/* What is not English is marked: not what stands before it, nor English. */
Test(html_page, another_language_is_marked)
{
    static const struct finding found[] = {
        {"low", "r", "a title: b: x\u503c", "\u503c", ""},
        {"low", "r", "English: only", "do", ""}};
    const struct tp_table findings =
        TP_TABLE_OF("findings", finding_columns, found, 2);
    const struct tp_html_words words = {.title = "t",
                                        .tool_version = "1",
                                        .folder = ".",
                                        .report = "line\n \u503c\n\nend"};
    for (int marked = 0; marked < 2; marked++) {
        struct tp_html_page page = {.lang = marked ? "zh-Hans" : NULL};
        struct tp_text html = {0};
        cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
        cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
        const char *text = tp_text_get(&html);
        /* the first sentence, its list, its paragraph, the advice, a line */
        cr_expect_eq(count_of(text, "lang=\"zh-Hans\""), marked ? 5 : 0);
        cr_expect_eq(count_of(text, "<html lang=\"en\">"), 1);
        cr_expect_not_null(strstr(
            text, marked
                      ? "<p>a title: b: <span lang=\"zh-Hans\">x\u503c</span>"
                      : "<p>a title: b: x\u503c</p>"));
        cr_expect_not_null(strstr(
            text, marked ? "line\n<span lang=\"zh-Hans\"> \u503c</span>\n\nend<"
                         : "line\n \u503c\n\nend<"));
        tp_text_clear(&html);
        tp_html_page_clear(&page);
    }
}

/* Of very many the worst are listed; all are counted. */
Test(html_page, a_flood_of_findings_is_cut)
{
    enum { MORE = 3 };
    static struct finding found[TP_HTML_FINDINGS + MORE];
    const struct tp_html_words words = {
        .title = "t", .tool_version = "1", .folder = ".", .report = ""};
    for (size_t i = 0; i < TP_HTML_FINDINGS + MORE; i++)
        found[i] = (struct finding){"low", "rule", "it", "", ""};
    for (size_t more = 0; more <= MORE; more += MORE) {
        const struct tp_table findings = TP_TABLE_OF(
            "findings", finding_columns, found, TP_HTML_FINDINGS + more);
        struct tp_html_page page = {.full = "summary.h5"};
        struct tp_text html = {0};
        char counted[80];
        cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
        cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
        const char *text = tp_text_get(&html);
        snprintf(counted, sizeof counted, "0 high, 0 medium, %zu low",
                 TP_HTML_FINDINGS + more);
        cr_expect_not_null(strstr(text, counted));
        cr_expect_eq(count_of(text, "<details class=\"finding\""),
                     TP_HTML_FINDINGS);
        cr_expect_eq(count_of(text, ">3 more, none of them worse, are in "
                                    "/findings of summary.h5.<"),
                     more > 0);
        tp_text_clear(&html);
        tp_html_page_clear(&page);
    }
}

struct measured {
    const char *severity, *rule, *metric;
    double value, baseline, spread;
    const char *evidence;
};

static const struct tp_column measured_columns[] = {
    TP_COLUMN(struct measured, severity, ""),
    TP_COLUMN(struct measured, rule, ""),
    TP_COLUMN(struct measured, metric, ""),
    TP_COLUMN(struct measured, value, "metric"),
    TP_COLUMN(struct measured, baseline, "metric"),
    TP_COLUMN(struct measured, spread, "metric"),
    TP_COLUMN(struct measured, evidence, ""),
};

/* A baseline that the evidence begins with is not told again. */
Test(html_page, a_baseline_is_told_once)
{
    static const struct measured found[] = {
        {"high", "onset", "std", 9, 2, 0.5, "std 9, was 2 \u00b1 0.5 before"},
        {"high", "onset", "std", 9, 2, 0.5, "mean of 3 tensors: std 9, was 2"},
        {"high", "onset", "std", 9, 2, 0.5, "stddev 9"},
        {"high", "onset", "std", 9, 2, 0.5, "NaN: none before"},
        {"high", "onset", "", 9, 2, 0.5, " 9"},
    };
    static const size_t told[] = {0, 0, 1, 1, 1};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const struct tp_table findings =
            TP_TABLE_OF("findings", measured_columns, &found[i], 1);
        struct tp_html_page page = {.full = "summary.h5"};
        cr_assert_eq(tp_html_page_add(&page, &findings, NULL), TP_OK);
        const char *text = tp_text_get(&page.findings);
        cr_expect_eq(count_of(text, "<dt>baseline</dt>"), told[i], "%zu", i);
        cr_expect_eq(count_of(text, "<dt>spread</dt>"), told[i], "%zu", i);
        cr_expect_eq(count_of(text, "<dt>value</dt>"), 1);
        tp_html_page_clear(&page);
    }
}

Test(html_page, without_anything)
{
    const struct tp_html_words words = {.title = "t",
                                        .tool_version = "1",
                                        .report = "",
                                        .folder = "."};
    struct tp_html_page page = {.full = "summary.h5"};
    const struct tp_table none = table_of("findings", 0);
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    cr_expect_null(strstr(tp_text_get(&html), "There are none."));
    cr_expect_eq(count_of(tp_text_get(&html), "<script"), 1);
    tp_text_clear(&html);
    /* what was looked for and not there is told */
    cr_assert_eq(tp_html_page_add(&page, &none, NULL), TP_OK);
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    cr_expect_not_null(strstr(tp_text_get(&html), "There are none."));
    tp_text_clear(&html);
    tp_html_page_clear(&page);
}

/* A figure is told by what it shows; the report's text comes last, closed, and
 * links lead only to what is there. */
Test(html_page, figures_and_links)
{
    char folder[] = "/tmp/tp_page_XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.svg", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs("<svg/>", file) >= 0 && fclose(file) == 0);
    const struct tp_report_figure figures[] = {{"x.svg", "", "a \"b\" <c>"}};
    struct tp_html_words words = {.title = "t",
                                  .tool_version = "1",
                                  .report = "all",
                                  .folder = folder,
                                  .figures = figures,
                                  .figure_count = 1};
    struct tp_html_page page = {.full = "summary.h5"};
    struct tp_text html = {0};
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    const char *text = tp_text_get(&html);
    cr_expect_not_null(strstr(text, "<img alt=\"a &quot;b&quot; &lt;c&gt;\""));
    const char *shown = strstr(text, "<h2 id=\"figures\">");
    const char *report = strstr(text, "<details class=\"text\">");
    cr_assert(shown && report);
    cr_expect_gt(report, shown);
    cr_expect_eq(count_of(text, "<a href=\"#figures\">"), 1);
    cr_expect_eq(count_of(text, "<a href=\"#report\">"), 1);
    cr_expect_eq(count_of(text, "<a href=\"#tables\">"), 0);
    cr_expect_eq(count_of(text, "<h2 id=\"tables\">"), 0);
    tp_text_clear(&html);
    words.figure_count = 0;
    cr_assert_eq(tp_html_page_write(&page, &words, &html, NULL), TP_OK);
    cr_expect_eq(count_of(tp_text_get(&html), "#figures"), 0);
    tp_text_clear(&html);
    unlink(path);
    rmdir(folder);
}

/* One that was drawn and cannot be read is not left out without a word. */
Test(html_page, a_figure_that_cannot_be_read)
{
    const struct tp_report_figure figures[] = {
        {"a/none.png", "no rows", "nothing"},
        {"a/not_there.png", "", "what it shows"}};
    const struct tp_html_words words = {.title = "t",
                                        .tool_version = "1",
                                        .report = "",
                                        .folder = "/nowhere",
                                        .figures = figures,
                                        .figure_count = 2};
    struct tp_html_page page = {.full = "summary.h5"};
    struct tp_text html = {0};
    struct tp_error err = {.code = TP_OK};
    cr_expect_neq(tp_html_page_write(&page, &words, &html, &err), TP_OK);
    cr_expect_not_null(strstr(err.message, "a/not_there.png: "));
    tp_text_clear(&html);
}
