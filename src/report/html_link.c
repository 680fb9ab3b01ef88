/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "report/html_link.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_write.h"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("-._~/", c));
}

/* How many bytes two paths have in common, as far as whole folders go: up to
 * behind a slash. The folder is taken as if it ended in one. */
static size_t common(const char *folder, const char *file)
{
    size_t same = 0;
    for (size_t i = 0; file[i]; i++) {
        const char c = folder[i] ? folder[i] : '/';
        if (file[i] != c)
            break;
        if (c == '/')
            same = i + 1;
        if (!folder[i])
            break;
    }
    return same;
}

void tp_html_relative(struct tp_text *html, const char *folder,
                      const char *file)
{
    const size_t same = common(folder, file);
    size_t up = 0;
    const char *left = strlen(folder) > same ? folder + same : "";
    for (const char *p = left; *p; p++)
        up += p == left || *p == '/';
    tp_text_add(html, up ? "" : "./");
    for (size_t i = 0; i < up; i++)
        tp_text_add(html, "../");
    for (const char *p = file + same; *p; p++) {
        if (is_plain(*p))
            tp_text_bytes(html, p, 1);
        else
            tp_text_add(html, "%%%02X", (unsigned)(unsigned char)*p);
    }
}

void tp_html_file(struct tp_text *html, const char *folder, const char *file)
{
    errno = 0;
    char *whole = folder && *file ? realpath(file, NULL) : NULL;
    html->failed |= !whole && errno == ENOMEM;
    if (whole) {
        tp_text_add(html, "<a href=\"");
        tp_html_relative(html, folder, whole);
        tp_text_add(html, "\">");
    }
    tp_html_text(html, file);
    if (whole)
        tp_text_add(html, "</a>");
    free(whole);
}

void tp_html_files(struct tp_text *html, const char *folder,
                   const struct tp_table *files, int64_t finding, size_t *row)
{
    const struct tp_column *of = tp_table_column(files, "finding");
    const struct tp_column *what = tp_table_column(files, "what");
    const struct tp_column *file = tp_table_column(files, "file");
    size_t i = *row;
    for (; i < files->row_count; i++) {
        if ((int64_t)tp_cell_number(files, i, of) != finding)
            break;
        tp_text_add(html, i == *row ? "<p><b>Files:</b></p>\n"
                                      "<dl class=\"files\">"
                                    : "");
        tp_text_add(html, "<dt>");
        tp_html_text(html, tp_cell_text(files, i, what));
        tp_text_add(html, "</dt><dd>");
        tp_html_file(html, folder, tp_cell_text(files, i, file));
        tp_text_add(html, "</dd>");
    }
    tp_text_add(html, i > *row ? "</dl>\n" : "");
    *row = i;
}
