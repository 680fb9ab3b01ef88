/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_GNUPLOT_H
#define TP_REPORT_GNUPLOT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Running gnuplot. No shell is involved: the program is executed directly,
 * in the output folder, without the user's own start-up file, and its
 * commands hold nothing but the ids of figures.
 */

/* One script to run. */
struct tp_gnuplot_job {
    const char *category; /* folder below the output directory            */
    const char *id;       /* the script is category/id.gp                 */
    const char *output;   /* file name inside the folder, ours, no quotes;
                             unless it is one of tp_file_aside, its ending is
                             the format to draw in, else the script's      */
    bool done;            /* out: gnuplot came to its end without error   */
};

/* All scripts of a run. */
struct tp_gnuplot_work {
    const char *output_dir;
    struct tp_gnuplot_job *jobs;
    size_t count;
    unsigned processes;  /* at once                                       */
    unsigned patience_s; /* for one figure; 0: two minutes                */
    const volatile sig_atomic_t *stop; /* not zero: end; may be NULL       */
    char why[400]; /* out: "", or why the first script was not drawn, or,
                      when all were, what gnuplot complained about        */
};

/*
 * Runs the scripts, each process with its share; a script that fails costs
 * only itself, and so does one that does not end: its process is killed.
 * TP_E_NOT_FOUND when there is no gnuplot, TP_E_INTERRUPTED after *stop;
 * jobs that could not be started are just not done. No child is left when it
 * returns; call it from one thread at a time.
 */
enum tp_status tp_gnuplot_run(struct tp_gnuplot_work *work,
                              struct tp_error *err);

#endif
