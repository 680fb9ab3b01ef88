/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_ITEMS_H
#define TP_MSPROBE_MSPROBE_ITEMS_H

#include "formats/json/json_value.h"
#include "formats/msprobe/msprobe_name.h"

/*
 * What an entry of dump.json says of a call, as one list: its arguments,
 * keywords, results and parameters, in that order, nested lists opened.
 */

/* One of them. Texts and values are those of the arenas given. */
struct tp_msprobe_item {
    enum tp_msprobe_place place;
    const char *argument; /* "0", "0.1", "mask", "weight"; "" for a variable */
    const struct tp_json *value; /* an object with a `type`, {} or null     */
};

struct tp_msprobe_items {
    struct tp_msprobe_item *items;
    size_t count, capacity;
};

/* Releases the list. */
void tp_msprobe_items_clear(struct tp_msprobe_items *items);

/*
 * Lists the items of an entry in place of what `items` held. The keys
 * grad_output and grad_input of the oldest generation are what later ones call
 * input and output. TP_E_MEMORY only; what is no entry has no items.
 */
enum tp_status tp_msprobe_items_list(const struct tp_json *entry,
                                     struct tp_arena *arena,
                                     struct tp_msprobe_items *items,
                                     struct tp_error *err);

/* Whether the `type` of an item is that of a tensor of any class. */
bool tp_msprobe_is_tensor(const char *type);

#endif
