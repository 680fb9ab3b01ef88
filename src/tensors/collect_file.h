/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_COLLECT_FILE_H
#define TP_TENSORS_COLLECT_FILE_H

#include <pthread.h>
#include <stdatomic.h>

#include "formats/reader.h"
#include "scan/scan.h"
#include "tensors/claims.h"
#include "tensors/collect_options.h"
#include "tensors/quantised.h"

/* One file becomes a record, while others do so on other threads. */

/* What a thread uses for one file after the other. */
struct tp_file_worker {
    struct tp_tensor_file file;
    struct tp_scan_result scan; /* 32 KiB: too large for a stack */
    struct tp_quant_choice quant;
    struct tp_dims_room dims;
    struct tp_code_use use;
};

struct tp_collector {
    const struct tp_collect_options *options;
    struct tp_run *run;
    struct tp_scanner *scanner;
    struct tp_file_worker *workers;
    atomic_bool no_memory;     /* the run cannot go on; read without the lock */
    pthread_mutex_t lock;      /* guards everything below, and run->arena */
    struct tp_records records; /* a slot per file makes the result independent
                                  of the order in which workers finish      */
    uint64_t files_done, bytes_done, bytes_all;
    double kept;  /* when records were kept last                   */
    bool keeping; /* a thread does so                               */
    bool telling; /* units are opened for what they tell, of a team         */
    bool told;    /* that was done                                          */
    uint64_t *weights; /* bytes to read of each file, of a team             */
    struct tp_claims claims;
    size_t claimed; /* seen to be, by whomever                              */
};

/*
 * Reads a file, the one at `index` of the run, into its record, or a part of it
 * into one of its own: `claimed` where its name says that it describes tensors
 * of other files. What is wrong with it becomes a row of what was skipped, and
 * lack of memory c->no_memory. Any thread, with a worker number of its own.
 */
void tp_collect_file(struct tp_collector *c, size_t index,
                     struct tp_record *result, bool claimed, unsigned number);

#endif
