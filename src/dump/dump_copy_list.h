/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_COPY_LIST_H
#define TP_DUMP_DUMP_COPY_LIST_H

#include "dump/dump_comm.h"

/* The tensors of a step that several ranks may have copies of. */

enum tp_copy_category { TP_COPY_PARAMETER, TP_COPY_WEIGHT, TP_COPY_COLLECTIVE };

/* A rank's copy. */
struct tp_copy {
    enum tp_copy_category category;
    const char *kind; /* tensors that are sharded alike: a parameter of all
                         layers, the weights of one line of the program    */
    const char *key;  /* the same on all ranks                             */
    size_t place, item, call;
    int64_t rank;
    size_t value; /* copies of a key with equal contents have equal numbers */
};

struct tp_copy_list {
    struct tp_copy *copies; /* by category, kind, key, rank                */
    size_t count, capacity;
    struct tp_arena arena;
};

/* Lists those of places [first, end), which are one step's, each another rank,
 * and numbers their values. Release with tp_copy_list_clear, also after a
 * failure: TP_E_MEMORY. */
enum tp_status tp_copy_list_make(const struct tp_dump *dump, size_t first,
                                 size_t end, struct tp_copy_list *list,
                                 struct tp_error *err);
void tp_copy_list_clear(struct tp_copy_list *list);

/* Whether contents are equal, as far as sums or statistics tell. */
bool tp_copy_same(const struct tp_dump_item *a, const struct tp_dump_item *b);

#endif
