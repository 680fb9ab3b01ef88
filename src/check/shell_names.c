/* SPDX-License-Identifier: MIT */
/*
 * What variables of a shell script hold. Branches form a tree; a word in a
 * variable carries the branch that put it there, and is sure in a command when
 * that branch holds the command. An assignment in a branch masks what the
 * variable held before: in that branch it is gone, elsewhere it may be.
 *
 * Alternative: a copy of all variables for each branch, joined behind it, is
 * exact where branches exclude each other, and takes time quadratic in the
 * script. This way may call a sure word unsure, never the other way round.
 *
 * Cost: a climb of at most MOST_DEEP branches for each word.
 */
#include "check/shell_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
    MOST_DEEP = 64,   /* branches in each other                           */
    MOST_ITEMS = 1024 /* words of a variable: a command line has some 100 */
};

static size_t slot_of(const struct tp_shell_names *names, const char *name,
                      size_t length)
{
    size_t slot = (size_t)tp_hash_bytes(name, length) & (names->capacity - 1);
    while (names->slots[slot].name &&
           (strncmp(names->slots[slot].name, name, length) != 0 ||
            names->slots[slot].name[length]))
        slot = (slot + 1) & (names->capacity - 1);
    return slot;
}

static bool grow(struct tp_shell_names *names)
{
    struct tp_shell_names bigger = *names;
    bigger.capacity = names->capacity ? 2 * names->capacity : 64;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        const struct tp_shell_variable *from = &names->slots[i];
        if (from->name)
            bigger.slots[slot_of(&bigger, from->name, strlen(from->name))] =
                *from;
    }
    free(names->slots);
    *names = bigger;
    return true;
}

struct tp_shell_variable *tp_shell_name(struct tp_shell_names *names,
                                        struct tp_arena *arena,
                                        const char *name, size_t length,
                                        bool make)
{
    if (make && 3 * (names->count + 1) > 2 * names->capacity && !grow(names))
        return NULL;
    if (names->capacity == 0)
        return NULL;
    struct tp_shell_variable *at = &names->slots[slot_of(names, name, length)];
    if (at->name || !make)
        return at->name ? at : NULL;
    at->name = tp_arena_text(arena, name, length);
    names->count += at->name != NULL;
    return at->name ? at : NULL;
}

uint32_t tp_shell_arm_new(struct tp_shell_names *names, uint32_t parent)
{
    uint32_t depth = parent ? names->arms[parent].depth + 1 : 1;
    size_t need = names->arm_count ? names->arm_count + 1 : 2;
    if (depth > MOST_DEEP || need > UINT32_MAX)
        return parent;
    if (tp_grow(&names->arms, &names->arm_capacity, need, sizeof *names->arms,
                NULL) != TP_OK) {
        names->failed = true;
        return parent;
    }
    names->arms[need - 1] = (struct tp_shell_arm){parent, depth};
    names->arm_count = need;
    return (uint32_t)(need - 1);
}

/* Whether `arm` is `outer`, or in it. */
static bool is_in(const struct tp_shell_names *names, uint32_t arm,
                  uint32_t outer)
{
    while (arm != outer && arm != 0)
        arm = names->arms[arm].parent;
    return arm == outer;
}

bool tp_shell_item_in(const struct tp_shell_names *names,
                      const struct tp_shell_item *item, uint32_t arm,
                      struct tp_shell_word *word)
{
    if (item->masked && is_in(names, arm, item->masked))
        return false;
    *word = item->word;
    word->maybe |= item->masked || !is_in(names, arm, item->arm);
    return true;
}

void tp_shell_forget(struct tp_shell_names *names,
                     struct tp_shell_variable *variable, uint32_t arm)
{
    size_t kept = 0;
    for (size_t i = 0; i < variable->count; i++) {
        struct tp_shell_item item = variable->items[i];
        if (is_in(names, item.arm, arm))
            continue;
        item.word.maybe |= item.masked && !is_in(names, item.masked, arm);
        item.masked = arm;
        variable->items[kept++] = item;
    }
    variable->count = kept;
}

enum tp_status tp_shell_give(struct tp_shell_variable *variable,
                             struct tp_shell_word word, uint32_t arm)
{
    enum tp_status status =
        variable->count < MOST_ITEMS
            ? tp_grow(&variable->items, &variable->capacity,
                      variable->count + 1, sizeof *variable->items, NULL)
            : TP_E_LIMIT;
    if (status == TP_OK)
        variable->items[variable->count++] =
            (struct tp_shell_item){word, arm, 0};
    return status;
}

void tp_shell_names_clear(struct tp_shell_names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        free(names->slots[i].items);
    free(names->slots);
    free(names->arms);
    *names = (struct tp_shell_names){0};
}
