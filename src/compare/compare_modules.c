/* SPDX-License-Identifier: MIT */
/*
 * A walk down each path, with the class of the module that was reached: that of
 * a call with this very path, or where none is dumped, as of a list of layers,
 * its last component, as msprobe has it. Of several names in the map the
 * longest that fits wins. A tree of modules would be walked faster, but paths
 * have a few components and classes are found by bisection. Cost: a sort of the
 * names of A, then of each name a search for each component.
 */
#include "compare/compare_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/search.h"

/* What msprobe calls the class of the whole. */
static const struct tp_msprobe_part top = {TP_COMPARE_TOP_LAYER,
                                           sizeof TP_COMPARE_TOP_LAYER - 1};

static int compare_parts(struct tp_msprobe_part a, struct tp_msprobe_part b)
{
    const size_t shorter = a.length < b.length ? a.length : b.length;
    const int result = memcmp(a.at, b.at, shorter);
    return result ? result : (a.length > b.length) - (a.length < b.length);
}

static int compare_classes(const void *left, const void *right)
{
    const struct tp_compare_class *a = left, *b = right;
    const int result = compare_parts(a->path, b->path);
    return result ? result : compare_parts(a->name, b->name);
}

enum tp_status tp_compare_modules_init(const struct tp_compare_map *map,
                                       const struct tp_compare_entries *a,
                                       struct tp_compare_modules *layers,
                                       struct tp_error *err)
{
    *layers = (struct tp_compare_modules){
        .map = map, .classes = calloc(a->count + 1, sizeof *layers->classes)};
    if (!layers->classes)
        return tp_fail_memory(err);
    for (size_t i = 0; i < a->count; i++) {
        struct tp_msprobe_name name;
        const char *key = a->rows[i].key;
        if (tp_msprobe_name_parse(key, strlen(key), &name) &&
            name.kind == TP_MSPROBE_MODULE)
            layers->classes[layers->count++] =
                (struct tp_compare_class){name.path, name.class_name};
    }
    if (layers->count)
        qsort(layers->classes, layers->count, sizeof *layers->classes,
              compare_classes);
    return TP_OK;
}

/* The class of the module whose path ends there; `last` is its last name. */
static struct tp_msprobe_part class_of(const struct tp_compare_modules *layers,
                                       struct tp_msprobe_part path,
                                       struct tp_msprobe_part last)
{
    size_t i;
    TP_PARTITION_POINT(i, layers->count,
                       compare_parts(layers->classes[i].path, path) < 0);
    return i < layers->count && !compare_parts(layers->classes[i].path, path)
               ? layers->classes[i].name
               : last;
}

/* The rule of a class whose left side is at the beginning of the rest of a
 * path; NULL: none. */
static const struct tp_compare_rule *find_rule(const struct tp_compare_map *map,
                                               struct tp_msprobe_part of,
                                               struct tp_msprobe_part rest)
{
    for (size_t i = map->flat; i < map->count; i++) {
        const struct tp_compare_rule *rule = &map->rules[i];
        const size_t length = strlen(rule->left);
        if (strlen(rule->layer) == of.length &&
            !memcmp(rule->layer, of.at, of.length) && length <= rest.length &&
            !memcmp(rule->left, rest.at, length) &&
            (length == rest.length || rest.at[length] == '.'))
            return rule; /* of a class the longest comes first */
    }
    return NULL;
}

static void add_path(const struct tp_compare_modules *layers,
                     struct tp_msprobe_part path, struct tp_text *text)
{
    struct tp_msprobe_part of = top;
    size_t at = 0;
    while (at < path.length) {
        const struct tp_msprobe_part rest = {path.at + at, path.length - at};
        const struct tp_compare_rule *rule = find_rule(layers->map, of, rest);
        const char *dot = memchr(rest.at, '.', rest.length);
        const size_t first = dot ? (size_t)(dot - rest.at) : rest.length;
        const size_t length = rule ? strlen(rule->left) : first;
        tp_text_add(text, at ? "." : "");
        tp_text_bytes(text, rule ? rule->right : rest.at,
                      rule ? strlen(rule->right) : first);
        size_t last = at + length;
        while (last > at && path.at[last - 1] != '.')
            last--;
        of = class_of(
            layers, (struct tp_msprobe_part){path.at, at + length},
            (struct tp_msprobe_part){path.at + last, at + length - last});
        at += length + 1;
    }
}

const char *tp_compare_modules_name(const struct tp_compare_modules *layers,
                                    const char *name, bool of_a,
                                    struct tp_arena *arena)
{
    struct tp_msprobe_name parsed;
    if (!tp_msprobe_name_parse(name, strlen(name), &parsed) ||
        parsed.kind != TP_MSPROBE_MODULE)
        return name;
    struct tp_text text = {0};
    tp_text_add(&text, "Module.");
    if (of_a)
        add_path(layers, parsed.path, &text);
    else
        tp_text_bytes(&text, parsed.path.at, parsed.path.length);
    /* what is behind the class: direction, number, place */
    tp_text_add(&text, "%s", parsed.class_name.at + parsed.class_name.length);
    return tp_arena_take(arena, &text);
}

void tp_compare_modules_clear(struct tp_compare_modules *layers)
{
    free(layers->classes);
    memset(layers, 0, sizeof *layers);
}
