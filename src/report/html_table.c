/* SPDX-License-Identifier: MIT */
/*
 * A table as rows of JSON, deflated and in base64: of a table of dumped tensors
 * about a seventh of its JSON. Rows are made and packed a piece at a time; when
 * the whole does not fit, as many rows are packed as fit by the share that the
 * whole had, and so again, until they do.
 *
 * Alternative: the JSON itself, which a browser reads at once, but a run of
 * 10 000 tensors then takes 4 MB instead of 0.6.
 *
 * Cost: one deflate of the JSON, two or three for a table that has to be cut.
 * The first of them asks for nothing but the table, so that several tables are
 * packed at once.
 */
#include "report/html_table.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_write.h"

enum { PIECE = 512, LEVEL = 4 };

/* --- cells ---------------------------------------------------------------- */

static bool is_number(const struct tp_column *column)
{
    return column->type != TP_COLUMN_TEXT;
}

/* The integer of a cell that is one; false: there is none. */
static bool integer_of(const struct tp_table *table, size_t row,
                       const struct tp_column *column, int64_t *value)
{
    const char *at =
        (const char *)table->rows + row * table->row_size + column->offset;
    memcpy(value, at, sizeof *value);
    return column->type != TP_COLUMN_INTEGER || *value >= 0;
}

static void add_word(struct tp_text *text, const char *word)
{
    tp_text_bytes(text, word, strlen(word));
}

static void add_number(struct tp_text *text, const struct tp_table *table,
                       size_t row, const struct tp_column *column,
                       const char *none)
{
    int64_t integer;
    if (column->type == TP_COLUMN_REAL) {
        const double value = tp_cell_number(table, row, column);
        if (isfinite(value))
            tp_text_real(text, value);
        else if (isinf(value) && *none)
            add_word(text, value > 0 ? "\"inf\"" : "\"-inf\"");
        else
            add_word(text, isinf(value) ? value > 0 ? "inf" : "-inf" : none);
    } else if (!integer_of(table, row, column, &integer)) {
        add_word(text, none);
    } else if (column->type == TP_COLUMN_COUNT && integer < 0) {
        tp_text_add(text, "%" PRIu64, (uint64_t)integer);
    } else {
        tp_text_integer(text, integer);
    }
}

void tp_html_cell(struct tp_text *html, const struct tp_table *table,
                  size_t row, const struct tp_column *column)
{
    if (is_number(column))
        add_number(html, table, row, column, "");
    else
        tp_html_text(html, tp_cell_text(table, row, column));
}

/* --- markup --------------------------------------------------------------- */

static bool is_blank(const struct tp_table *table, size_t row,
                     const struct tp_column *column)
{
    int64_t integer;
    if (!is_number(column))
        return *tp_cell_text(table, row, column) == '\0';
    if (column->type == TP_COLUMN_REAL)
        return isnan(tp_cell_number(table, row, column));
    return !integer_of(table, row, column, &integer);
}

/* Which columns say something in some row; released with free(). */
static bool *find_said(const struct tp_table *table)
{
    bool *said = calloc(table->column_count + 1, sizeof *said);
    for (size_t i = 0; i < table->column_count && said; i++)
        for (size_t row = 0; row < table->row_count && !said[i]; row++)
            said[i] = !is_blank(table, row, &table->columns[i]);
    return said;
}

static void add_head(struct tp_text *html, const struct tp_table *table,
                     const bool *said)
{
    tp_text_add(html, "<table><thead><tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tp_column *column = &table->columns[i];
        if (!said[i])
            continue;
        tp_text_add(html, "<th scope=\"col\"%s>",
                    is_number(column) ? " class=\"number\"" : "");
        tp_html_text(html, column->name);
        if (*column->unit && strcmp(column->unit, "1") != 0) {
            tp_text_add(html, " [");
            tp_html_text(html, column->unit);
            tp_text_add(html, "]");
        }
        tp_text_add(html, "</th>");
    }
    tp_text_add(html, "</tr></thead>\n<tbody>\n");
}

static const char *cell_tag(const struct tp_column *column)
{
    if (is_number(column))
        return "<td class=\"number\">";
    return strcmp(column->name, "file") == 0 ? "<td class=\"file\">" : "<td>";
}

static void add_markup(struct tp_text *html, const struct tp_table *window,
                       const bool *said)
{
    add_head(html, window, said);
    for (size_t row = 0; row < window->row_count; row++) {
        add_word(html, "<tr>");
        for (size_t i = 0; i < window->column_count; i++) {
            const struct tp_column *column = &window->columns[i];
            if (!said[i])
                continue;
            add_word(html, cell_tag(column));
            tp_html_cell(html, window, row, column);
            add_word(html, "</td>");
        }
        add_word(html, "</tr>\n");
    }
    tp_text_add(html, "</tbody></table>\n");
}

void tp_html_table_rows(struct tp_text *html, const struct tp_table *table,
                        size_t count)
{
    void *room = table->make ? calloc(count + 1, table->row_size) : NULL;
    html->failed |= table->make && !room;
    if (!html->failed) {
        const struct tp_table window = tp_table_window(table, 0, count, room);
        bool *said = find_said(&window);
        html->failed |= !said;
        if (said)
            add_markup(html, &window, said);
        free(said);
    }
    free(room);
}

