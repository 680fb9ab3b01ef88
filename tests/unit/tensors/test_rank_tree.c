/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "tensors/rank_tree.h"

static void check(const char *const *paths, size_t count, const char *want)
{
    struct tp_found files[16];
    struct tp_found_list list = {.files = files, .count = count};
    struct tp_text missing = {0};
    size_t next = 0;
    for (size_t i = 0; i < count; i++)
        files[i] = (struct tp_found){.path = (char *)paths[i]};
    const size_t first = tp_rank_tree_next(&list, &next, &missing);
    cr_expect_eq(first, 0);
    if (want[0])
        cr_expect(strstr(tp_text_get(&missing), want), "%s",
                  tp_text_get(&missing));
    else
        cr_expect_str_eq(tp_text_get(&missing), "");
    cr_expect_eq(next, count);
    tp_text_clear(&missing);
}

Test(rank_tree, whole_trees)
{
    static const char *const one[] = {"a/iter_1/mp_rank_00/m.pt"};
    static const char *const four[] = {
        "a/mp_rank_00_000/d.pt", "a/mp_rank_00_000/m.pt",
        "a/mp_rank_00_001/m.pt", "a/mp_rank_01_000/m.pt",
        "a/mp_rank_01_001/m.pt"};
    /* experts over the ranks that split the rest: no cell is missed */
    static const char *const folded[] = {
        "a/mp_rank_00_000_000/m.pt", "a/mp_rank_00_000_002/m.pt",
        "a/mp_rank_01_000_001/m.pt", "a/mp_rank_01_000_003/m.pt"};
    check(one, 1, "");
    check(four, 5, "");
    check(folded, 4, "");
}

Test(rank_tree, ranks_that_are_missing)
{
    static const char *const three[] = {"a/mp_rank_00_000/m.pt",
                                        "a/mp_rank_00_001/m.pt",
                                        "a/mp_rank_01_000/m.pt"};
    static const char *const ends[] = {"a/mp_rank_00/m.pt",
                                       "a/mp_rank_07/m.pt"};
    static const char *const experts[] = {"a/mp_rank_00_000_000/m.pt",
                                          "a/mp_rank_00_000_001/m.pt",
                                          "a/mp_rank_00_001_001/m.pt"};
    static const char *const folded[] = {"a/mp_rank_00_000_000/m.pt",
                                         "a/mp_rank_00_000_002/m.pt",
                                         "a/mp_rank_01_000_003/m.pt"};
    check(folded, 3, "mp_rank_01_000_001 is not there");
    check(three, 3, "mp_rank_01_001 is not there");
    check(ends, 2, "mp_rank_01, mp_rank_02, mp_rank_03 and 3 more are not");
    check(experts, 3, "mp_rank_00_001_000 is not there");
}

Test(rank_tree, trees_stand_apart_and_other_names_are_none)
{
    struct tp_found files[] = {{.path = (char *)"a/iter_1/mp_rank_00/m.pt"},
                               {.path = (char *)"a/iter_1/mp_rank_01/m.pt"},
                               {.path = (char *)"a/iter_2/mp_rank_00/m.pt"},
                               {.path = (char *)"a/mp_rank_x/m.pt"},
                               {.path =
                                    (char *)"a/mp_rank_03_model_states.pt"}};
    struct tp_found_list list = {.files = files, .count = 5};
    struct tp_text missing = {0};
    size_t next = 0;
    cr_expect_eq(tp_rank_tree_next(&list, &next, &missing), 0);
    cr_expect_eq(next, 2);
    cr_expect_eq(tp_rank_tree_next(&list, &next, &missing), 2);
    cr_expect_eq(tp_rank_tree_next(&list, &next, &missing), 5);
    cr_expect_eq(missing.length, 0);
    tp_text_clear(&missing);
}
