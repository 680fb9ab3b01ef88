/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "base/world.h"
#include "tests/unit/support/forked_world.h"

static bool hear(const struct tp_world *world, void *context)
{
    char words[6] = "";
    (void)context;
    if (world->rank == 0)
        return tp_world_tell(world, "words", 6, NULL) == TP_OK;
    return world->receive(world->context, 0, words, 6, NULL) == TP_OK &&
           strcmp(words, "words") == 0;
}

Test(world, tells_all_others_the_same)
{
    cr_expect(run_world(5, hear, NULL));
    cr_expect(run_world(1, hear, NULL));
}

static bool lose(const struct tp_world *world, void *context)
{
    char none[1];
    (void)context;
    if (world->rank == 0)
        return true;
    return world->receive(world->context, 0, none, 1, NULL) != TP_OK;
}

Test(world, ends_what_waits_for_who_is_gone)
{
    cr_expect(run_world(2, lose, NULL));
}
