/* SPDX-License-Identifier: MIT */
#include "compare/compare_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { MOST = 8 };

struct side {
    struct tp_dump_place places[MOST];
    struct tp_dump dump;
};

static void add(struct side *side, int64_t step, int64_t rank)
{
    side->places[side->dump.place_count++] = (struct tp_dump_place){
        .directory = "d", .step = step, .rank = rank, .process = -1};
}

/* Pairs as "01 12", notes behind them. */
static enum tp_status pair_up(struct side *a, struct side *b, char *text)
{
    struct tp_compare_places places = {0};
    struct tp_arena arena = {0};
    struct tp_notes notes = {0};
    struct tp_error err = {0};
    char *at = text;
    a->dump.places = a->places;
    b->dump.places = b->places;
    enum tp_status status =
        tp_compare_places(&a->dump, &b->dump, &arena, &notes, &places, &err);
    for (size_t i = 0; i < places.count; i++)
        at += sprintf(at, "%zu%zu ", places.pairs[i].a, places.pairs[i].b);
    for (size_t i = 0; i < notes.count && status == TP_OK; i++)
        at += sprintf(at, "%s|", notes.texts[i]);
    if (status != TP_OK)
        sprintf(at, "%s", err.message);
    else if (places.steps_differ)
        sprintf(at, "steps");
    free(places.pairs);
    tp_notes_clear(&notes);
    tp_arena_clear(&arena);
    return status;
}

Test(compare_place, same_step_and_rank)
{
    char text[1024] = "";
    struct side a = {0}, b = {0};
    add(&a, 0, 0);
    add(&a, 0, 1);
    add(&a, 1, 0);
    add(&b, 0, 1);
    add(&b, 0, 2);
    add(&b, 1, 0);
    cr_expect_eq(pair_up(&a, &b, text), TP_OK);
    cr_expect_str_eq(text, "10 22 only in A, and not compared: step 0, rank 0|"
                           "only in B, and not compared: step 0, rank 2|");
}

Test(compare_place, the_only_ones)
{
    char text[1024] = "";
    struct side a = {0}, b = {0};
    add(&a, 3, -1); /* procPID */
    add(&b, 0, 5);
    cr_expect_eq(pair_up(&a, &b, text), TP_OK);
    cr_expect_str_eq(text, "00 steps");
}

Test(compare_place, one_step_of_several_ranks)
{
    char text[1024] = "";
    struct side a = {0}, b = {0};
    add(&a, 1, 0);
    add(&a, 1, 1);
    add(&b, 0, 0);
    add(&b, 0, 1);
    cr_expect_eq(pair_up(&a, &b, text), TP_OK);
    cr_expect_str_eq(text, "00 11 steps");
}

Test(compare_place, nothing_in_both)
{
    char text[1024] = "";
    struct side a = {0}, b = {0};
    add(&a, 0, 0);
    add(&a, 0, 1);
    add(&b, 0, 7);
    cr_expect_eq(pair_up(&a, &b, text), TP_E_NOT_FOUND);
    cr_expect_not_null(strstr(text, "A has step 0, rank 0 and others, B has "
                                    "step 0, rank 7"),
                       "%s", text);
}
