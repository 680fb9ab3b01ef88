/* SPDX-License-Identifier: MIT */
/*
 * Places are numbers, found by a hash of the place around and the name, so that
 * what happens in one place ten thousand times is told by one number and its
 * text is made once, if at all. Constant time for a place.
 */
#include "trace/trace_tree.h"

#include <stdlib.h>

#include "base/hash.h"

enum { DEPTH_MAX = 32, FIRST_SLOTS = 1024 };

static size_t slot_of(const struct tp_trace_tree *tree, uint32_t parent,
                      uint32_t name)
{
    const uint64_t key = (uint64_t)parent << 32 | name;
    size_t slot = (size_t)tp_hash_number(key) & (tree->slot_count - 1);
    while (tree->slots[slot]) {
        const struct tp_tree_node *node = &tree->nodes[tree->slots[slot]];
        if (node->parent == parent && node->name == name)
            break;
        slot = (slot + 1) & (tree->slot_count - 1);
    }
    return slot;
}

/* Room for one more place. */
static enum tp_status make_room(struct tp_trace_tree *tree,
                                struct tp_error *err)
{
    if (tp_grow(&tree->nodes, &tree->capacity, tree->count + 2,
                sizeof *tree->nodes, err) != TP_OK)
        return TP_E_MEMORY;
    if (tree->count == 0)
        tree->nodes[tree->count++] = (struct tp_tree_node){0, 0, 0};
    if (4 * (tree->count + 1) <= 3 * tree->slot_count)
        return TP_OK;
    free(tree->slots);
    tree->slot_count = tree->slot_count ? 2 * tree->slot_count : FIRST_SLOTS;
    tree->slots = calloc(tree->slot_count, sizeof *tree->slots);
    if (!tree->slots)
        return tp_fail_memory(err);
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct tp_tree_node *node = &tree->nodes[i];
        tree->slots[slot_of(tree, node->parent, node->name)] = i;
    }
    return TP_OK;
}

enum tp_status tp_trace_tree_find(struct tp_trace_tree *tree, uint32_t parent,
                                  uint32_t name, uint32_t *node,
                                  struct tp_error *err)
{
    *node = parent;
    if (make_room(tree, err) != TP_OK)
        return TP_E_MEMORY;
    if (tree->nodes[parent].depth >= DEPTH_MAX)
        return TP_OK;
    const size_t slot = slot_of(tree, parent, name);
    if (!tree->slots[slot]) {
        tree->slots[slot] = (uint32_t)tree->count;
        tree->nodes[tree->count++] = (struct tp_tree_node){
            parent, name, tree->nodes[parent].depth + 1};
    }
    *node = tree->slots[slot];
    return TP_OK;
}

const char *tp_trace_tree_path(const struct tp_trace_tree *tree,
                               struct tp_events *events, uint32_t node,
                               struct tp_text *text)
{
    uint32_t chain[DEPTH_MAX];
    size_t depth = 0;
    for (; node != TP_TREE_ROOT; node = tree->nodes[node].parent)
        chain[depth++] = tree->nodes[node].name;
    if (depth == 0)
        return "";
    text->length = 0;
    while (depth > 0) {
        depth--;
        tp_text_add(text, "%s%s", text->length ? " > " : "",
                    tp_events_get(events, chain[depth]));
    }
    return text->failed ? NULL
                        : tp_arena_text(&events->arena, tp_text_get(text),
                                        text->length);
}

void tp_trace_tree_clear(struct tp_trace_tree *tree)
{
    free(tree->nodes);
    free(tree->slots);
    *tree = (struct tp_trace_tree){.count = 0};
}
