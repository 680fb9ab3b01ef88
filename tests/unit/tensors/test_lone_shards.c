/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tensors/lone_shards.h"
#include "tests/unit/support/testdata.h"

/* Looks at two files of a checkpoint; what is said of it. */
static bool is_lone(const char *unit)
{
    char root[3000], paths[2][4096];
    struct tp_found files[2];
    bool lone[2];
    struct tp_found_list list = {.files = files, .count = 2};
    struct tp_text missing = {0};
    size_t next = 0;
    testdata_path("checkpoints", root, sizeof root);
    for (size_t i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s/__%zu_0.distcp", root, unit,
                 i);
        files[i] = (struct tp_found){.path = paths[i], .size = 1};
        cr_assert_eq(tp_lone_shards_has(paths[i], &lone[i]), TP_OK);
    }
    cr_expect_eq(tp_lone_shards_next(&list, lone, &next, &missing), 0);
    cr_expect_eq(next, 2, "one sentence for a folder");
    const bool said = missing.length > 0;
    tp_text_clear(&missing);
    return said;
}

Test(lone_shards, only_without_any_metadata)
{
    cr_expect(is_lone("bad-dcp_lone"));
    cr_expect_not(is_lone("good-dcp"));
    cr_expect_not(is_lone("good-dcp_of_ranks"), "each rank has its own");
    cr_expect_not(is_lone("bad-dcp_unfinished"), "that is said already");
}

Test(lone_shards, folders_stand_apart_and_other_files_are_none)
{
    struct tp_found files[] = {{.path = (char *)"no/such/__0_0.distcp"},
                               {.path = (char *)"no/such/other.pt"},
                               {.path = (char *)"no/such2/__0_0.distcp"},
                               {.path = (char *)"no/x.pt"}};
    struct tp_found_list list = {.files = files, .count = 4};
    bool lone[4];
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(tp_lone_shards_has(files[i].path, &lone[i]), TP_OK);
    struct tp_text missing = {0};
    size_t next = 0;
    cr_expect_eq(tp_lone_shards_next(&list, lone, &next, &missing), 0);
    cr_expect_eq(next, 2);
    cr_expect_gt(missing.length, 0);
    tp_text_clear(&missing);
    cr_expect_eq(tp_lone_shards_next(&list, lone, &next, &missing), 2);
    cr_expect_gt(missing.length, 0);
    tp_text_clear(&missing);
    cr_expect_eq(tp_lone_shards_next(&list, lone, &next, &missing), 4);
    cr_expect_eq(missing.length, 0);
}
