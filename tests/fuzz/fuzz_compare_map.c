/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "compare/compare_map.h"
#include "fuzz.h"

/*
 * A file of names. Whatever it is: rules have two sides, are sorted by length,
 * no left side stands twice, and a name that is mapped is another one or the
 * same, and whole only where its rule was all of it.
 */

static void check_name(const struct tp_compare_map *map, const char *name)
{
    struct tp_arena arena = {0};
    bool whole = true;
    const char *made = tp_compare_map_name(map, name, &arena, &whole);
    fuzz_need(made != NULL, "memory");
    bool is_left = false;
    for (size_t i = 0; i < map->count; i++)
        is_left |= strcmp(map->rules[i].left, name) == 0;
    fuzz_need(whole == is_left, "a whole name is a left side");
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
        fuzz_need(i == 0 || strlen(rule[-1].left) >= strlen(rule->left),
                  "the longest is first");
        fuzz_need(i == 0 || strcmp(rule[-1].left, rule->left) != 0,
                  "a left side stands once");
        check_name(&map, rule->left);
        check_name(&map, rule->right);
    }
    tp_compare_map_clear(&map);
    fuzz_guard_free(&guard);
    return 0;
}
