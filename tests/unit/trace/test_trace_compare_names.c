/* SPDX-License-Identifier: MIT */
/* What both runs spend by name, of rows made by hand. */
#include "trace/trace_compare_names.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* Of four steps: ns in all, and the squares of what steps had. */
#define ROW(kind, its_path, its_name, its_ns, its_squares)          \
    (struct tp_spent_row)                                           \
    {                                                               \
        .what = kind, .path = its_path, .name = its_name,           \
        .inputs = "", .ns = its_ns, .squares = its_squares,         \
        .count = 4                                                  \
    }

static struct tp_trace_comparison
compare(struct tp_spent_row *base, size_t base_count, struct tp_spent_row *test,
        size_t test_count)
{
    struct tp_trace traces[2] = {{.spent_steps = 4}, {.spent_steps = 4}};
    traces[0].spent.rows = base;
    traces[0].spent.count = base_count;
    traces[1].spent.rows = test;
    traces[1].spent.count = test_count;
    const struct tp_trace_run runs[] = {
        {.traces = &traces[0], .trace_count = 1},
        {.traces = &traces[1], .trace_count = 1}};
    struct tp_trace_comparison made = {
        .why_per = "step", .why_base_count = 4, .why_test_count = 4};
    cr_assert_eq(tp_trace_compare_names(&runs[0], &runs[1], &made, NULL),
                 TP_OK);
    return made;
}

/* A kernel that moves from one place to another got no slower; one that has two
 * places has both. Steps of 1, 3, 1 and 3 us scatter by 2 / sqrt(3). */
Test(trace_compare_names, adds_up_places)
{
    struct tp_spent_row base[] = {
        ROW(TP_SPENT_DEVICE, "a", "moves", 8000, 16e6),
        ROW(TP_SPENT_DEVICE, "a", "grows", 4000, 4e6)};
    struct tp_spent_row test[] = {
        ROW(TP_SPENT_DEVICE, "b > a", "moves", 8000, 20e6),
        ROW(TP_SPENT_DEVICE, "a", "grows", 4000, 4e6),
        ROW(TP_SPENT_DEVICE, "b", "grows", 8000, 20e6)};
    struct tp_trace_comparison made = compare(base, 2, test, 3);
    cr_assert_eq(made.named.count, 2);
    const struct tp_named_row *grows = &made.named.rows[0];
    const struct tp_named_row *moves = &made.named.rows[1];
    cr_expect_str_eq(grows->name, "grows");
    cr_expect_float_eq(grows->base_us, 1, 1e-9);
    cr_expect_float_eq(grows->test_us, 3, 1e-9);
    cr_expect_float_eq(grows->change_us, 2, 1e-9);
    cr_expect_eq(grows->test_per_step, 2);
    cr_expect_str_eq(grows->path, "b", "where most of it is");
    cr_expect_float_eq(grows->base_spread, 0, 1e-9);
    cr_expect_float_eq(grows->test_spread, 2 / sqrt(3), 1e-9);
    cr_expect_str_eq(moves->name, "moves");
    cr_expect_float_eq(moves->change_us, 0, 1e-9);
    free(made.named.rows);
}

/* Operators are named by the innermost, gaps by both ends, and a DataLoader of
 * workers is the same as one without. */
Test(trace_compare_names, knows_what_is_the_same)
{
    static const char single[] =
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    static const char several[] =
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    struct tp_spent_row base[] = {
        ROW(TP_SPENT_HOST, "m > aten::add", "", 4000, 4e6),
        ROW(TP_SPENT_HOST, single, "", 40000, 4e8),
        ROW(TP_SPENT_GAP, "aten::add", "aten::mul", 4000, 4e6)};
    struct tp_spent_row test[] = {
        ROW(TP_SPENT_HOST, "aten::add", "", 8000, 16e6),
        ROW(TP_SPENT_HOST, several, "", 4000, 4e6),
        ROW(TP_SPENT_GAP, "aten::sub", "aten::mul", 4000, 4e6)};
    struct tp_trace_comparison made = compare(base, 3, test, 3);
    cr_assert_eq(made.named.count, 4);
    cr_expect_str_eq(made.named.rows[0].name, "aten::add");
    cr_expect_float_eq(made.named.rows[0].change_us, 1, 1e-9);
    cr_expect_str_eq(made.named.rows[1].name, "aten::mul");
    cr_expect_str_eq(made.named.rows[1].before, "aten::sub");
    cr_expect_str_eq(made.named.rows[3].name, several);
    cr_expect_str_eq(made.named.rows[3].base_name, single);
    cr_expect_str_eq(made.named.rows[0].base_name, "");
    cr_expect_float_eq(made.named.rows[3].change_us, -9, 1e-9);
    free(made.named.rows);
}

