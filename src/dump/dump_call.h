/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_CALL_H
#define TP_DUMP_DUMP_CALL_H

#include "dump/dump.h"

/* What a single call and its items are: questions that several audits ask. */

/* Whether it is a call of that API, whatever it belongs to: "linear". */
bool tp_dump_call_is(const struct tp_dump_call *call, const char *api);

/* The same for any of a list that NULL ends. */
bool tp_dump_call_is_any(const struct tp_dump_call *call,
                         const char *const *apis);

/* Whether it is a call of torch.distributed. */
bool tp_dump_call_is_communication(const struct tp_dump_call *call);

/* Whether it writes into one of its arguments: add_, __iadd__, __setitem__. */
bool tp_dump_call_in_place(const struct tp_dump_call *call);

/* Whether an item is something the call gave: an output, the gradient of a
 * parameter, a saved variable. */
bool tp_dump_item_is_result(const struct tp_dump_call *call,
                            const struct tp_dump_item *item);

/* Whether an item is the weight or bias that a function is given. */
bool tp_dump_item_is_weight(const struct tp_dump_call *call,
                            const struct tp_dump_item *item);

/* Whether it is the call of a module, forward or backward. */
bool tp_dump_call_is_module(const struct tp_dump_call *call);

/* Whether a call was made inside that of a module: by construct.json or, of
 * modules, by their paths; as far as that is known. */
bool tp_dump_call_inside(const struct tp_dump_place *place,
                         const struct tp_dump_call *inner,
                         const struct tp_dump_call *module);

/* The path of the module that a call is in: the nearest above it by
 * construct.json, or its own; of a backward call, of which that says nothing,
 * its forward call's. A part of the dump's texts; empty: not known. */
struct tp_msprobe_part tp_dump_call_module(const struct tp_dump_place *place,
                                           const struct tp_dump_call *call);

/* Elements; -1: no shape is known, or they are too many for 63 bits. */
int64_t tp_dump_item_numel(const struct tp_dump_item *item);

/* The forward call that a backward call belongs to; NULL: none is there. */
const struct tp_dump_call *tp_dump_forward_of(const struct tp_dump_place *place,
                                              const struct tp_dump_call *call);

/* A line of a stack, "File model.py, line 7, in forward, \n return x", without
 * what breaks it: where it is, and its code. Borrowed, not ended by 0. */
struct tp_dump_line {
    const char *place, *code;
    int head, length; /* bytes of these; no code: 0                        */
};
struct tp_dump_line tp_dump_line_of(const char *line);

/*
 * The line of the program that made a call, without what is PyTorch's or
 * msprobe's own if there is another: "File model.py, line 7, in forward, ...".
 * That of a backward call is its forward call's. Adds nothing if unknown.
 */
void tp_dump_call_line(const struct tp_dump_place *place,
                       const struct tp_dump_call *call, struct tp_text *text);

#endif
