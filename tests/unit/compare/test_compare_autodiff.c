/* SPDX-License-Identifier: MIT */
/*
 * The runs of testdata/divergence, whose plants.json says what each of them
 * changes: the operator that is named, and how bad it is.
 */
#include "compare/compare_autodiff.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/pool.h"
#include "tests/unit/support/testdata.h"

struct made {
    struct tp_pool *pool;
    struct tp_comparison comparison;
    struct tp_compare_findings findings;
    struct tp_compare_autodiff autodiff;
    struct tp_error err;
    enum tp_status status;
};

static void make(struct made *made, const char *a, const char *b,
                 enum tp_compare_mode mode)
{
    char paths[2][4096];
    const struct tp_divergence_options how = {0};
    *made = (struct made){.status = TP_OK};
    testdata_path(a, paths[0], sizeof paths[0]);
    testdata_path(b, paths[1], sizeof paths[1]);
    cr_assert_eq(tp_pool_new(2, &made->pool, &made->err), TP_OK);
    const struct tp_compare_options options = {.a = paths[0],
                                               .b = paths[1],
                                               .mode = mode,
                                               .read = {.pool = made->pool}};
    cr_assert_eq(tp_compare(&options, &made->comparison, &made->err), TP_OK);
    made->status = tp_compare_autodiff_make(
        &made->comparison, &how, &made->autodiff, &made->findings, &made->err);
}

static void clear(struct made *made)
{
    tp_compare_autodiff_clear(&made->autodiff);
    tp_compare_findings_clear(&made->findings);
    tp_comparison_clear(&made->comparison);
    tp_pool_free(made->pool);
}

/* The only finding is about this call. */
static void expect_finding(const char *a, const char *b, enum tp_severity level,
                           const char *name)
{
    struct made made;
    make(&made, a, b, TP_COMPARE_TENSOR);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_assert_eq(made.findings.count, 1, "%s", a);
    const struct tp_compare_finding *finding = &made.findings.rows[0];
    cr_expect_eq(finding->id, TP_FINDS_DIVERGENCE);
    cr_expect_eq(finding->level, level, "%s: %d", a, (int)finding->level);
    cr_expect_str_eq(finding->name, name);
    cr_expect_neq(strstr(finding->evidence, name), NULL, "%s",
                  finding->evidence);
    cr_expect_gt(strlen(finding->suggestion), 0);
    clear(&made);
}

Test(compare_autodiff, the_operator_that_is_off_is_named)
{
    expect_finding("divergence/step1", "divergence/step0", TP_SEVERITY_HIGH,
                   "Functional.softmax.0.forward");
    expect_finding("divergence/step0", "divergence/step1", TP_SEVERITY_HIGH,
                   "Functional.softmax.0.forward");
}

Test(compare_autodiff, other_data_are_no_fault_of_the_operator)
{
    expect_finding("divergence/step3", "divergence/step0", TP_SEVERITY_MEDIUM,
                   "Tensor.masked_fill.0.forward");
}

Test(compare_autodiff, rounding_is_no_finding)
{
    static const char *const twins[] = {"divergence/step2", "divergence/step0"};
    for (size_t i = 0; i < 2; i++) {
        struct made made;
        make(&made, twins[i], "divergence/step0", TP_COMPARE_TENSOR);
        cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
        cr_expect_eq(made.findings.count, 0);
        cr_expect_eq(made.autodiff.count, 1);
        cr_expect_eq(made.autodiff.searches[0].first, SIZE_MAX);
        clear(&made);
    }
}

Test(compare_autodiff, rows_have_their_step)
{
    struct made made;
    struct tp_table table;
    make(&made, "divergence/step1", "divergence/step0", TP_COMPARE_TENSOR);
    cr_assert_eq(made.status, TP_OK);
    tp_compare_autodiff_table(&made.autodiff, &table);
    const struct tp_column *step = tp_table_column(&table, "step");
    const struct tp_column *name = tp_table_column(&table, "api_name");
    const struct tp_column *excess = tp_table_column(&table, "excess_a");
    cr_assert(step && name && excess);
    cr_expect_eq(table.row_count, made.autodiff.searches[0].count);
    size_t found = 0;
    for (size_t i = 0; i < table.row_count; i++) {
        cr_expect_eq(tp_cell_number(&table, i, step), 1);
        if (strcmp(tp_cell_text(&table, i, name),
                   "Functional.softmax.0.forward") != 0)
            continue;
        found++;
        cr_expect_gt(tp_cell_number(&table, i, excess), 3);
    }
    cr_expect_eq(found, 1);
    clear(&made);
}

Test(compare_autodiff, needs_tensors)
{
    struct made made;
    make(&made, "divergence/step1", "divergence/step0", TP_COMPARE_STATISTICS);
    cr_expect_eq(made.status, TP_E_UNSUPPORTED);
    cr_expect_neq(strstr(made.err.message, "needs the tensors"), NULL);
    clear(&made);
}