/* A call is one, whether it waits or not. */
Test(trace_compare_names, calls_that_wait_now)
{
    struct tp_spent_row base[] = {
        ROW(TP_SPENT_CALL, "a", "copies", 4000, 4e6),
        ROW(TP_SPENT_WAIT, "a", "waits", 4000, 4e6),
        ROW(TP_SPENT_WAIT, "a", "returns", 4000, 4e6)};
    struct tp_spent_row test[] = {
        ROW(TP_SPENT_WAIT, "b", "copies", 12000, 36e6),
        ROW(TP_SPENT_WAIT, "a", "waits", 8000, 16e6),
        ROW(TP_SPENT_CALL, "a", "returns", 4000, 4e6)};
    static const struct {
        const char *name;
        int what;
        bool waited;
        double change;
    } expected[] = {{"copies", TP_SPENT_WAIT, false, 2},
                    {"waits", TP_SPENT_WAIT, true, 1},
                    {"returns", TP_SPENT_CALL, true, 0}};
    struct tp_trace_comparison made = compare(base, 3, test, 3);
    cr_assert_eq(made.named.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct tp_named_row *row = &made.named.rows[i];
        cr_expect_str_eq(row->name, expected[i].name);
        cr_expect_eq(row->what, expected[i].what, "%s", row->name);
        cr_expect_eq(row->base_waits, expected[i].waited, "%s", row->name);
        cr_expect_float_eq(row->change_us, expected[i].change, 1e-9);
    }
    free(made.named.rows);
}

/* A kernel knows the operators in which it changed as in all, with all that the
 * device does for them; not where it is in none. */
Test(trace_compare_names, operators_that_launch)
{
    struct tp_spent_row base[] = {
        ROW(TP_SPENT_DEVICE, "m > conv", "old", 20000, 1e8),
        ROW(TP_SPENT_DEVICE, "conv", "new", 4000, 4e6),
        ROW(TP_SPENT_DEVICE, "mm", "new", 8000, 16e6),
        ROW(TP_SPENT_HOST, "m > conv", "", 0, 0),
        ROW(TP_SPENT_DEVICE, "", "graph", 4000, 4e6)};
    struct tp_spent_row test[] = {
        ROW(TP_SPENT_DEVICE, "conv", "new", 24000, 144e6),
        ROW(TP_SPENT_DEVICE, "mm", "new", 4000, 4e6),
        ROW(TP_SPENT_HOST, "conv", "", 0, 0),
        ROW(TP_SPENT_HOST, "m > conv", "", 0, 0),
        ROW(TP_SPENT_DEVICE, "", "graph", 8000, 16e6)};
    struct tp_trace_comparison made = compare(base, 5, test, 5);
    const struct tp_named_row *row = &made.named.rows[0];
    cr_expect_str_eq(row->name, "new");
    cr_expect_float_eq(row->change_us, 4, 1e-9);
    cr_expect_eq(row->launchers.count, 1, "it grew in conv alone");
    cr_expect_float_eq(row->launchers.base_us, 6, 1e-9);
    cr_expect_float_eq(row->launchers.test_us, 6, 1e-9);
    cr_expect_float_eq(row->launchers.base_per_step, 1, 1e-9);
    cr_expect_float_eq(row->launchers.test_per_step, 2, 1e-9);
    cr_expect_str_eq(made.named.rows[1].name, "graph");
    cr_expect_eq(made.named.rows[1].launchers.count, 0);
    free(made.named.rows);
}
