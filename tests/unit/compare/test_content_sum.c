/* SPDX-License-Identifier: MIT */
#include "compare/content_sum.h"

#include <criterion/criterion.h>

enum { MOST = 400 };

/* Parts with digests like random numbers, of 10 elements and more. */
static void make_parts(struct tp_content_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t code = 1000 + i;
        parts[i] = (struct tp_content_part){.numel = 10 + (int64_t)(i % 3),
                                            .number = i};
        tp_content_digest_add(&code, 1, 0, &parts[i].digest);
    }
}

static struct tp_content_part sum_of(const struct tp_content_part *parts,
                                     const size_t *which, size_t count)
{
    struct tp_content_part whole = {.numel = 0};
    for (size_t i = 0; i < count; i++) {
        tp_content_digest_merge(&whole.digest, &parts[which[i]].digest);
        whole.numel += parts[which[i]].numel;
    }
    return whole;
}

static void expect_found(size_t count, const size_t *which, size_t expected)
{
    struct tp_content_part parts[MOST];
    size_t order[MOST], found[TP_CONTENT_PARTS];
    make_parts(parts, count);
    const struct tp_content_part whole = sum_of(parts, which, expected);
    tp_content_parts_sort(parts, count, order);
    cr_assert_eq(tp_content_sum_find(&whole, parts, count, order, found),
                 expected);
    for (size_t i = 0; i < expected; i++)
        cr_expect_eq(parts[found[i]].number, which[i]);
}

Test(content_sum, two_and_three)
{
    expect_found(100, (size_t[]){3, 97}, 2);
    expect_found(100, (size_t[]){0, 1}, 2);
    expect_found(100, (size_t[]){0, 50, 99}, 3);
    expect_found(MOST, (size_t[]){3, 397}, 2);
}

/* Of many parts threes are looked for among neighbours. */
Test(content_sum, neighbours_of_many)
{
    struct tp_content_part parts[MOST];
    size_t order[MOST], found[TP_CONTENT_PARTS];
    expect_found(MOST, (size_t[]){200, 201, 210}, 3);
    make_parts(parts, MOST);
    const struct tp_content_part far =
        sum_of(parts, (size_t[]){0, 200, 399}, 3);
    tp_content_parts_sort(parts, MOST, order);
    cr_expect_eq(tp_content_sum_find(&far, parts, MOST, order, found), 0);
}

/* One element more, one part twice, half of a digest: no sum. */
Test(content_sum, twins_that_do_not_sum_up)
{
    struct tp_content_part parts[MOST];
    size_t order[MOST], found[TP_CONTENT_PARTS];
    make_parts(parts, 50);
    struct tp_content_part more = sum_of(parts, (size_t[]){4, 7}, 2);
    struct tp_content_part other = more;
    const struct tp_content_part twice = sum_of(parts, (size_t[]){4, 4}, 2);
    tp_content_parts_sort(parts, 50, order);
    cr_expect_eq(tp_content_sum_find(&more, parts, 50, order, found), 2);
    more.numel++;
    other.digest.bag[1]++;
    cr_expect_eq(tp_content_sum_find(&more, parts, 50, order, found), 0);
    cr_expect_eq(tp_content_sum_find(&other, parts, 50, order, found), 0);
    cr_expect_eq(tp_content_sum_find(&twice, parts, 50, order, found), 0);
    cr_expect_eq(tp_content_sum_find(&twice, parts, 0, order, found), 0);
}
