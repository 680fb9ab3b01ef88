/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_GNUPLOT_REQUEST_H
#define TP_REPORT_GNUPLOT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "report/gnuplot.h"

/*
 * What is asked of the process that starts gnuplot: a head, then the names, a
 * NUL behind each: the folder of the scripts, then category, id and output of
 * each. Whoever asks may have been taken over: all of it is checked.
 */

struct tp_gnuplot_request {
    uint32_t bytes; /* of the names                                        */
    uint32_t count; /* of the scripts                                      */
    uint32_t processes, patience_s;
};

/* The most that is taken: hundreds of figures are less than a tenth of it. */
enum {
    TP_GNUPLOT_REQUEST_BYTES = 1 << 20,
    TP_GNUPLOT_REQUEST_COUNT = 1 << 13,
    TP_GNUPLOT_REQUEST_PATIENCE = 24 * 3600 /* seconds                      */
};

/* Makes a request of the work; its names are added to `names`. TP_E_MEMORY;
 * TP_E_LIMIT: it is too much for one. */
enum tp_status tp_gnuplot_ask(const struct tp_gnuplot_work *work,
                              struct tp_gnuplot_request *request,
                              struct tp_text *names, struct tp_error *err);

/* Whether a head is of a request that may be read. */
bool tp_gnuplot_may_read(const struct tp_gnuplot_request *request);

/*
 * Makes the work of a request, whose names (NUL-ended even without the last of
 * them) stay and are pointed at; jobs are released with free(), also after a
 * failure. TP_E_DAMAGED: a folder that is not in `output_dir` itself, a name
 * that is more than letters, digits, '.', '_' and '-', or not as many as said.
 * TP_E_MEMORY.
 */
enum tp_status tp_gnuplot_take(const struct tp_gnuplot_request *request,
                               const char *names, const char *output_dir,
                               struct tp_gnuplot_work *work,
                               struct tp_error *err);

#endif
