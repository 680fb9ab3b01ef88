/* SPDX-License-Identifier: MIT */
/*
 * The page is put together from texts that are written table by table. Without
 * its script findings, the text of the report and the first rows of each table
 * read; with it tables sort and scroll, findings have charts and there is a
 * map. Scripts of the page are two kinds: its own, known by hash, and rows,
 * which are of no type that a browser runs.
 */
#include "report/html_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_assets.h"
#include "report/html_gallery.h"
#include "report/html_link.h"
#include "report/html_report.h"
#include "report/html_table.h"
#include "report/html_told.h"
#include "report/html_tree.h"
#include "report/html_write.h"

/* --- findings ------------------------------------------------------------- */

enum { LINKED = 1000 }; /* findings whose files are looked for             */

/* Columns that stand apart in a finding. */
static const char *const apart[] = {"severity",   "rule",   "check", "evidence",
                                    "suggestion", "source", NULL};

static const char *text_in(const struct tp_table *table, size_t row,
                           const char *name)
{
    const struct tp_column *column = tp_table_column(table, name);
    return column && column->type == TP_COLUMN_TEXT
               ? tp_cell_text(table, row, column)
               : "";
}

/* What found it: a rule, or a check of dumps. */
static const char *rule_in(const struct tp_table *table, size_t row)
{
    const char *rule = text_in(table, row, "rule");
    return *rule ? rule : text_in(table, row, "check");
}

static int severity_of(const char *word)
{
    for (int i = TP_SEVERITY_HIGH; i > 0; i--)
        if (strcmp(tp_severity_words[i], word) == 0)
            return i;
    return 0;
}

/* What the evidence says of a number that it begins with: "std 1239, was 0.17
 * \u00b1 0.0005 in the 16 iterations before". */
static const char *const told[] = {"baseline", "spread", NULL};

static bool begins_with_metric(const struct tp_table *table)
{
    const char *metric = text_in(table, 0, "metric");
    const char *evidence = text_in(table, 0, "evidence");
    const size_t length = strlen(metric);
    const char *behind = strstr(evidence, ": "); /* of tensors together    */
    for (int i = 0; i < 2 && length && evidence; i++) {
        if (strncmp(evidence, metric, length) == 0 && evidence[length] == ' ')
            return true;
        evidence = behind ? behind + 2 : NULL;
    }
    return false;
}

/* Findings of these rules are about a place in all iterations: `iteration` is
 * the first that is bad, and these are of the worst. */
static const char *const of_places[] = {"sqnr", "overflow", "underflow", NULL};
static const char *const of_worst[] = {"rank", "value", "file", "path", NULL};

static void add_label(struct tp_text *html, const struct tp_table *table,
                      const char *column)
{
    const bool place = tp_text_is_one_of(text_in(table, 0, "rule"), of_places);
    tp_html_text(html, column);
    if (place && strcmp(column, "iteration") == 0)
        tp_text_add(html, ", the first");
    else if (place && tp_text_is_one_of(column, of_worst))
        tp_text_add(html, " of the worst");
}

/* The other columns of a finding, as far as they say something. */
static void add_facts(struct tp_html_page *page, const struct tp_table *table,
                      size_t row)
{
    struct tp_text *html = &page->findings;
    struct tp_text cell = {0};
    const bool twice = begins_with_metric(table);
    tp_text_add(html, "<dl>");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tp_column *column = &table->columns[i];
        tp_text_clear(&cell);
        tp_html_cell(&cell, table, row, column);
        html->failed |= cell.failed;
        if (tp_text_is_one_of(column->name, apart) || cell.length == 0 ||
            (twice && tp_text_is_one_of(column->name, told)))
            continue;
        tp_text_add(html, "<dt>");
        add_label(html, table, column->name);
        tp_text_add(html, "</dt><dd>");
        if (strcmp(column->name, "file") == 0 && page->found < LINKED)
            tp_html_file(html, page->folder, text_in(table, row, "file"));
        else
            tp_text_bytes(html, tp_text_get(&cell), cell.length);
        tp_text_add(html, "</dd>");
    }
    tp_text_add(html, "</dl>");
    tp_text_clear(&cell);
}

/* Findings of scripts stand file by file: a heading where one begins. */
static void add_script(struct tp_html_page *page, const struct tp_table *table)
{
    const char *file = text_in(table, 0, "file");
    if (!tp_table_column(table, "source") ||
        (page->script && strcmp(page->script, file) == 0))
        return;
    page->script = file;
    tp_text_add(&page->findings, "<h3>");
    tp_html_file(&page->findings, page->folder, file);
    tp_text_add(&page->findings, "</h3>\n");
}

