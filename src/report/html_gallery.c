/* SPDX-License-Identifier: MIT */
/*
 * Pictures are read from their files and stand in the page as base64, in the
 * order of the report, until they fill their room.
 */
#include "report/html_gallery.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/file.h"
#include "report/html_write.h"

/* The type of a picture that a browser shows; NULL: of another kind. */
static const char *type_of(const char *path)
{
    if (tp_text_ends_with(path, ".png"))
        return "image/png";
    return tp_text_ends_with(path, ".svg") ? "image/svg+xml" : NULL;
}

/* Appends a picture. */
static void add_picture(struct tp_text *html,
                        const struct tp_report_figure *figure,
                        const unsigned char *data, size_t size)
{
    tp_text_add(html, "<figure><img alt=\"");
    tp_html_text(html, figure->title);
    tp_text_add(html, "\" loading=\"lazy\" src=\"data:%s;base64,",
                type_of(figure->path));
    tp_html_base64(html, data, size);
    tp_text_add(html, "\"><figcaption>");
    tp_html_text(html, figure->path);
    tp_text_add(html, "</figcaption></figure>\n");
}

/* Reads a picture, and appends it if it has room. */
static enum tp_status take_picture(struct tp_text *html, const char *folder,
                                   const struct tp_report_figure *figure,
                                   size_t room, struct tp_error *err)
{
    const char *path = figure->path;
    struct tp_bytes bytes;
    struct tp_error why = {.code = TP_OK};
    char *full = tp_file_join(folder, path);
    if (!full)
        return tp_fail_memory(err);
    enum tp_status status = tp_bytes_open(full, &bytes, &why);
    free(full);
    if (status == TP_OK && bytes.size / 3 * 4 < room) {
        unsigned char *data = malloc((size_t)bytes.size + 1);
        status = data ? tp_bytes_read(&bytes, 0, data, (size_t)bytes.size, &why)
                      : tp_fail_memory(&why);
        if (status == TP_OK)
            add_picture(html, figure, data, (size_t)bytes.size);
        free(data);
    }
    tp_bytes_close(&bytes);
    return status == TP_OK
               ? TP_OK
               : tp_fail(err, status, -1, "%s: %s", path, why.message);
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
    size_t left = 0;
    if (tp_html_gallery_drawn(figures, count) == 0)
        return TP_OK;
    tp_text_add(html, "<h2 id=\"figures\">Figures</h2>\n"
                      "<div class=\"gallery\">\n");
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct tp_report_figure *figure = &figures[i];
        const size_t before = html->length, used = before - begin;
        if (*figure->reason)
            continue;
        if (type_of(figure->path) && used < TP_HTML_GALLERY)
            status =
                take_picture(html, folder, figure, TP_HTML_GALLERY - used, err);
        left += html->length == before;
    }
    tp_text_add(html, "</div>\n");
    if (left)
        tp_text_add(html,
                    "<p class=\"soft\">%zu more are in the folders beside this "
                    "file.</p>\n",
                    left);
    return status;
}
