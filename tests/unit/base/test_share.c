/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/share.h"
#include "tests/unit/support/forked_world.h"

static const struct tp_found made[] = {
    {.path = (char *)"a", .size = 10, .modified = 5},
    {.path = (char *)"b/c", .size = 3000000000u, .modified = -1},
    {.path = (char *)"d", .size = 0, .modified = 0},
};

enum { MADE = sizeof made / sizeof *made };

static bool is_list(const struct tp_found_list *files)
{
    bool same = files->count == MADE;
    for (size_t i = 0; i < MADE && same; i++)
        same = strcmp(files->files[i].path, made[i].path) == 0 &&
               files->files[i].size == made[i].size &&
               files->files[i].modified == made[i].modified;
    return same;
}

/* The files, and that the second is known. */
static bool share(const struct tp_world *world, void *context)
{
    struct tp_found_list files = {0};
    struct tp_found mine[MADE];
    bool done[MADE] = {false, world->rank == 0, false};
    (void)context;
    memcpy(mine, made, sizeof mine);
    if (world->rank == 0)
        files = (struct tp_found_list){.files = mine, .count = MADE};
    const bool good = tp_share_files(world, &files, NULL) == TP_OK &&
                      is_list(&files) &&
                      tp_share_done(world, done, MADE, NULL) == TP_OK &&
                      !done[0] && done[1] && !done[2];
    if (world->rank > 0)
        tp_found_clear(&files);
    return good;
}

Test(share, gives_all_the_files_of_the_first)
{
    cr_expect(run_world(4, share, NULL));
}

static bool share_none(const struct tp_world *world, void *context)
{
    struct tp_found_list files = {0};
    (void)context;
    const bool good =
        tp_share_files(world, &files, NULL) == TP_OK && files.count == 0;
    tp_found_clear(&files);
    return good;
}

Test(share, gives_none_where_there_are_none)
{
    cr_expect(run_world(2, share_none, NULL));
}

Test(share, claims_the_largest_first)
{
    static const uint64_t sizes[] = {1, 7, 1, 9};
    static const size_t expected[] = {3, 1, 0, 2};
    size_t *order = tp_share_order(sizes, 4);
    cr_assert(order);
    cr_expect_eq(memcmp(order, expected, sizeof expected), 0);
    free(order);
}

static bool claim_all(const struct tp_world *world, void *context)
{
    _Atomic unsigned *counts = context;
    uint64_t claim;
    while ((claim = world->claim(world->context)) < 1000)
        counts[claim]++;
    return true;
}

Test(share, claims_each_number_once)
{
    _Atomic unsigned *counts = shared_zeros(1000 * sizeof *counts);
    cr_expect(run_world(5, claim_all, counts));
    for (size_t i = 0; i < 1000; i++)
        cr_expect_eq(counts[i], 1);
    munmap(counts, 1000 * sizeof *counts);
}
