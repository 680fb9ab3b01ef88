/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_GNUPLOT_H
#define TP_REPORT_GNUPLOT_H

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
    const char *output;   /* file name inside the folder, ours, no quotes */
    bool done;            /* out: gnuplot came to its end without error   */
};

/* All scripts of a run. */
struct tp_gnuplot_work {
    const char *output_dir;
    struct tp_gnuplot_job *jobs;
    size_t count;
    unsigned processes; /* at once                                         */
    char warning[512];  /* out: "", or the first thing that went wrong     */
};

/*
 * Runs the scripts, each process with its share; a script that fails costs
 * only itself. Fails with TP_E_NOT_FOUND when there is no gnuplot; jobs that
 * could not be started are just not done. Waits for all of its children;
 * call it from one thread at a time.
 */
enum tp_status tp_gnuplot_run(struct tp_gnuplot_work *work,
                              struct tp_error *err);

#endif
