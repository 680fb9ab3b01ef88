/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_TREE_H
#define TP_MSPROBE_MSPROBE_TREE_H

#include "formats/json/json_value.h"

/*
 * construct.json, beside dump.json: {CALL: PARENT | null | [PARENT, STEP]},
 * where STEP is a micro step.
 */

/* Who reads; anything but TP_OK ends the reading with it. */
struct tp_msprobe_tree_sink {
    void *context;
    /* Told of each call; `parent` is "" at the top. */
    enum tp_status (*parent)(void *context, const char *call,
                             const char *parent, struct tp_error *err);
};

/* Reads member by member; texts are valid during the call. A file that ends
 * too early fails with TP_E_DAMAGED after its whole members were told; members
 * of another form are passed over. */
enum tp_status tp_msprobe_read_tree(const char *path,
                                    const struct tp_msprobe_tree_sink *sink,
                                    struct tp_error *err);

/* The same of memory, read `chunk` bytes at a time, which changes nothing. */
enum tp_status tp_msprobe_read_tree_memory(
    const void *memory, size_t size, size_t chunk,
    const struct tp_msprobe_tree_sink *sink, struct tp_error *err);

#endif
