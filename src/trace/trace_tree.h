/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_TREE_H
#define TP_TRACE_TRACE_TREE_H

#include "base/text.h"
#include "data/events.h"

/*
 * Places in the tree of modules, ranges and operators: a name below another
 * place. Two runs of one program have the same places, whatever the events in
 * them, as places are told by their names alone.
 */

/* The root: nothing is around. */
enum { TP_TREE_ROOT = 0 };

struct tp_tree_node {
    uint32_t parent, name, depth;
};

/* All-zero bytes are a tree of the root. */
struct tp_trace_tree {
    struct tp_tree_node *nodes; /* [0]: the root                           */
    size_t count, capacity;
    uint32_t *slots;            /* open addressing; 0: empty               */
    size_t slot_count;
};

/* The place of a name, a text of the events, below another; made if new. What
 * is deeper than 32 places belongs to the place around it. TP_E_MEMORY. */
enum tp_status tp_trace_tree_find(struct tp_trace_tree *tree, uint32_t parent,
                                  uint32_t name, uint32_t *node,
                                  struct tp_error *err);

/* "nn.Module: Block_0 > aten::linear > aten::addmm", in the arena of the
 * events; "" is the root. `text` is room that the caller clears. NULL: out of
 * memory. */
const char *tp_trace_tree_path(const struct tp_trace_tree *tree,
                               struct tp_events *events, uint32_t node,
                               struct tp_text *text);

/* Releases everything; empty afterwards. */
void tp_trace_tree_clear(struct tp_trace_tree *tree);

#endif
