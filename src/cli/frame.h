/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_FRAME_H
#define TP_CLI_FRAME_H

#include "base/pool.h"
#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/output.h"
#include "data/table.h"
#include "report/html_page.h"

/*
 * What the analysing commands do alike: they check their options, make the
 * folder of the results, read, write, put what they wrote in the place of what
 * an earlier run left there, print and exit. What a command does differently
 * are its steps, over a session of its own.
 */

/* Items of each list on stdout; reports in files hold them all. */
enum { TP_MOST_ON_STDOUT = 10 };

struct tp_frame_steps;

/* The first member of every session, with its options; the rest is filled in
 * and released by the frame, but for what is said. */
struct tp_frame {
    const struct tp_options *options;
    const struct tp_frame_steps *steps;
    struct tp_text command_line;
    struct tp_confined confined;
    struct tp_text sandbox;       /* its words                             */
    struct tp_pool *pool;         /* from `read` on                        */
    struct tp_figure_set figures; /* empty where there are none            */
    struct tp_drawn drawn;
    struct tp_html_page page; /* takes the tables while they are written   */
    struct tp_text replaced; /* names of what an earlier run may have left;
                                `write` adds its figures                    */
    /* set by the steps: */
    bool known;   /* the result stands: it is printed also where its files
                     cannot be written                                     */
    bool damaged; /* some input was: exit status 3                         */
    int worst;    /* severity of the findings; 0: there are none           */
    const char *verdict, *sentence; /* on the whole, borrowed; NULL: none  */
};

/* How a report is told. */
struct tp_report_style {
    bool file;   /* not on stdout                                          */
    size_t most; /* items of each list; 0: all                             */
    bool color;
};

enum { TP_FRAME_OTHERS = 4 };

/* A command: names of its files and functions, each given its session. */
struct tp_frame_steps {
    const char *title;                    /* what the results are of       */
    const char *hdf5, *findings, *report; /* NULL: no file is written      */
    const char *others[TP_FRAME_OTHERS];  /* which an earlier run may have left
                                             beside these; NULL: no more    */
    bool computes; /* on the device that the options name                  */
    bool beside;   /* rows of its tables are made from what is only read, so
                      that several threads may make them                    */
    /* What the options ask for; before anything is made, and no file is read:
     * that is for `read`, which has few rights. */
    enum tp_status (*check)(void *session, struct tp_error *err);
    /* Reads; after a failure folders that were made are removed. */
    enum tp_status (*read)(void *session, struct tp_error *err);
    /* What follows from it, while old results are there; may be NULL. */
    enum tp_status (*judge)(void *session, struct tp_error *err);
    /* Writes all but the findings and the report, which come last. */
    enum tp_status (*write)(void *session, struct tp_error *err);
    /* The figures, unless --no_plots; TP_E_IO leaves room for what comes last.
     * May be NULL. */
    enum tp_status (*draw)(void *session, struct tp_error *err);
    /* What the page says of the whole, if `verdict` of the frame does not: both
     * may stay empty. May be NULL. */
    void (*head)(const void *session, struct tp_text *verdict,
                 struct tp_text *sentence);
    /* Writes files elsewhere, before the results change places, so that older
     * ones stay if it fails; may be NULL. */
    enum tp_status (*elsewhere)(const void *session, struct tp_error *err);
    void (*text)(const void *session, const struct tp_report_style *style,
                 struct tp_text *text);
    void (*json)(const void *session, struct tp_text *text); /* --format */
    /* The file of findings; NULL: as `json`. */
    void (*findings_json)(const void *session, struct tp_text *text);
    /* Whether words of the result were lost, since memory failed where nobody
     * was told: asked before anything is kept or printed. */
    bool (*lost)(const void *session);
    void (*clear)(void *session); /* all but the frame                     */
};

/* Runs a command on its session, which has its options; prints what it finds
 * or why it failed. The exit status. */
int tp_frame_run(const struct tp_frame_steps *steps, void *session, int argc,
                 char **argv);

/* Writes the tables as the HDF5 file of the command, and takes them for its
 * HTML report; how many files and bytes were read stands in the head of the
 * first. For `write`. Fails as tp_hdf5_write. */
enum tp_status tp_frame_hdf5(struct tp_frame *frame,
                             const struct tp_table *tables, size_t count,
                             uint64_t files, uint64_t bytes,
                             struct tp_error *err);

#endif
