/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_PAGE_H
#define TP_REPORT_HTML_PAGE_H

#include "base/pool.h"
#include "base/text.h"
#include "data/table.h"
#include "report/report_parts.h"

/*
 * A report as one HTML file: findings, tables and figures in a page that needs
 * no other file, no network and no script but its own. What came from files is
 * escaped, and the page's policy (Content-Security-Policy) allows nothing that
 * is not known by its hash.
 */

/* A page in the making: tables are taken while they are there. All-zero bytes
 * are an empty one. */
struct tp_html_page {
    const char *full;     /* the file that has all rows, "summary.h5"; borrowed,
                             set by who begins the page; NULL: there is none */
    char *folder;         /* absolute, where the page will be, owned; NULL:
                             files are not looked for                      */
    uint64_t files;       /* that were read; 0: not told                   */
    const char *lang;     /* of what in findings and in the report is not in
                             English, as BCP 47; NULL: all of them are     */
    struct tp_text first; /* the worst finding, markup                     */
    struct tp_text findings; /* markup                                     */
    struct tp_text tables;   /* the same                                   */
    struct tp_text trees;    /* the same, of html_tree.h                   */
    struct tp_text rows;     /* packed                                     */
    size_t main_length;      /* characters of these, of main tables        */
    size_t counts[4];        /* findings by enum tp_severity; [0]: others  */
    size_t found;            /* findings                                   */
    const char *script;      /* that the last one is in; borrowed while the
                                findings are added                         */
    const struct tp_table *its_files; /* of findings, by finding; borrowed
                                         while these are added; NULL: none  */
    size_t file_row;         /* of these, of the next finding               */
    bool map;                /* tensors or calls, of which one is drawn     */
    bool formats;            /* formats were simulated                     */
    bool judged;             /* there is a table of findings, if empty     */
};

/* The rest of what a page says; borrowed. */
struct tp_html_words {
    const char *title; /* of the command: "trace"                   */
    const char *tool_version;
    const char *verdict, *sentence; /* of the whole; NULL: there is none; a
                                       sentence may stand alone            */
    const char *report;        /* the report as text                        */
    const char *const *inputs; /* as they were given                       */
    size_t input_count;
    const char *folder; /* where the figures are                     */
    const struct tp_report_figure *figures;
    size_t figure_count;
};

enum {
    /* characters of packed rows at most: of the main table, so that all the
     * TP_HTML_ROWS rows that a finding may lead to have room, and of all
     * others, so that with scripts, first rows and the report's text the page
     * of a run of some 10^4 tensors stays below 5 MB */
    TP_HTML_PACKED_MAIN = 12 << 20,
    TP_HTML_PACKED = 21 << 17,
    /* findings that are listed: at 1.5 kB each they take 3 MB at most, and
     * nobody reads more one by one */
    TP_HTML_FINDINGS = 2000
};

/*
 * Takes a table: the one that is called "findings" as findings, every other
 * one as a table that can be opened. What of it has no room is left out, and
 * the page says so. TP_E_MEMORY.
 */
enum tp_status tp_html_page_add(struct tp_html_page *page,
                                const struct tp_table *table,
                                struct tp_error *err);

/* The same of several, one after the other; they are packed by a pool. Findings
 * then lead to the files of the one called "finding_files", if it is there. */
enum tp_status tp_html_page_add_all(struct tp_html_page *page,
                                    const struct tp_table *tables, size_t count,
                                    struct tp_pool *pool, struct tp_error *err);

/* Appends the page; figures are read from their files. TP_E_MEMORY, and what
 * tp_bytes_open and tp_bytes_read fail with, after the figure's name. */
enum tp_status tp_html_page_write(const struct tp_html_page *page,
                                  const struct tp_html_words *words,
                                  struct tp_text *html, struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_html_page_clear(struct tp_html_page *page);

#endif