/* The line that a finding is on. */
static void add_source(struct tp_text *html, const struct tp_table *table)
{
    const char *source = text_in(table, 0, "source");
    if (!*source)
        return;
    tp_text_add(html, "<pre class=\"source\" tabindex=\"0\">");
    tp_html_text(html, source);
    tp_text_add(html, "</pre>");
}

/* Whether the evidence begins with a name, which then need not stand before
 * it. */
static bool begins_with_name(const struct tp_table *table)
{
    enum { BEGIN = 40 }; /* bytes that may stand before: "the host is in " */
    const char *name = text_in(table, 0, "name");
    const char *evidence = text_in(table, 0, "evidence");
    const char *at = *name ? strstr(evidence, name) : NULL;
    return at && at - evidence <= BEGIN;
}

/* Where it is: "rank 1 hifp8 linear L2 forward weight", or a call. */
static void add_place(struct tp_text *html, const struct tp_table *table)
{
    static const struct {
        const char *column, *before;
    } labels[] = {{"rank", "rank "},  {"quant_type", ""}, {"layer_type", ""},
                  {"layer_idx", "L"}, {"operation", ""},  {"tensor_name", ""},
                  {"name", ""},       {"cell", "cell "},  {"line", "line "}};
    struct tp_text cell = {0};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const struct tp_column *column =
            tp_table_column(table, labels[i].column);
        if (!column || (strcmp(column->name, "name") == 0 &&
                        begins_with_name(table)))
            continue;
        tp_text_clear(&cell);
        tp_html_cell(&cell, table, 0, column);
        html->failed |= cell.failed;
        if (cell.length)
            tp_text_add(html, "%s%s ", labels[i].before, tp_text_get(&cell));
    }
    tp_text_clear(&cell);
}

/* The worst finding in a sentence. */
static void note_first(struct tp_html_page *page, const struct tp_table *table)
{
    struct tp_text *html = &page->first;
    tp_text_add(html, "<b>");
    tp_html_text(html, rule_in(table, 0));
    tp_text_add(html, "</b>: ");
    if (tp_table_column(table, "source")) { /* of scripts: lines of many  */
        tp_html_file(html, page->folder, text_in(table, 0, "file"));
        tp_text_add(html, " ");
    }
    const size_t begin = html->length;
    add_place(html, table);
    if (html->length > begin) { /* with a space behind it */
        html->length--;
        tp_text_add(html, ": ");
    }
    tp_html_gist(html, page->lang, text_in(table, 0, "evidence"));
    page->findings.failed |= html->failed;
}

/* The only row of `table`; it is the next of all. */
static void add_finding(struct tp_html_page *page, const struct tp_table *table)
{
    const size_t number = page->found++;
    struct tp_text *html = &page->findings;
    const size_t row = 0;
    const char *word = text_in(table, row, "severity");
    const char *evidence = text_in(table, row, "evidence");
    const char *suggestion = text_in(table, row, "suggestion");
    const int severity = severity_of(word);
    page->counts[severity]++;
    if (number == 0)
        note_first(page, table);
    if (number >= TP_HTML_FINDINGS)
        return;
    add_script(page, table);
    tp_text_add(html, "<details class=\"finding\" data-row=\"%zu\"%s><summary>",
                number, number == 0 ? " open" : "");
    tp_text_add(html, "<span class=\"badge %s\">%s</span> <b>",
                severity ? tp_severity_words[severity] : "low",
                severity ? tp_severity_words[severity] : "note");
    tp_html_text(html, rule_in(table, row));
    tp_text_add(html, "</b> ");
    add_place(html, table);
    tp_html_gist(html, page->lang, evidence);
    tp_text_add(html, "</summary>\n<div>");
    add_source(html, table);
    tp_text_add(html, "<p>");
    tp_html_told(html, page->lang, evidence);
    tp_text_add(html, "</p>");
    if (*suggestion) {
        tp_text_add(html, "<p><b>What to do:</b> ");
        tp_html_told(html, page->lang, suggestion);
        tp_text_add(html, "</p>");
    }
    tp_text_add(html, "<div class=\"chart\"></div>");
    add_facts(page, table, row);
    if (page->its_files)
        tp_html_files(html, number < LINKED ? page->folder : NULL,
                      page->its_files, (int64_t)number, &page->file_row);
    tp_text_add(html, "</div></details>\n");
}

