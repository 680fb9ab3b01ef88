/* SPDX-License-Identifier: MIT */
#include "compare/compare_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { MOST = 64 };

/* Rows that are names and dtypes only. */
struct side {
    struct tp_compare_entry rows[MOST];
    struct tp_compare_entries entries;
};

static void add(struct side *side, const char *key, const char *dtype)
{
    side->rows[side->entries.count++] =
        (struct tp_compare_entry){.name = key, .key = key, .dtype = dtype};
    side->entries.rows = side->rows;
}

static struct side side_of(const char *const *names)
{
    struct side side = {0};
    for (; *names; names++)
        add(&side, *names, "torch.float32");
    return side;
}

/* The partners as letters, 'a' the first row of B, '-' none. */
static const char *match(struct side *a, struct side *b, const char *map_text,
                         bool fuzzy)
{
    static char letters[MOST + 1];
    struct tp_compare_map map = {0};
    struct tp_compare_partner partners[MOST];
    struct tp_error err = {0};
    a->entries.rows = a->rows; /* they may have been copied */
    b->entries.rows = b->rows;
    cr_assert_eq(tp_compare_map_parse(map_text, strlen(map_text), &map, &err),
                 TP_OK);
    const struct tp_compare_match_options how = {&map, fuzzy};
    cr_assert_eq(
        tp_compare_match(&a->entries, &b->entries, &how, partners, &err),
        TP_OK);
    for (size_t i = 0; i < a->entries.count; i++)
        letters[i] = partners[i].b == TP_COMPARE_NONE
                         ? (partners[i].dtypes ? '!' : '-')
                         : (char)('a' + partners[i].b);
    letters[a->entries.count] = '\0';
    tp_compare_map_clear(&map);
    return letters;
}

Test(compare_match, by_name_in_order)
{
    struct side a = side_of((const char *[]){"x", "y", "x", "z", "x", NULL});
    struct side b = side_of((const char *[]){"y", "x", "w", "x", NULL});
    cr_expect_str_eq(match(&a, &b, "", false), "bad--");
    cr_expect_str_eq(match(&a, &b, "z: w", false), "badc-");
}

Test(compare_match, dtypes)
{
    struct side a = {0}, b = {0};
    add(&a, "half", "torch.bfloat16");
    add(&a, "int", "torch.int64");
    add(&a, "word", "<class 'int'>");
    add(&a, "same", "torch.int64");
    add(&b, "half", "torch.float64");
    add(&b, "int", "torch.int32");
    add(&b, "word", "<class 'float'>");
    add(&b, "same", "torch.int64");
    cr_expect_str_eq(match(&a, &b, "", false), "a!!d");
    cr_expect_str_eq(match(&a, &b, "int: int", false), "ab!d"); /* as told */
}

Test(compare_match, fuzzy_passes_over_what_is_more)
{
    struct side a = side_of((const char *[]){
        "Torch.add.0.forward.input.0", "Torch.mul.0.forward.input.0",
        "Torch.add.1.forward.input.0", NULL});
    struct side b = side_of((const char *[]){
        "Torch.exp.0.forward.input.0", "Torch.add.5.forward.input.0",
        "Torch.mul.3.forward.input.0", "Torch.add.6.forward.input.0", NULL});
    cr_expect_str_eq(match(&a, &b, "", false), "---");
    cr_expect_str_eq(match(&a, &b, "", true), "bcd");
    /* direction and argument still tell names apart */
    struct side c = side_of((const char *[]){
        "Torch.add.5.backward.input.0", "Torch.add.5.forward.input.1",
        "Torch.add.5.forward.output.0", NULL});
    cr_expect_str_eq(match(&a, &c, "", true), "---");
    struct side m = side_of(
        (const char *[]){"Module.layers.0.fc.Linear.forward.0.output.0", NULL});
    struct side n = side_of(
        (const char *[]){"Module.layers.0.fc.Linear.forward.7.output.0", NULL});
    cr_expect_str_eq(match(&m, &n, "", true), "a");
}

/* --- the queues of msprobe, as its compare does it ------------------------ */

struct queue {
    size_t items[MOST], count;
};

static void drop(struct queue *queue, size_t count)
{
    memmove(queue->items, queue->items + count,
            (queue->count - count) * sizeof *queue->items);
    queue->count -= count;
}

static void slow_match(const struct side *a, const struct side *b,
                       char *letters)
{
    struct queue in_a = {{0}, 0}, in_b = {{0}, 0};
    memset(letters, '-', a->entries.count);
    letters[a->entries.count] = '\0';
    for (size_t i = 0; i < a->entries.count || i < b->entries.count; i++) {
        if (i < a->entries.count)
            in_a.items[in_a.count++] = i;
        if (i < b->entries.count)
            in_b.items[in_b.count++] = i;
        if (!in_a.count || !in_b.count)
            continue;
        size_t of_a = in_a.count - 1, of_b = 0;
        while (of_b < in_b.count && strcmp(a->rows[in_a.items[of_a]].key,
                                           b->rows[in_b.items[of_b]].key) != 0)
            of_b++;
        if (of_b == in_b.count) {
            of_b = in_b.count - 1;
            for (of_a = 0; of_a < in_a.count &&
                           strcmp(a->rows[in_a.items[of_a]].key,
                                  b->rows[in_b.items[of_b]].key) != 0;)
                of_a++;
        }
        if (of_a == in_a.count)
            continue;
        letters[in_a.items[of_a]] = (char)('a' + in_b.items[of_b]);
        drop(&in_a, of_a + 1);
        drop(&in_b, of_b + 1);
    }
}

Test(compare_match, fuzzy_is_the_queues)
{
    static const char *const names[] = {"p", "q", "r", "s", "t"};
    srand(7);
    for (int round = 0; round < 2000; round++) {
        struct side a = {0}, b = {0};
        char slow[MOST + 1];
        const int count_a = rand() % 20, count_b = rand() % 20;
        for (int i = 0; i < count_a; i++)
            add(&a, names[rand() % 5], "torch.float32");
        for (int i = 0; i < count_b; i++)
            add(&b, names[rand() % 5], "torch.float32");
        slow_match(&a, &b, slow);
        cr_assert_str_eq(match(&a, &b, "", true), slow);
    }
}
