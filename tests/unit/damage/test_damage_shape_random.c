/* SPDX-License-Identifier: MIT */
/*
 * Damage at random is no pattern: 10 000 tensors of many shapes, in which
 * random elements differ, from two of them to nearly all, by fixed seeds. One
 * in 1000 may be named wrongly, by the bound of damage_set.c one in 16 000.
 */
#include "damage/damage_shape.h"

#include "tests/unit/support/damaged.h"

static const int64_t shapes[][4] = {
    {64},     {1000},    {2048},      {8, 8},      {64, 32},      {100, 30},
    {3, 5},   {16, 128}, {4, 16, 32}, {16, 4, 32}, {2, 8, 8, 16}, {2, 2, 2, 2},
    {1, 512}, {700, 3},  {30, 7, 11}, {8192}};
enum { SHAPES = sizeof shapes / sizeof *shapes, CASES = 10000, MOST_WRONG = 9 };

/* How many elements: half the time few, else any share. */
static int64_t draw_count(int64_t numel, uint64_t *seed)
{
    const uint64_t few = numel < 30 ? (uint64_t)numel : 30;
    const uint64_t below = damaged_noise(seed) % 2 ? few : (uint64_t)numel;
    return 1 + (int64_t)(damaged_noise(seed) % below);
}

/* The name found for so many random elements; `by_row`: all in a few rows. */
static enum tp_damage_name find(struct damaged *d, int64_t count,
                                const struct tp_label *label, uint64_t *seed,
                                struct tp_text *text)
{
    struct damaged_found found;
    memcpy(d->y, d->x, (size_t)d->numel);
    for (int64_t i = 0; i < count;) {
        const int64_t at = (int64_t)(damaged_noise(seed) % (uint64_t)d->numel);
        if (d->y[at] != d->x[at])
            continue;
        d->y[at] ^= (unsigned char)(1 + damaged_noise(seed) % 255);
        i++;
    }
    damaged_find(d, 0, label, &found);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, text);
    return found.shape.where;
}

static bool is_right(enum tp_damage_name name, int64_t count, int64_t numel)
{
    if (count == numel)
        return name == TP_DAMAGE_EVERYTHING;
    if (count == 1)
        return name == TP_DAMAGE_ELEMENT;
    if (10 * count >= 9 * numel)
        return name == TP_DAMAGE_EVERYTHING;
    return name == TP_DAMAGE_SCATTERED;
}

Test(damage_shape_random, is_no_pattern)
{
    static const struct tp_label labels[] = {{.layer_type = "attention",
                                              .component = "FA",
                                              .tensor_name = "query",
                                              .batch_size = -1,
                                              .roles = TP_ROLE_ACTIVATION},
                                             {.layer_type = "linear",
                                              .component = "linear",
                                              .tensor_name = "weight",
                                              .batch_size = -1,
                                              .roles = TP_ROLE_WEIGHT}};
    uint64_t seed = 88172645463325252;
    int wrong = 0, patterns = 0, done = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct damaged d = damaged_new(TP_INT8, shapes[i]);
        for (int k = 0; k < CASES / SHAPES; k++, done++) {
            struct tp_text text = {0};
            const int64_t count = draw_count(d.numel, &seed);
            const struct tp_label *label = k % 3 ? &labels[k % 3 - 1] : NULL;
            const enum tp_damage_name name =
                find(&d, count, label, &seed, &text);
            if (!is_right(name, count, d.numel)) {
                wrong++;
                cr_log_info("%d: %s", i, tp_text_get(&text));
            }
            patterns += name > TP_DAMAGE_ELEMENT && name < TP_DAMAGE_SCATTERED;
            tp_text_clear(&text);
        }
        damaged_free(&d);
    }
    cr_expect_eq(done, CASES);
    cr_expect(wrong <= MOST_WRONG, "%d of %d are named wrongly", wrong, done);
    cr_expect(patterns <= MOST_WRONG, "%d of %d are patterns", patterns, done);
}
