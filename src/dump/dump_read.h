/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_READ_H
#define TP_DUMP_DUMP_READ_H

#include <signal.h>

#include "base/pool.h"
#include "dump/dump_find.h"

/* Reading the json files of places. */

struct tp_dump_read_options {
    struct tp_dump_wish wish;
    bool recover; /* calls that only names of files tell of, too           */
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
};

/*
 * Finds the places of a dump and reads their json files, each as far as it is
 * whole: what is wrong is in the place's sources, and is no failure. `dump` is
 * zeroed by the caller and released with tp_dump_clear, also after a failure:
 * those of tp_dump_find, TP_E_MEMORY, TP_E_INTERRUPTED. The result does not
 * depend on the pool.
 */
enum tp_status tp_dump_read(const struct tp_dump_read_options *options,
                            struct tp_dump *dump, struct tp_error *err);

/* Adds the calls of a dump.json in memory to a place that was made, as far as
 * the text is whole; then fails as tp_msprobe_read_memory. Their tensors have
 * no files. */
enum tp_status tp_dump_read_memory(const void *text, size_t length,
                                   struct tp_dump_place *place,
                                   struct tp_error *err);

#endif
