/* SPDX-License-Identifier: MIT */
/*
 * Sets of indices, and when a pattern is believed. The bits of a choice are
 * those of Python's math.comb, exact integers.
 */
#include "damage/damage_set.h"

#include <criterion/criterion.h>
#include <math.h>

Test(damage_set, bits_of_a_choice)
{
    static const struct {
        uint64_t all, n;
        double bits;
    } known[] = {{2, 1, 1},
                 {10, 3, 6.90689059561},
                 {64, 8, 32.0434102073},
                 {1000, 1, 9.96578428466},
                 {1000, 500, 994.690999119},
                 {4096, 17, 155.614430254},
                 {65536, 2048, 13141.1817412},
                 {1000000, 999000, 11401.4496987},
                 {1000000000, 5, 142.57987366},
                 {1000000000000000, 3, 146.901801769}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double bits = tp_damage_choose_bits(known[i].all, known[i].n);
        cr_expect(fabs(bits - known[i].bits) <= 2e-3 + 1e-9 * bits,
                  "%zu: %.12g, not %.12g", i, bits, known[i].bits);
    }
    cr_expect_eq(tp_damage_choose_bits(17, 0), 0);
    cr_expect_eq(tp_damage_choose_bits(17, 17), 0);
}

/* --- sets ----------------------------------------------------------------- */

enum { LENGTH = 40 };

/* The set of an axis of 40 indices whose cells are such. */
static struct tp_damage_set find(const int64_t cells[LENGTH])
{
    const struct tp_damage_axis axis = {.length = LENGTH, .cells = LENGTH};
    struct tp_damage_set set;
    uint64_t sum = 0;
    for (int i = 0; i < LENGTH; i++)
        sum += (uint64_t)cells[i];
    tp_damage_set_find(&axis, cells, sum, &set);
    return set;
}

Test(damage_set, range_with_strays)
{
    int64_t cells[LENGTH] = {0};
    for (int i = 10; i < 30; i++)
        cells[i] = 100;
    cells[3] = 1;
    cells[35] = 2;
    const struct tp_damage_set set = find(cells);
    cr_expect_eq(set.extent, TP_DAMAGE_RANGE);
    cr_expect_eq(set.first, 10);
    cr_expect_eq(set.end, 30);
    cr_expect_eq(set.count, 20);
    cr_expect_eq(set.inside, 2000);
}

Test(damage_set, range_with_a_hole)
{
    int64_t cells[LENGTH] = {0};
    for (int i = 10; i < 30; i++)
        cells[i] = i != 20;
    struct tp_damage_set set = find(cells);
    cr_expect_eq(set.extent, TP_DAMAGE_RANGE);
    cr_expect_eq(set.count, 20);
    for (int i = 14; i < 28; i++)
        cells[i] = i % 2; /* half of them are too many */
    set = find(cells);
    cr_expect_eq(set.extent, TP_DAMAGE_SOME);
    cr_expect_eq(set.count, 13);
}

Test(damage_set, all_but_a_few_are_all)
{
    int64_t cells[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        cells[i] = i % 10 != 4;
    cr_expect_eq(find(cells).extent, TP_DAMAGE_FULL);
    for (int i = 0; i < LENGTH; i++)
        cells[i] = i * i % 11 < 5; /* 25 of 40 */
    cr_expect_eq(find(cells).extent, TP_DAMAGE_SOME);
}

Test(damage_set, steps)
{
    int64_t cells[LENGTH] = {0};
    for (int i = 3; i < LENGTH; i += 9)
        cells[i] = cells[i + 1 < LENGTH ? i + 1 : i] = 5;
    struct tp_damage_set set = find(cells); /* 3 4 12 13 21 22 30 31 39 */
    cr_expect_eq(set.extent, TP_DAMAGE_STEPS);
    cr_expect_eq(set.step, 9);
    cr_expect_eq(set.width, 2);
    cr_expect_eq(set.first, 3);
    cr_expect_eq(set.count, 9);
    cells[25] = 5;
    set = find(cells);
    cr_expect_eq(set.extent, TP_DAMAGE_SOME);
    static const int64_t listed[TP_DAMAGE_LISTED] = {3, 4, 12, 13, 21, 22};
    cr_expect_arr_eq(set.listed, listed, sizeof listed);
    cr_expect_eq(set.inside, 50);
}

Test(damage_set, wide_cells)
{
    const struct tp_damage_axis axis = {
        .length = 39 * 8 + 3, .cells = LENGTH, .shift = 3};
    int64_t cells[LENGTH] = {0};
    struct tp_damage_set set;
    cells[38] = 8;
    cells[39] = 3;
    tp_damage_set_find(&axis, cells, 11, &set);
    cr_expect_eq(set.extent, TP_DAMAGE_SOME); /* 3 are less than half of 8 */
    cells[38] = cells[39] = 3;
    tp_damage_set_find(&axis, cells, 6, &set);
    cr_expect_eq(set.extent, TP_DAMAGE_RANGE);
    cr_expect(set.rough);
    cr_expect_eq(set.first, 38 * 8);
    cr_expect_eq(set.end, 39 * 8 + 3);
    cr_expect_eq(set.count, 11);
}

/* --- belief --------------------------------------------------------------- */

static bool holds(uint64_t elements, uint64_t inside, uint64_t damaged,
                  uint64_t all)
{
    const struct tp_damage_claim claim = {elements, inside, 20};
    return tp_damage_claim_saves(&claim, damaged, all) > 0;
}

Test(damage_set, limits_of_belief)
{
    cr_expect(holds(1000, 1000, 1000, 100000));
    cr_expect(holds(1000, 990, 1000, 100000));
    cr_expect_not(holds(1000, 989, 1000, 100000)); /* outside */
    cr_expect(holds(1000, 900, 909, 100000));
    cr_expect_not(holds(1001, 900, 909, 100000)); /* intact */
    cr_expect_not(holds(2, 2, 2, 100000));        /* too few */
    cr_expect(holds(8, 8, 8, 100000));
    cr_expect_not(holds(8, 8, 8, 16));           /* of 12 870 choices */
    cr_expect_not(holds(1000, 1000, 1000, 999)); /* no such pattern */
}
