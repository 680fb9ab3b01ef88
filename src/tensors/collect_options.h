/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_COLLECT_OPTIONS_H
#define TP_TENSORS_COLLECT_OPTIONS_H

#include <signal.h>

#include "base/error.h"
#include "base/world.h"
#include "cuda/session.h"
#include "scan/dim_rank.h"
#include "tensors/record.h"
#include "tensors/run.h"

/* How the files of a run are read, by whom, and who keeps what was. */

/* Keeps what was read, so that a later run need not read it. */
struct tp_collect_keeper {
    struct tp_records *known; /* of an earlier run; used up               */
    struct tp_reused *reused; /* set before anything is read               */
    double seconds; /* from one call of `keep` to the next, at least */
    /* Called by one thread at a time, with those records that are done; `whole`
     * at the end, where all are: a failure ends the run then. */
    enum tp_status (*keep)(void *context, const struct tp_records *records,
                           bool whole, struct tp_error *err);
    void *context;
};

/* Processes that read the files of a run together. */
struct tp_collect_team {
    const struct tp_world *world;
    uint64_t part_bytes; /* least of a part of a file that one process reads;
                            0: TP_CLAIM_BYTES                              */
    /* Told what a worker begins to read; "": no more. Any thread; may be
     * NULL. */
    void (*reading)(void *context, const char *path, unsigned worker);
    /* Once all is read: sends the records that are done and not elsewhere, and
     * at rank 0 fills in those of the others. */
    enum tp_status (*gather)(void *context, struct tp_records *records,
                             struct tp_error *err);
    void *context;
};

struct tp_collect_options {
    const char *const *roots; /* directories, or files, which are
                                 read whatever their name is        */
    size_t root_count;
    enum tp_scale_rule mx_scale;    /* of MX formats                      */
    enum tp_nonfinite mx_nonfinite; /* of their blocks                 */
    const struct tp_number *backward_format; /* of backward tensors of MX
                                    runs; NULL: as forward             */
    int block_axis; /* of blocks, counted from the last one: 0           */
    const struct tp_quant_plan *quant; /* casts to simulate; NULL: none   */
    enum tp_dims_mode dims;            /* statistics by index             */
    enum tp_dim_reduce reduce;         /* what decides the risk of an axis  */
    /* Called now and then, never by two threads at once; may be NULL. */
    void (*progress)(void *context, uint64_t files_done, uint64_t files_all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
    bool parts; /* tensors that lie in parts give a row for each of these,
                   too                                              */
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL   */
    struct tp_device_session *device;  /* as of tp_scanner_use; NULL: none */
    const struct tp_collect_keeper *keeper; /* NULL: all is read, and nothing
                                          kept                             */
    const struct tp_collect_team *team; /* NULL: this process reads alone  */
};

#endif
