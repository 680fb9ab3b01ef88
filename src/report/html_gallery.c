/* SPDX-License-Identifier: MIT */
/*
 * Pictures are read from their files and stand in the page as base64, in the
 * order of the report, until they fill their room. Where a figure is there in
 * two formats that browsers show, the smaller is taken: the one of
 * tp_plot_again, or the one that was asked for.
 */
#include "report/html_gallery.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "report/html_write.h"

/* What a browser shows. */
static const struct {
    const char *ending, *type;
} kinds[] = {{"svg", "image/svg+xml"}, {"png", "image/png"}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Appends a picture. */
static void add_picture(struct tp_text *html,
                        const struct tp_report_figure *figure, const char *type,
                        const unsigned char *data, size_t size)
{
    tp_text_add(html, "<figure><img alt=\"");
    tp_html_text(html, figure->title);
    tp_text_add(html, "\" src=\"data:%s;base64,", type);
    tp_html_base64(html, data, size);
    tp_text_add(html, "\"><figcaption>");
    tp_html_text(html, figure->path);
    tp_text_add(html, "</figcaption></figure>\n");
}

/* The name that a figure has as another kind, to be released with free(). */
static char *name_as(const char *folder, const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    struct tp_text name = {0};
    tp_text_add(&name, "%s/%.*s.%s", folder, (int)(dot ? dot - path : 0), path,
                ending);
    char *copy = name.failed ? NULL : strdup(tp_text_get(&name));
    tp_text_clear(&name);
    return copy;
}

/* Which kind takes fewer bytes; KINDS: there is no picture to show. */
static enum tp_status smallest(const char *folder, const char *path,
                               size_t *kind, struct tp_error *err)
{
    uint64_t least = UINT64_MAX;
    *kind = KINDS;
    for (size_t k = 0; k < KINDS; k++) {
        struct stat about;
        char *name = name_as(folder, path, kinds[k].ending);
        if (!name)
            return tp_fail_memory(err);
        const bool own = tp_text_ends_with(path, kinds[k].ending);
        const bool there = stat(name, &about) == 0;
        free(name);
        if (there ? (uint64_t)about.st_size < least : own && *kind == KINDS) {
            least = there ? (uint64_t)about.st_size : UINT64_MAX;
            *kind = k;
        }
    }
    return TP_OK;
}

/* Reads a picture, the smallest that there is, and appends it if it has room.
 */
static enum tp_status take_picture(struct tp_text *html, const char *folder,
                                   const struct tp_report_figure *figure,
                                   size_t room, struct tp_error *err)
{
    struct tp_bytes bytes;
    struct tp_error why = {.code = TP_OK};
    size_t kind;
    enum tp_status status = smallest(folder, figure->path, &kind, err);
    if (status != TP_OK || kind == KINDS)
        return status;
    char *full = name_as(folder, figure->path, kinds[kind].ending);
    if (!full)
        return tp_fail_memory(err);
    status = tp_bytes_open(full, &bytes, &why);
    free(full);
    if (status == TP_OK && bytes.size / 3 * 4 < room) {
        unsigned char *data = malloc((size_t)bytes.size + 1);
        status = data ? tp_bytes_read(&bytes, 0, data, (size_t)bytes.size, &why)
                      : tp_fail_memory(&why);
        if (status == TP_OK)
            add_picture(html, figure, kinds[kind].type, data,
                        (size_t)bytes.size);
        free(data);
    }
    tp_bytes_close(&bytes);
    return status == TP_OK
               ? TP_OK
               : tp_fail(err, status, -1, "%s: %s", figure->path, why.message);
}

size_t tp_html_gallery_drawn(const struct tp_report_figure *figures,
                             size_t count)
{
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++)
        drawn += !*figures[i].reason;
    return drawn;
}

enum tp_status tp_html_gallery(struct tp_text *html, const char *folder,
                               const struct tp_report_figure *figures,
                               size_t count, struct tp_error *err)
{
    const size_t begin = html->length;
    enum tp_status status = TP_OK;
    size_t left = 0, shown = 0;
    if (tp_html_gallery_drawn(figures, count) == 0)
        return TP_OK;
    tp_text_add(html, "<h2 id=\"figures\">Figures</h2>\n"
                      "<div class=\"gallery\">\n");
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct tp_report_figure *figure = &figures[i];
        const size_t before = html->length, used = before - begin;
        if (*figure->reason)
            continue;
        if (used < TP_HTML_GALLERY)
            status =
                take_picture(html, folder, figure, TP_HTML_GALLERY - used, err);
        left += html->length == before;
        shown += html->length != before;
    }
    tp_text_add(html, "</div>\n");
    if (left)
        tp_text_add(html,
                    "<p class=\"soft\">%zu %s in the folders beside this "
                    "file.</p>\n",
                    left,
                    shown       ? "more are"
                    : left == 1 ? "is"
                                : "are");
    return status;
}
