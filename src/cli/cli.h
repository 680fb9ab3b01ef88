/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_CLI_H
#define TP_CLI_CLI_H

#include <signal.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number_set.h"
#include "base/text.h"
#include "cli/options.h"
#include "cuda/session.h"
#include "tensors/cast_plan.h"

/* What the commands share. Everything that is printed is printed here. */

/* Exit statuses, as the manual has them. */
enum {
    TP_EXIT_OK = 0,
    TP_EXIT_FINDINGS = 1, /* a finding reached --fail_on                  */
    TP_EXIT_USAGE = 2,
    TP_EXIT_DAMAGED = 3, /* some input was damaged or unsupported        */
    TP_EXIT_FAILED = 4   /* could not finish                             */
};

/* One command: a row of the table in main.c. */
struct tp_command {
    const char *name;
    const char *synopsis; /* its arguments                                */
    const char *help;     /* one line                                     */
    unsigned bit;         /* TP_FOR_...                                   */
    int (*run)(const struct tp_options *options, int argc, char **argv);
};

/* The rows, ended by one whose name is NULL. */
extern const struct tp_command tp_commands[];

/* The commands: run, print, return the exit status; rows of the table. */
int tp_cmd_tensors(const struct tp_options *options, int argc, char **argv);
int tp_cmd_trace(const struct tp_options *options, int argc, char **argv);
int tp_cmd_dump(const struct tp_options *options, int argc, char **argv);
int tp_cmd_check(const struct tp_options *options, int argc, char **argv);
int tp_cmd_compare(const struct tp_options *options, int argc, char **argv);
int tp_compare_by_content(const struct tp_options *options, int argc,
                          char **argv); /* what compare does with --match */
int tp_cmd_replay(const struct tp_options *options, int argc, char **argv);
int tp_cmd_merge(const struct tp_options *options, int argc, char **argv);
int tp_merge_traces(const struct tp_options *options, int argc, char **argv);
int tp_cmd_inspect(const struct tp_options *options, int argc, char **argv);
int tp_cmd_list(const struct tp_options *options, int argc, char **argv);

/* Set by SIGINT, SIGTERM and SIGHUP; polled by long work. */
extern volatile sig_atomic_t tp_interrupted;

/* From now on SIGINT, SIGTERM and SIGHUP set tp_interrupted. */
void tp_catch_signals(void);

/* Prints "tprof-analyze: FILE: message" to stderr. */
void tp_print_error(const struct tp_error *err);

/* Prints "tprof-analyze: warning: ..." to stderr unless --quiet. */
void tp_print_warning(const struct tp_options *options, const char *format, ...)
    TP_PRINTF(2, 3);

/*
 * Writes the text to stdout and releases it. False when it cannot be written
 * (a full disk, a closed pipe) or memory ran out while it was made; that is
 * said.
 */
bool tp_print(struct tp_text *text);

/* Whether stdout is a terminal that wants colours (NO_COLOR, TERM). */
bool tp_wants_color(void);

/* Appends words that a terminal opens a file by (OSC 8), as absolute path. */
void tp_text_link(struct tp_text *text, const char *path, const char *words);

/* Columns of prose on stdout: those of the terminal, TP_TEXT_COLUMNS where
 * there is none. */
size_t tp_stdout_columns(void);

/*
 * What analysing commands ask of their options: some input (called
 * `what` in the message), a known backward format.
 */
enum tp_status tp_check_options(const struct tp_options *options,
                                const char *what, struct tp_error *err);

/* Whether there are two inputs, as compare takes. */
enum tp_status tp_check_pair(const struct tp_options *options,
                             struct tp_error *err);

/* The numbers of --step and --rank, which may be NULL, as sets. */
enum tp_status tp_parse_places(const char *steps, const char *ranks,
                               struct tp_number_set *of_steps,
                               struct tp_number_set *of_ranks,
                               struct tp_error *err);

/* The format of --backward_format, checked; NULL when it is not given. */
const struct tp_number *tp_backward_format(const struct tp_options *options);

/*
 * Opens the device that was asked for, for the workers of a pool and the casts
 * of a plan (NULL: none); *device is NULL where the CPU is to do it all. Fails
 * with TP_E_LIMIT and the reason when it was asked for by name and is not to be
 * had.
 */
enum tp_status tp_open_device(const struct tp_options *options,
                              unsigned workers,
                              const struct tp_quant_plan *plan,
                              struct tp_device_session **device,
                              struct tp_error *err);

/* Closes it; warns if it failed on the way. Accepts NULL. */
void tp_close_device(const struct tp_options *options,
                     struct tp_device_session *device);

/* Exit status for a failure that ends the run. */
int tp_exit_of(enum tp_status status);

/* A progress line on stderr, if it is a terminal and the run lasts. */
struct tp_progress {
    bool enabled, shown;
    const char *noun;        /* what is counted: "files"         */
    double started, updated; /* seconds, monotonic */
};
void tp_progress_start(struct tp_progress *progress, const char *noun,
                       const struct tp_options *options);
/* Matches tp_collect_options.progress; `context` is a tp_progress. */
void tp_progress_update(void *context, uint64_t done, uint64_t all,
                        uint64_t bytes_done, uint64_t bytes_all);
/* Removes the line. */
void tp_progress_end(struct tp_progress *progress);

#endif
