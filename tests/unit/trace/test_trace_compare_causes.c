/* SPDX-License-Identifier: MIT */
/* Which changes are one cause: what they add up to, and that they are not put
 * together where they are several. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_compare_causes.h"
#include "trace/trace_compare_why.h"

enum { ROWS_MAX = 6 };

static struct tp_why_row row(enum tp_spent what, const char *path,
                             const char *name, double base, double test)
{
    return (struct tp_why_row){
        .what = what,
        .how = base == 0   ? TP_WHY_ADDED
               : test == 0 ? TP_WHY_REMOVED
                           : TP_WHY_SLOWER,
        .path = path,
        .base_name = base > 0 ? name : "",
        .test_name = test > 0 ? name : "",
        .base_inputs = "",
        .test_inputs = "",
        .base_per_step = base > 0,
        .test_per_step = test > 0,
        .base_us = base,
        .test_us = test,
        .change_us = test - base};
}

/* Members and changes of the causes, the largest first. */
static void expect(const struct tp_why_row *rows, size_t count,
                   const size_t *members, const double *changes, size_t causes)
{
    struct tp_trace_comparison comparison = {
        .why = {.rows = (struct tp_why_row *)rows, .count = count}};
    double sum = 0;
    cr_assert_eq(tp_trace_compare_causes(&comparison, NULL), TP_OK);
    cr_assert_eq(comparison.causes.count, causes, "%zu",
                 comparison.causes.count);
    for (size_t i = 0; i < causes; i++) {
        cr_expect_eq(comparison.causes.rows[i].members, members[i]);
        cr_expect_float_eq(comparison.causes.rows[i].change_us, changes[i],
                           1e-9, "%g", comparison.causes.rows[i].change_us);
    }
    for (size_t i = 0; i < count; i++)
        sum += rows[i].change_us;
    for (size_t i = 0; i < causes; i++)
        sum -= comparison.causes.rows[i].change_us;
    cr_expect_float_eq(sum, 0, 1e-9);
    free(comparison.causes.rows);
}

#define NEXT "enumerate(DataLoader)#_SingleProcess.__next__"

/* A loader that is gone takes what it calls along; one that is only faster
 * leaves its operators causes of their own. */
Test(trace_compare_causes, what_one_run_has_alone)
{
    const struct tp_why_row gone[] = {
        row(TP_SPENT_HOST, NEXT, "", 300, 0),
        row(TP_SPENT_HOST, NEXT " > aten::stack > aten::cat", "", 80, 0),
        row(TP_SPENT_DEVICE, NEXT " > aten::to", "Memcpy HtoD", 40, 0),
        row(TP_SPENT_GAP, NEXT, "aten::div", 20, 0),
        row(TP_SPENT_HOST, NEXT "2", "", 0, 10),
        row(TP_SPENT_HOST, "aten::div", "", 5, 7)};
    expect(gone, 6, (const size_t[]){4, 1, 1}, (const double[]){-440, 10, 2},
           3);
    const struct tp_why_row faster[] = {
        row(TP_SPENT_HOST, NEXT, "", 300, 100),
        row(TP_SPENT_HOST, NEXT " > aten::stack > aten::cat", "", 80, 0),
        row(TP_SPENT_GAP, NEXT, "aten::div", 20, 0)};
    expect(faster, 3, (const size_t[]){1, 1, 1},
           (const double[]){-200, -80, -20}, 3);
}

/* One kernel that is slower in several places is one cause; two kernels are
 * two, and so is one that is slower here and new there. */
Test(trace_compare_causes, one_kernel_in_several_places)
{
    const struct tp_why_row one[] = {
        row(TP_SPENT_DEVICE, "block_0 > aten::mm", "gemm", 100, 150),
        row(TP_SPENT_DEVICE, "block_1 > aten::mm", "gemm", 100, 170),
        row(TP_SPENT_DEVICE, "block_2 > aten::mm", "gemm", 100, 160)};
    expect(one, 3, (const size_t[]){3}, (const double[]){180}, 1);
    const struct tp_why_row other[] = {
        row(TP_SPENT_DEVICE, "block_0 > aten::mm", "gemm_a", 100, 150),
        row(TP_SPENT_DEVICE, "block_1 > aten::mm", "gemm_b", 100, 170),
        row(TP_SPENT_DEVICE, "block_1 > aten::bmm", "gemm_a", 0, 10),
        row(TP_SPENT_HOST, "block_1 > aten::mm", "", 1, 2),
        row(TP_SPENT_HOST, "block_0 > aten::mm", "", 1, 4)};
    expect(other, 5, (const size_t[]){1, 1, 1, 1, 1},
           (const double[]){70, 50, 10, 3, 1}, 5);
}

/* Work of no operator is told by its kernels, each on its own. */
Test(trace_compare_causes, no_operator)
{
    const struct tp_why_row rows[] = {
        row(TP_SPENT_DEVICE, "", "graph_a", 100, 150),
        row(TP_SPENT_DEVICE, "", "graph_b", 100, 170)};
    expect(rows, 2, (const size_t[]){1, 1}, (const double[]){70, 50}, 2);
    expect(rows, 0, NULL, NULL, 0);
}
