/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_GNUPLOT_STARTER_H
#define TP_REPORT_GNUPLOT_STARTER_H

#include "base/error.h"
#include "report/gnuplot.h"
#include "sandbox/sandbox.h"

/* A process that starts gnuplot for one that may start nothing. */
struct tp_gnuplot_starter;

/*
 * Starts it, for scripts in folders of the output directory, which must be
 * there. It limits itself (sandbox.h) meanwhile. Call before there are threads,
 * and release with tp_gnuplot_starter_close. TP_E_MEMORY, TP_E_IO.
 */
enum tp_status tp_gnuplot_starter_open(const char *output_dir,
                                       struct tp_gnuplot_starter **starter,
                                       struct tp_error *err);

/* Waits until it is limited, or fails as it did. */
enum tp_status tp_gnuplot_starter_wait(struct tp_gnuplot_starter *starter,
                                       struct tp_error *err);

/* As tp_gnuplot_run, by it. */
enum tp_status tp_gnuplot_starter_run(struct tp_gnuplot_starter *starter,
                                      struct tp_gnuplot_work *work,
                                      struct tp_error *err);

/* Ends it and waits for its end. Accepts NULL. */
void tp_gnuplot_starter_close(struct tp_gnuplot_starter *starter);

#endif
