/* SPDX-License-Identifier: MIT */
/*
 * Sheets against what msprobe writes, cell by cell: for testdata/msprobe
 * msprobe-compare.csv, of mindstudio-probe 26.2 from PyPI, and for the real
 * dumps of shared/ its expected/, of a 26.x development head. Its
 * differences of statistics go through a short parser of pandas, which loses
 * the last digits; the six metrics have sums in another order.
 */
#include "compare/compare_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/pool.h"
#include "compare/compare.h"
#include "tests/unit/support/csv.h"
#include "tests/unit/support/testdata.h"

/* What is compared with which file. */
struct expectation {
    const char *a, *b, *csv; /* paths                                      */
    enum tp_compare_mode mode;
    size_t rows;
};

static bool is_number_column(const char *name)
{
    static const char *const words[] = {"Cosine", "EucDist", "Err", " diff",
                                        "Ratio"};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= strstr(name, words[i]) != NULL;
    return found && strcmp(name, "Err_message") != 0;
}

/* Equal, or a number within 1e-9 relative and 3e-16 absolute. pandas 3 makes
 * N/A of the dtype of what is None; before that it was "None". */
static bool same_cell(const char *column, const char *made,
                      const char *expected)
{
    char *end_made, *end_expected;
    if (!strcmp(made, expected))
        return true;
    if (!strcmp(made, "None") && !strcmp(expected, "N/A"))
        return strstr(column, "Dtype") || strstr(column, "Shape");
    if (!is_number_column(column))
        return false;
    const double x = strtod(made, &end_made);
    const double y = strtod(expected, &end_expected);
    return end_made > made && !strcmp(end_made, end_expected) &&
           fabs(x - y) <= 1e-9 * fabs(y) + 3e-16;
}

/* Cells of a line that are not as expected. */
static size_t check_line(const struct tp_table *table, size_t row, char *line)
{
    char *fields[TP_SHEET_COLUMNS_MAX + 1];
    size_t wrong = 0;
    cr_assert_eq(csv_split(line, fields, TP_SHEET_COLUMNS_MAX + 1),
                 table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tp_column *column = &table->columns[i];
        const char *made = tp_cell_text(table, row, column);
        if (same_cell(column->name, made, fields[i]))
            continue;
        cr_log_error("row %zu, %s: %s, not %s", row, column->name, made,
                     fields[i]);
        wrong++;
    }
    return wrong;
}

static void check_sheet(const struct tp_table *table, const char *path)
{
    enum { LINE = 1 << 16 };
    char *line = malloc(LINE), *fields[TP_SHEET_COLUMNS_MAX];
    FILE *file = fopen(path, "r");
    size_t row = 0, wrong = 0;
    cr_assert(file && line && fgets(line, LINE, file), "%s", path);
    cr_assert_eq(csv_split(line, fields, TP_SHEET_COLUMNS_MAX),
                 table->column_count);
    for (size_t i = 0; i < table->column_count; i++)
        cr_expect_str_eq(table->columns[i].name, fields[i]);
    for (; fgets(line, LINE, file); row++) {
        cr_assert_lt(row, table->row_count);
        wrong += check_line(table, row, line);
    }
    cr_expect_eq(row, table->row_count);
    cr_expect_eq(wrong, 0);
    fclose(file);
    free(line);
}

static void check(const struct expectation *expectation)
{
    struct tp_pool *pool;
    struct tp_comparison comparison = {0};
    struct tp_compare_sheet sheet;
    struct tp_error err = {0};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
    const struct tp_compare_options options = {
        .a = expectation->a, .b = expectation->b, .read = {.pool = pool}};
    cr_assert_eq(tp_compare(&options, &comparison, &err), TP_OK, "%s: %s",
                 err.file, err.message);
    cr_expect_eq(comparison.mode, expectation->mode);
    cr_assert_eq(comparison.pair_count, 1);
    cr_expect_eq(comparison.counts.rows, expectation->rows);
    cr_expect_eq(comparison.counts.damaged, 0);
    cr_assert_eq(tp_compare_sheet_make(&comparison.pairs[0], comparison.mode,
                                       &sheet, &err),
                 TP_OK);
    check_sheet(&sheet.table, expectation->csv);
    tp_compare_sheet_clear(&sheet);
    tp_comparison_clear(&comparison);
    tp_pool_free(pool);
}

Test(compare_sheet, testdata)
{
    char a[4096], b[4096], csv[4096];
    testdata_path("msprobe/step1", a, sizeof a);
    testdata_path("msprobe/step0", b, sizeof b);
    testdata_path("msprobe-compare.csv", csv, sizeof csv);
    check(&(struct expectation){a, b, csv, TP_COMPARE_TENSOR, 62});
}

/* --- real dumps ----------------------------------------------------------- */

/* Unpacks an archive of shared/dumps/msprobe into a folder. */
static void unpack(const char *name, const char *folder)
{
    char below[256], path[2048], command[8192];
    snprintf(below, sizeof below, "dumps/msprobe/%s.tar.gz", name);
    shared_path(below, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file)
        cr_skip_test("no %s", path);
    fclose(file);
    snprintf(command, sizeof command, "tar -xzf '%s' -C '%s'", path, folder);
    cr_assert_eq(system(command), 0);
}

static void remove_folder(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect_eq(system(command), 0);
}

Test(compare_sheet, real_tensors)
{
    char folder[] = "/tmp/compare_sheet_XXXXXX", a[256], b[256], csv[4096];
    cr_assert_not_null(mkdtemp(folder));
    unpack("tensor_L1_v26_bf16", folder);
    unpack("tensor_L1_v26", folder);
    snprintf(a, sizeof a, "%s/tensor_L1_v26_bf16/step0", folder);
    snprintf(b, sizeof b, "%s/tensor_L1_v26/step0", folder);
    shared_path("dumps/msprobe/expected/compare_tensor_result.csv", csv,
                sizeof csv);
    check(&(struct expectation){a, b, csv, TP_COMPARE_TENSOR, 1937});
    remove_folder(folder);
}

Test(compare_sheet, real_statistics)
{
    char folder[] = "/tmp/compare_sheet_XXXXXX", a[256], b[256], csv[4096];
    cr_assert_not_null(mkdtemp(folder));
    unpack("statistics_L1_v26", folder);
    snprintf(a, sizeof a, "%s/statistics_L1_v26/step1", folder);
    snprintf(b, sizeof b, "%s/statistics_L1_v26/step0", folder);
    shared_path("dumps/msprobe/expected/compare_statistics_result.csv", csv,
                sizeof csv);
    check(&(struct expectation){a, b, csv, TP_COMPARE_STATISTICS, 1929});
    remove_folder(folder);
}