/* --- packed --------------------------------------------------------------- */

static void add_columns(struct tp_text *json, const struct tp_table *table)
{
    tp_text_add(json, "{\"name\":");
    tp_text_json(json, table->name);
    tp_text_add(json, ",\"columns\":[");
    for (size_t i = 0; i < table->column_count; i++) {
        tp_text_add(json, "%s{\"name\":", i ? "," : "");
        tp_text_json(json, table->columns[i].name);
        tp_text_add(json, ",\"unit\":");
        tp_text_json(json, table->columns[i].unit);
        tp_text_add(json, ",\"number\":%s}",
                    is_number(&table->columns[i]) ? "true" : "false");
    }
    tp_text_add(json, "],\"total\":%zu,\"rows\":[", table->row_count);
}

static void add_rows(struct tp_text *json, const struct tp_table *window,
                     bool first)
{
    struct tp_text plain = {0};
    for (size_t row = 0; row < window->row_count; row++) {
        add_word(json, first && row == 0 ? "[" : ",\n[");
        for (size_t i = 0; i < window->column_count; i++) {
            const struct tp_column *column = &window->columns[i];
            if (i)
                tp_text_bytes(json, ",", 1);
            if (is_number(column)) {
                add_number(json, window, row, column, "null");
                continue;
            }
            plain.length = 0;
            tp_text_bytes(&plain, "", 0);
            tp_text_printable(&plain, tp_cell_text(window, row, column));
            tp_text_json(json, tp_text_get(&plain));
        }
        tp_text_bytes(json, "]", 1);
    }
    json->failed |= plain.failed;
    tp_text_clear(&plain);
}

/* The JSON of the first rows. */
static void add_json(struct tp_text *json, const struct tp_table *table,
                     size_t rows, void *room)
{
    add_columns(json, table);
    for (size_t first = 0; first < rows; first += PIECE) {
        const size_t count = rows - first < PIECE ? rows - first : PIECE;
        const struct tp_table window =
            tp_table_window(table, first, count, room);
        add_rows(json, &window, first == 0);
    }
    tp_text_add(json, "]}");
}

/* Deflates, with the header and sum of zlib. NULL: no memory. */
static void *deflate(const struct tp_text *json, size_t *length)
{
    struct libdeflate_compressor *packer = libdeflate_alloc_compressor(LEVEL);
    if (!packer)
        return NULL;
    const size_t most = libdeflate_zlib_compress_bound(packer, json->length);
    void *packed = malloc(most);
    if (packed)
        *length = libdeflate_zlib_compress(packer, tp_text_get(json),
                                           json->length, packed, most);
    libdeflate_free_compressor(packer);
    return packed;
}

static void add_packed(struct tp_text *html, const struct tp_table *table,
                       const void *packed, size_t length)
{
    tp_text_add(html, "<script type=\"text/plain\" data-rows=\"");
    tp_html_text(html, table->name);
    tp_text_add(html, "\">");
    tp_html_base64(html, packed, length);
    tp_text_add(html, "</script>\n");
}

/* Packs so many rows, in the place of those that were. */
static enum tp_status pack_rows(const struct tp_table *table, size_t rows,
                                struct tp_html_packed *packed,
                                struct tp_error *err)
{
    struct tp_text json = {0};
    void *made = table->make ? calloc(PIECE, table->row_size) : NULL;
    tp_html_packed_clear(packed);
    if (!table->make || made)
        add_json(&json, table, rows, made);
    if ((!table->make || made) && !json.failed)
        packed->bytes = deflate(&json, &packed->length);
    packed->rows = rows;
    tp_text_clear(&json);
    free(made);
    return packed->bytes ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_html_table_deflate(const struct tp_table *table,
                                     struct tp_html_packed *packed,
                                     struct tp_error *err)
{
    return pack_rows(table,
                     table->row_count < TP_HTML_ROWS ? table->row_count
                                                     : TP_HTML_ROWS,
                     packed, err);
}

void tp_html_packed_clear(struct tp_html_packed *packed)
{
    free(packed->bytes);
    *packed = (struct tp_html_packed){.bytes = NULL};
}

enum tp_status tp_html_table_pack(struct tp_text *html,
                                  const struct tp_table *table, size_t room,
                                  struct tp_html_packed *packed,
                                  struct tp_error *err)
{
    enum tp_status status =
        packed->bytes ? TP_OK : tp_html_table_deflate(table, packed, err);
    while (status == TP_OK) {
        const size_t characters = (packed->length + 2) / 3 * 4;
        if (characters <= room || packed->rows == 0)
            break;
        /* a tenth less than its share, to be sure */
        status = pack_rows(table,
                           (size_t)((double)packed->rows * 0.9 * (double)room /
                                    (double)characters),
                           packed, err);
    }
    if (status == TP_OK)
        add_packed(html, table, packed->bytes, packed->length);
    return status == TP_OK && html->failed ? tp_fail_memory(err) : status;
}