static void add_findings(struct tp_html_page *page,
                         const struct tp_table *table)
{
    void *room = table->make ? calloc(1, table->row_size) : NULL;
    page->findings.failed |= table->make && !room;
    for (size_t i = 0; i < table->row_count && !page->findings.failed; i++) {
        const struct tp_table one = tp_table_window(table, i, 1, room);
        add_finding(page, &one);
    }
    page->script = NULL;
    free(room);
}

/* --- tables --------------------------------------------------------------- */

/* What a command is mostly asked for: more of it stands in the page. */
static const char *const main_tables[] = {
    "tensors", "ops", "pairs", "replay", "calls", "scripts", NULL};

/* Those of which a map is drawn; a page has one of them. */
static const char *const mapped[] = {"tensors", "calls", "replay",
                                     "content_matches", NULL};

static void add_section(struct tp_html_page *page, const struct tp_table *table,
                        size_t packed)
{
    struct tp_text *html = &page->tables;
    const bool first = tp_text_is_one_of(table->name, main_tables);
    const size_t most = first ? TP_HTML_STATIC : TP_HTML_FEW;
    const size_t count = table->row_count < most ? table->row_count : most;
    tp_text_add(html, "<details data-table=\"");
    tp_html_text(html, table->name);
    tp_text_add(html, "\"%s><summary>", first ? " open" : "");
    tp_html_text(html, table->name);
    tp_text_add(html,
                " <span class=\"soft\">%zu rows</span></summary>\n<div>"
                "<p class=\"soft\">",
                table->row_count);
    if (packed < table->row_count)
        tp_text_add(html, "The first %zu rows are here. ", packed);
    if (page->full)
        tp_text_add(html,
                    "All, with all digits: <code>pandas.DataFrame("
                    "h5py.File('%s')['%s'][:])</code>",
                    page->full, table->name);
    tp_text_add(html, "</p>\n");
    tp_text_add(html, "<div class=\"view\"><div class=\"rows\" tabindex=\"0\" "
                      "role=\"region\" aria-label=\"first rows of ");
    tp_html_text(html, table->name);
    tp_text_add(html, "\">");
    tp_html_table_rows(html, table, count);
    tp_text_add(html, "</div></div></div></details>\n");
}

/* Whether rows of a table are packed: of a tree there is its markup alone. */
static bool is_packed(const struct tp_table *table)
{
    return table->row_count > 0 &&
           !(tp_html_is_tree(table) && strcmp(table->name, "tree") == 0);
}

/* Adds a table of which *packed may have rows. */
static enum tp_status add_table(struct tp_html_page *page,
                                const struct tp_table *table,
                                struct tp_html_packed *packed,
                                struct tp_error *err)
{
    const bool first = tp_text_is_one_of(table->name, main_tables);
    const size_t before = page->rows.length;
    const size_t used = first ? page->main_length : before - page->main_length;
    const size_t most = first ? TP_HTML_PACKED_MAIN : TP_HTML_PACKED;
    page->judged |= strcmp(table->name, "findings") == 0;
    if (table->row_count == 0)
        return TP_OK;
    if (tp_html_is_tree(table)) {
        const enum tp_status grown =
            tp_html_tree_add(&page->trees, table, page->full, err);
        if (grown != TP_OK || !is_packed(table))
            return grown; /* of places that is all there is in a page */
    }
    enum tp_status status = tp_html_table_pack(
        &page->rows, table, used < most ? most - used : 0, packed, err);
    if (status != TP_OK)
        return status;
    page->main_length += first ? page->rows.length - before : 0;
    if (strcmp(table->name, "findings") == 0)
        add_findings(page, table);
    else
        add_section(page, table, packed->rows);
    page->map |= tp_text_is_one_of(table->name, mapped);
    page->formats |= strcmp(table->name, "quantization_groups") == 0;
    return page->findings.failed || page->tables.failed ? tp_fail_memory(err)
                                                        : TP_OK;
}

enum tp_status tp_html_page_add(struct tp_html_page *page,
                                const struct tp_table *table,
                                struct tp_error *err)
{
    struct tp_html_packed packed = {.bytes = NULL};
    const enum tp_status status = add_table(page, table, &packed, err);
    tp_html_packed_clear(&packed);
    return status;
}

/* Tables that are packed at once. */
struct packing {
    const struct tp_table *tables;
    struct tp_html_packed *packed;
};

