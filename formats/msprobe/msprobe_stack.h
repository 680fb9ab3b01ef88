/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_STACK_H
#define TP_MSPROBE_MSPROBE_STACK_H

#include "formats/json/json_value.h"

/*
 * stack.json, beside dump.json: from where each call was made. Until 2025
 * {CALL: [LINE, ...]}, later {NUMBER: [[CALL, ...], [LINE, ...]]}.
 */

/* Who reads; anything but TP_OK ends the reading with it. */
struct tp_msprobe_stack_sink {
    void *context;
    /* A stack begins: a list of texts, innermost call first. */
    enum tp_status (*stack)(void *context, const struct tp_json *lines,
                            struct tp_error *err);
    /* A call was made from there. */
    enum tp_status (*call)(void *context, const char *call,
                           struct tp_error *err);
};

/* Reads member by member; values are valid during the call. A file that ends
 * too early fails with TP_E_DAMAGED after its whole members were told; members
 * of another form are passed over. */
enum tp_status tp_msprobe_read_stack(const char *path,
                                     const struct tp_msprobe_stack_sink *sink,
                                     struct tp_error *err);

/* The same of memory, read `chunk` bytes at a time, which changes nothing. */
enum tp_status tp_msprobe_read_stack_memory(
    const void *memory, size_t size, size_t chunk,
    const struct tp_msprobe_stack_sink *sink, struct tp_error *err);

#endif
