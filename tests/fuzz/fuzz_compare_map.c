/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_modules.h"
#include "fuzz.h"

/*
 * A file of names. Whatever it is: rules have two sides, are sorted by class
 * and length, no left side of a class stands twice, and a name that is mapped
 * is another one or the same, and whole only where its rule was all of it; the
 * path of a module keeps what stands behind its class.
 */

static void check_name(const struct tp_compare_map *map, const char *name)
{
    struct tp_arena arena = {0};
    bool whole = true;
    const char *made = tp_compare_map_name(map, name, &arena, &whole);
    fuzz_need(made != NULL, "memory");
    bool is_left = false;
    for (size_t i = 0; i < map->flat; i++)
        is_left |= strcmp(map->rules[i].left, name) == 0;
    fuzz_need(whole == is_left, "a whole name is a left side");
    tp_arena_clear(&arena);
}

/* A module whose class is the layer of a rule, with the left side in it. */
static void check_layer(const struct tp_compare_map *map,
                        const struct tp_compare_rule *rule)
{
    static const char tail[] = ".Linear.forward.0.output.0";
    char names[2][1024];
    struct tp_arena arena = {0};
    struct tp_error err = {0};
    struct tp_compare_entry rows[2] = {{.key = names[0]}, {.key = names[1]}};
    const struct tp_compare_entries a = {.rows = rows, .count = 2};
    struct tp_compare_modules layers = {0};
    snprintf(names[0], sizeof names[0], "Module.m.%.99s.forward.0",
             rule->layer);
    snprintf(names[1], sizeof names[1], "Module.m.%.99s%s", rule->left, tail);
    fuzz_need(tp_compare_modules_init(map, &a, &layers, &err) == TP_OK,
              "memory");
    for (int i = 0; i < 2; i++) {
        const char *made =
            tp_compare_modules_name(&layers, names[i], true, &arena);
        fuzz_need(made != NULL, "memory");
        fuzz_need(i == 0 || strlen(made) >= strlen(tail) - 7,
                  "the place stays");
    }
    tp_compare_modules_clear(&layers);
    tp_arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct tp_compare_map map = {0};
    struct tp_error err = {0};
    enum tp_status status =
        tp_compare_map_parse((const char *)guard.data, size, &map, &err);
    fuzz_need(status == TP_OK || (status == TP_E_USAGE &&
                                  strncmp(err.message, "line ", 5) == 0),
              "what is no rule is named with its line");
    for (size_t i = 0; i < map.count && status == TP_OK; i++) {
        const struct tp_compare_rule *rule = &map.rules[i];
        fuzz_need(*rule->left && *rule->right, "a rule has two sides");
        const bool same =
            i > 0 && !rule[-1].layer == !rule->layer &&
            (!rule->layer || !strcmp(rule[-1].layer, rule->layer));
        fuzz_need((rule->layer == NULL) == (i < map.flat),
                  "rules of all names are first");
        fuzz_need(!same || strlen(rule[-1].left) >= strlen(rule->left),
                  "the longest is first");
        fuzz_need(!same || strcmp(rule[-1].left, rule->left) != 0,
                  "a left side stands once");
        if (rule->layer)
            check_layer(&map, rule);
        check_name(&map, rule->left);
        check_name(&map, rule->right);
    }
    tp_compare_map_clear(&map);
    fuzz_guard_free(&guard);
    return 0;
}
