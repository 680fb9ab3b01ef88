/* SPDX-License-Identifier: MIT */
/* Random lists of intervals over a short line, against one byte a moment. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "trace/interval.h"

enum { LINE = 160, ROUNDS = 4000 };

struct line {
    unsigned char covered[LINE];
};

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* A random list, reversed and empty intervals included; what it covers. */
static struct line fill(uint32_t *state, struct tp_intervals *list)
{
    struct line line = {{0}};
    const uint32_t count = draw(state, 12);
    const uint32_t longest = 1 + draw(state, 40);
    list->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int from = (int)draw(state, LINE - 40);
        const int to = from + (int)draw(state, longest + 1) -
                       (draw(state, 8) == 0 ? 5 : 0);
        cr_assert_eq(tp_intervals_add(list, from, to, NULL), TP_OK);
        for (int at = from; at < to; at++) {
            line.covered[at] = 1;
        }
    }
    return line;
}

/* That `set` is a set, and covers exactly the line. */
static void agree(const struct tp_intervals *set, const struct line *line,
                  const char *what)
{
    struct line covered = {{0}};
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_interval item = set->items[i];
        cr_assert_lt(item.from, item.to, "%s: empty interval", what);
        if (i > 0) {
            cr_assert_gt(item.from, set->items[i - 1].to,
                         "%s: intervals touch or are out of order", what);
        }
        memset(covered.covered + item.from, 1, (size_t)(item.to - item.from));
    }
    cr_assert_eq(memcmp(&covered, line, sizeof covered), 0, "%s", what);
}

static int64_t count(const struct line *line, int from, int to)
{
    int64_t length = 0;
    for (int at = from < 0 ? 0 : from; at < to && at < LINE; at++) {
        length += line->covered[at];
    }
    return length;
}

static void check_pair(const struct tp_intervals *a, const struct line *x,
                       const struct tp_intervals *b, const struct line *y)
{
    struct tp_intervals out = {0};
    struct line rest = {{0}};
    for (int at = 0; at < LINE; at++) {
        rest.covered[at] = x->covered[at] & (unsigned char)!y->covered[at];
    }
    cr_assert_eq(tp_intervals_subtract(a, b, &out, NULL), TP_OK);
    agree(&out, &rest, "subtract");
    for (int at = 0; at < LINE; at++) {
        rest.covered[at] |= y->covered[at];
    }
    cr_assert_eq(tp_intervals_join(&out, b, NULL), TP_OK);
    agree(&out, &rest, "join");
    tp_intervals_clear(&out);
    for (int at = 0; at < LINE; at++) {
        rest.covered[at] = x->covered[at] | y->covered[at];
    }
    cr_assert_eq(tp_intervals_join(&out, a, NULL), TP_OK);
    cr_assert_eq(tp_intervals_join(&out, b, NULL), TP_OK);
    agree(&out, &rest, "join of what overlaps");
    tp_intervals_clear(&out);
}

Test(interval, bitmap)
{
    uint32_t state = 1;
    struct tp_intervals a = {0};
    struct tp_intervals b = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct line x = fill(&state, &a);
        struct line y = fill(&state, &b);
        tp_intervals_unite(&a);
        tp_intervals_unite(&b);
        agree(&a, &x, "unite");
        agree(&b, &y, "unite");
        cr_assert_eq(tp_intervals_length(&a), count(&x, 0, LINE));
        check_pair(&a, &x, &b, &y);

        const int from = (int)draw(&state, LINE + 20) - 10;
        const int to = from + (int)draw(&state, 60) - 5;
        cr_assert_eq(tp_intervals_within(&a, from, to), count(&x, from, to));
    }
    tp_intervals_clear(&a);
    tp_intervals_clear(&b);
}

Test(interval, far_from_zero)
{
    /* Epoch nanoseconds need 61 bits; nothing may go through a double. */
    const int64_t base = INT64_C(1727743122000000000);
    struct tp_intervals a = {0};
    struct tp_intervals b = {0};
    struct tp_intervals out = {0};
    cr_assert_eq(tp_intervals_add(&a, base, base + 3, NULL), TP_OK);
    cr_assert_eq(tp_intervals_add(&b, base + 1, base + 2, NULL), TP_OK);
    cr_assert_eq(tp_intervals_subtract(&a, &b, &out, NULL), TP_OK);
    cr_assert_eq(out.count, 2);
    cr_assert_eq(tp_intervals_length(&out), 2);
    cr_assert_eq(tp_intervals_within(&a, INT64_MIN, INT64_MAX), 3);
    tp_intervals_clear(&a);
    tp_intervals_clear(&b);
    tp_intervals_clear(&out);
    cr_assert_eq(tp_intervals_length(&out), 0);
}
