/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_CONFINE_H
#define TP_CLI_CONFINE_H

#include "cli/options.h"
#include "cli/output.h"
#include "report/gnuplot_starter.h"
#include "sandbox/sandbox.h"

/*
 * What a command gives away before it reads (sandbox/sandbox.h), by its
 * options.
 */

struct tp_confined {
    bool tried; /* not --no_sandbox, and built with one                    */
    struct tp_sandbox sandbox;
    struct tp_gnuplot_starter *starter; /* NULL: this process starts gnuplot */
    char *temporary; /* folder of temporary files of this process, or NULL  */
};

/* What a command does. */
struct tp_confine_use {
    bool writes;    /* into the output directory, which is there            */
    bool draws;     /* figures                                              */
    bool computes;  /* on the device that the options name                  */
    bool temporary; /* may unpack into temporary files                      */
    const struct tp_output_made *made; /* folders that may go again; or NULL */
};

/* Gives it away, for good. Call once, before there are threads; release with
 * tp_confine_end, also after a failure: TP_E_IO, TP_E_MEMORY. */
enum tp_status tp_confine(const struct tp_options *options,
                          const struct tp_confine_use *use,
                          struct tp_confined *confined, struct tp_error *err);

/* Asks something of a file before that, in a child without rights, since what
 * is read may take the reader over; false also where it came to no answer. */
enum tp_status tp_confined_ask(const struct tp_options *options,
                               bool (*ask)(const char *path), const char *path,
                               bool *answer, struct tp_error *err);

/* What was in force, for reports. */
void tp_confine_words(const struct tp_confined *confined, struct tp_text *text);

/* Ends the process that starts gnuplot, and removes the folder. */
void tp_confine_end(struct tp_confined *confined);

#endif