/* Where memory fails, the table is packed again when it is added. */
static void pack_task(void *context, size_t index, unsigned worker)
{
    const struct packing *packing = context;
    (void)worker;
    if (is_packed(&packing->tables[index]))
        tp_html_table_deflate(&packing->tables[index], &packing->packed[index],
                              NULL);
}

enum tp_status tp_html_page_add_all(struct tp_html_page *page,
                                    const struct tp_table *tables, size_t count,
                                    struct tp_pool *pool, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    struct tp_html_packed *packed = calloc(count + 1, sizeof *packed);
    if (!packed)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        if (strcmp(tables[i].name, "finding_files") == 0)
            page->its_files = &tables[i];
    struct packing packing = {tables, packed};
    if (tp_pool_size(pool) > 1) /* else one is in memory at a time */
        tp_pool_for(pool, count, pack_task, &packing);
    for (size_t i = 0; i < count; i++) {
        if (status == TP_OK)
            status = add_table(page, &tables[i], &packed[i], err);
        tp_html_packed_clear(&packed[i]);
    }
    free(packed);
    page->its_files = NULL;
    return status;
}

void tp_html_page_clear(struct tp_html_page *page)
{
    free(page->folder);
    tp_text_clear(&page->first);
    tp_text_clear(&page->findings);
    tp_text_clear(&page->tables);
    tp_text_clear(&page->trees);
    tp_text_clear(&page->rows);
    memset(page, 0, sizeof *page);
}

/* --- the page ------------------------------------------------------------- */

static void add_lines(struct tp_text *html, const char *const *lines)
{
    for (; *lines; lines++)
        tp_text_bytes(html, *lines, strlen(*lines));
}

static void add_head(struct tp_text *html, const struct tp_html_words *words)
{
    tp_text_add(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                      "<meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\""
                      "default-src 'none'; base-uri 'none'; "
                      "form-action 'none'; img-src data:; "
                      "style-src '" TP_HTML_STYLE_HASH "'; "
                      "script-src '" TP_HTML_SCRIPT_HASH "'\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, "
                      "initial-scale=1\">\n<title>tprof-analyze: ");
    tp_html_text(html, words->title);
    tp_text_add(html, "</title>\n<style>");
    add_lines(html, tp_html_style);
    tp_text_add(html, "</style>\n</head>\n<body>\n");
}

/* What was read: so many files of the first of the inputs. A merge knows the
 * folders of its states, not whether all of one was read. */
static void add_inputs(struct tp_text *html, const struct tp_html_page *page,
                       const struct tp_html_words *words)
{
    enum { NAMED = 4 };
    tp_text_add(html, "<p>Read: ");
    if (page->files && page->files != words->input_count)
        tp_text_add(html, "%" PRIu64 " %s of ", page->files,
                    page->files == 1 ? "file" : "files");
    for (size_t i = 0; i < words->input_count && i < NAMED; i++) {
        tp_text_add(html, i ? ", " : "");
        tp_html_file(html, page->folder, words->inputs[i]);
    }
    if (words->input_count > NAMED)
        tp_text_add(html, " and %zu more", words->input_count - NAMED);
    tp_text_add(html, "</p>\n");
}

/* What is missing where no script may run. */
static void add_noscript(struct tp_text *html, const struct tp_html_page *page)
{
    const bool drawn = page->map || page->trees.length;
    tp_text_add(html,
                "<noscript><p class=\"note\">No script runs here: %s%s"
                "the first rows of tables and the report can be read below; "
                "%s%stables that sort and filter need JavaScript."
                "</p></noscript>",
                page->judged ? "findings, " : "",
                page->trees.length ? "trees, " : "", drawn ? "charts, " : "",
                page->map ? "the map, " : "");
}

/* The parts that stand in the page without its script, which names those that
 * it draws itself. */
static void add_nav(struct tp_text *html, const struct tp_html_page *page,
                    const struct tp_html_words *words)
{
    const struct {
        bool there;
        const char *id, *words;
    } parts[] = {
        {page->judged, "findings", "Findings"},
        {page->formats, "formats", "Formats"},
        {page->trees.length > 0, "places", "Places"},
        {page->tables.length > 0, "tables", "Tables"},
        {tp_html_gallery_drawn(words->figures, words->figure_count) > 0,
         "figures", "Figures"},
        {true, "report", "Report"}};
    tp_text_add(html, "<nav aria-label=\"parts of the page\">");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].there)
            tp_text_add(html, "<a href=\"#%s\">%s</a>", parts[i].id,
                        parts[i].words);
    tp_text_add(html, "</nav>\n");
    add_noscript(html, page);
}

