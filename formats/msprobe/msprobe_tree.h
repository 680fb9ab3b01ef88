/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_TREE_H
#define TP_MSPROBE_MSPROBE_TREE_H

#include "formats/json/json_value.h"

/*
 * The two files beside dump.json:
 *
 *     construct.json   {CALL: PARENT | null | [PARENT, MICRO STEP]}
 *     stack.json       {"0": [[CALL, ...], [LINE, ...]]} or {CALL: [LINE, ...]}
 *
 * A line of a stack is "File PATH, line N, in FUNCTION, \n CODE"; the innermost
 * call comes first.
 */

/* Who reads; anything but TP_OK ends the reading with it. */
struct tp_msprobe_tree_sink {
    void *context;
    /* Told of each call; `parent` is "" at the top, micro_step -1 where none
     * is said. */
    enum tp_status (*parent)(void *context, const char *call,
                             const char *parent, int64_t micro_step,
                             struct tp_error *err);
};

struct tp_msprobe_stack_sink {
    void *context;
    /* Told of each call with the list of its lines. */
    enum tp_status (*stack)(void *context, const char *call,
                            const struct tp_json *lines, struct tp_error *err);
};

/* Read member by member; texts are valid during the call. A file that ends
 * too early fails with TP_E_DAMAGED after its whole members were told; members
 * of another form are passed over. */
enum tp_status tp_msprobe_read_tree(const char *path,
                                    const struct tp_msprobe_tree_sink *sink,
                                    struct tp_error *err);
enum tp_status tp_msprobe_read_stacks(const char *path,
                                      const struct tp_msprobe_stack_sink *sink,
                                      struct tp_error *err);

#endif
