/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_CONTENT_H
#define TP_DUMP_DUMP_CONTENT_H

#include "dump/dump_call.h"
#include "dump/dump_print.h"

/* Which tensors of a place hold the same, and which nearly do. */

/* A tensor among those of its contents. */
struct tp_content_entry {
    size_t item, call;
    bool result;
    bool weight; /* read in the forward pass: a parameter, a weight        */
};

/* A sample of a result or a weight. */
struct tp_content_sample {
    const struct tp_dump_print *print;
    size_t item, call;
    int k; /* which sample                                                 */
    bool weight;
};

struct tp_contents {
    const struct tp_dump_place *place;
    struct tp_dump_print *prints; /* [item_count]; owned                   */
    struct tp_content_entry *entries; /* by contents, then order           */
    size_t entry_count;
    struct tp_content_sample *samples; /* by size and value                */
    size_t sample_count;
    size_t *call_of; /* [item_count]                                       */
};

/* Takes prints and sorts them. Release with tp_contents_clear, also after a
 * failure: TP_E_MEMORY, TP_E_INTERRUPTED. */
enum tp_status tp_contents_make(const struct tp_dump_print_from *from,
                                struct tp_contents *contents,
                                struct tp_error *err);
void tp_contents_clear(struct tp_contents *contents);

/* The entries [*first, return value) with these contents, in order. */
size_t tp_contents_equal(const struct tp_contents *contents,
                         const struct tp_dump_print *print, size_t *first);

/* The result (or the weight), of a call before `call`, that shares most samples
 * with a tensor, the last of several: its item, or -1 when none shares seven of
 * ten. */
size_t tp_contents_near(const struct tp_contents *contents,
                        const struct tp_dump_print *print, size_t call,
                        bool weight);

/* Whether a tensor is a parameter of a module, or the weight of a function,
 * that a forward call reads. */
bool tp_content_is_weight(const struct tp_dump_call *call,
                          const struct tp_dump_item *item);

/* Whether a tensor's contents are its own: 32 elements or more, with so many
 * values that another would not have them by chance. */
bool tp_content_tells(const struct tp_dump_print *print);

#endif