/* The verdict, else the worst finding; and what stands behind it. */
static void add_verdict(struct tp_text *html, const struct tp_html_page *page,
                        const struct tp_html_words *words)
{
    const bool first = page->found && !words->verdict;
    if (first)
        tp_text_add(html, "<p class=\"lead\">First: %s</p>\n",
                    tp_text_get(&page->first));
    if (!words->sentence)
        return;
    tp_text_add(html, "<p%s>", first ? "" : " class=\"lead\"");
    if (words->verdict) {
        tp_text_add(html, "<b>");
        tp_html_text(html, words->verdict);
        tp_text_add(html, "</b>: ");
    }
    tp_html_text(html, words->sentence);
    tp_text_add(html, "</p>\n");
}

static void add_top(struct tp_text *html, const struct tp_html_page *page,
                    const struct tp_html_words *words)
{
    tp_text_add(html, "<header><h1>tprof-analyze: ");
    tp_html_text(html, words->title);
    tp_text_add(html, "</h1>\n<p class=\"soft\">version ");
    tp_html_text(html, words->tool_version);
    tp_text_add(html, "</p>\n");
    if (words->input_count)
        add_inputs(html, page, words);
    add_verdict(html, page, words);
    if (page->judged) {
        tp_text_add(html, "<p class=\"lead\">");
        tp_report_finding_counts(page->counts, html);
        tp_text_add(html, "</p>\n");
    }
    add_nav(html, page, words);
    tp_text_add(html, "</header>\n<main>\n");
}

/* Where the script draws the map, and the formats of tensors. */
static void add_drawn_parts(struct tp_text *html,
                            const struct tp_html_page *page)
{
    if (page->map)
        tp_text_add(html, "<div id=\"map\"></div>\n"
                          "<div id=\"scope\" role=\"status\"></div>\n");
    if (page->formats)
        tp_text_add(html, "<h2 id=\"formats\">Formats</h2>\n<p>The ratio of "
                          "signal to quantisation error (SQNR) of each place "
                          "in each format, over all elements of its tensors "
                          "together or of the worst tensor alone, and what "
                          "overflows or underflows; the format to take, and "
                          "why. The tables quantization_groups and "
                          "recommendations have more.</p>\n"
                          "<div id=\"formats-view\"></div>\n");
}

static void add_tables(struct tp_text *html, const struct tp_html_page *page)
{
    if (page->tables.length == 0)
        return;
    tp_text_add(html, "<h2 id=\"tables\">Tables</h2>\n");
    if (page->full)
        tp_text_add(html,
                    "<p class=\"soft\">%s has them in full, with all "
                    "digits.</p>\n",
                    page->full);
    tp_text_bytes(html, tp_text_get(&page->tables), page->tables.length);
}

static void add_finding_list(struct tp_text *html,
                             const struct tp_html_page *page)
{
    tp_text_add(html, "<h2 id=\"findings\">Findings</h2>\n");
    if (page->found == 0)
        tp_text_add(html, "<p>There are none.</p>\n");
    tp_text_bytes(html, tp_text_get(&page->findings), page->findings.length);
    if (page->found > TP_HTML_FINDINGS)
        tp_text_add(html,
                    "<p class=\"soft\">%zu more, none of them worse, are in "
                    "%s%s.</p>\n",
                    page->found - TP_HTML_FINDINGS,
                    page->full ? "/findings of " : "the report below",
                    page->full ? page->full : "");
}

enum tp_status tp_html_page_write(const struct tp_html_page *page,
                                  const struct tp_html_words *words,
                                  struct tp_text *html, struct tp_error *err)
{
    add_head(html, words);
    add_top(html, page, words);
    if (page->judged)
        add_finding_list(html, page);
    add_drawn_parts(html, page);
    tp_text_add(html, "<div id=\"charts\" class=\"charts\"></div>\n");
    tp_text_bytes(html, tp_text_get(&page->trees), page->trees.length);
    add_tables(html, page);
    const enum tp_status status = tp_html_gallery(
        html, words->folder, words->figures, words->figure_count, err);
    tp_html_report(html, page->lang, words->report, !page->full);
    tp_text_add(html, "</main>\n");
    tp_text_bytes(html, tp_text_get(&page->rows), page->rows.length);
    tp_text_add(html, "<script>");
    add_lines(html, tp_html_script);
    tp_text_add(html, "</script>\n</body>\n</html>\n");
    return status == TP_OK && html->failed ? tp_fail_memory(err) : status;
}
