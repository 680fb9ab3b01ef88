/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_DUMP_H
#define TP_MSPROBE_MSPROBE_DUMP_H

#include "formats/msprobe/msprobe_items.h"

/*
 * dump.json and debug.json of msprobe, of all generations from 1.0 on:
 *
 *     {"task": ..., "level": ..., "framework": ..., "dump_data_dir": ...,
 *      "data": {CALL: ENTRY, ...}}
 *
 * The file is read entry by entry, so its size does not matter.
 */

/* One entry; valid during the call it is handed out in. */
struct tp_msprobe_call {
    const char *key;
    size_t order;   /* from 0, in the file                                 */
    int64_t offset; /* byte of the entry in the file                       */
    const struct tp_json *entry;
    struct tp_msprobe_items items;
};

/* What a file says of itself. */
enum tp_msprobe_head {
    TP_MSPROBE_TASK,      /* "tensor", "statistics", ...                   */
    TP_MSPROBE_LEVEL,     /* "L0", "L1", "mix", "debug"                    */
    TP_MSPROBE_FRAMEWORK, /* "pytorch"; not said before 2025               */
    TP_MSPROBE_DATA_DIR,  /* of the tensors, as the writer saw it          */
    TP_MSPROBE_HEADS
};

/* Who reads; anything but TP_OK ends the reading with it. */
struct tp_msprobe_sink {
    void *context;
    /* Told of each entry. */
    enum tp_status (*call)(void *context, const struct tp_msprobe_call *call,
                           struct tp_error *err);
    /* Told of the texts beside the data, which are valid during the call;
     * may be NULL. */
    enum tp_status (*head)(void *context, enum tp_msprobe_head head,
                           const char *text, struct tp_error *err);
};

/*
 * Reads a file; or memory, `chunk` bytes at a time, which changes nothing. A
 * file that ends too early fails with TP_E_DAMAGED and the byte, after every
 * whole entry before it was handed out; so does, of its first, one with entries
 * that are no JSON, after all others were. TP_E_UNSUPPORTED: JSON of something
 * else. TP_E_IO,
 * TP_E_LIMIT, TP_E_MEMORY.
 */
enum tp_status tp_msprobe_read(const char *path,
                               const struct tp_msprobe_sink *sink,
                               struct tp_error *err);
enum tp_status tp_msprobe_read_memory(const void *memory, size_t size,
                                      size_t chunk,
                                      const struct tp_msprobe_sink *sink,
                                      struct tp_error *err);

#endif
