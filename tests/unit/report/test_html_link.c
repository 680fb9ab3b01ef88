/* SPDX-License-Identifier: MIT */
/* Addresses of files, compared with those that RFC 3986 (5.2) resolves back to
 * the file, and names that want to be something else. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "report/html_link.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void expect(const char *folder, const char *file, const char *wanted)
{
    struct tp_text html = {0};
    tp_html_relative(&html, folder, file);
    cr_expect_str_eq(tp_text_get(&html), wanted, "%s", tp_text_get(&html));
    tp_text_clear(&html);
}

Test(html_link, leads_from_the_folder_to_the_file)
{
    expect("/w/out", "/w/out/a.pt", "./a.pt");
    expect("/w/out", "/w/logs/a.pt", "../logs/a.pt");
    expect("/w/out", "/w/outer/a.pt", "../outer/a.pt");
    expect("/w/outer", "/w/out/a.pt", "../out/a.pt");
    expect("/w/a/b/c", "/x/y", "../../../../x/y");
    expect("/w/out", "/w", "../../w");
    expect("/w/out", "/w/out", "../out");
    expect("/", "/x/y", "./x/y");
    expect("/w", "/x", "../x");
}

Test(html_link, names_are_neither_schemes_nor_markup)
{
    expect("/w", "/w/javascript:alert(1)", "./javascript%3Aalert%281%29");
    expect("/w", "/w/\" onload=\"x", "./%22%20onload%3D%22x");
    expect("/w", "/w/<b>&amp;'", "./%3Cb%3E%26amp%3B%27");
    expect("/w", "/w/a?b#c%41", "./a%3Fb%23c%2541");
    expect("/w", "/w/\xe2\x80\xae\xff\n\t", "./%E2%80%AE%FF%0A%09");
}

static void expect_file(const char *folder, const char *wanted)
{
    struct tp_text html = {0};
    tp_html_file(&html, folder, "a<b");
    cr_expect_str_eq(tp_text_get(&html), wanted, "%s", tp_text_get(&html));
    tp_text_clear(&html);
}

Test(html_link, what_is_not_there_is_text)
{
    char made[] = "/tmp/tp-link-XXXXXX";
    cr_assert_not_null(mkdtemp(made));
    char *folder = realpath(made, NULL);
    cr_assert_eq(chdir(folder), 0);
    expect_file(folder, "a&lt;b");
    const int file = open("a<b", O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    close(file);
    expect_file(folder, "<a href=\"./a%3Cb\">a&lt;b</a>");
    expect_file(NULL, "a&lt;b");
    unlink("a<b");
    rmdir(folder);
    free(folder);
}

struct its_file {
    int64_t finding;
    const char *what, *file;
};

Test(html_link, files_of_each_finding)
{
    static const struct tp_column columns[] = {
        TP_COLUMN(struct its_file, finding, "1"),
        TP_COLUMN(struct its_file, what, ""),
        TP_COLUMN(struct its_file, file, "")};
    static const struct its_file rows[] = {
        {0, "output.0", "a<b"}, {0, "x&y", "c"}, {2, "file", "d"}};
    static const char *const wanted[] = {
        "<p><b>Files:</b></p>\n<dl class=\"files\"><dt>output.0</dt><dd>a&lt;b"
        "</dd><dt>x&amp;y</dt><dd>c</dd></dl>\n",
        "",
        "<p><b>Files:</b></p>\n<dl class=\"files\"><dt>file</dt><dd>d</dd>"
        "</dl>\n",
        ""};
    const struct tp_table table =
        TP_TABLE_OF("finding_files", columns, rows, 3);
    size_t row = 0;
    for (int64_t finding = 0; finding < 4; finding++) {
        struct tp_text html = {0};
        tp_html_files(&html, NULL, &table, finding, &row);
        cr_expect_str_eq(tp_text_get(&html), wanted[finding], "%s",
                         tp_text_get(&html));
        tp_text_clear(&html);
    }
    cr_expect_eq(row, 3);
}
