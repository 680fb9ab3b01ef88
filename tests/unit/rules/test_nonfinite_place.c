/* SPDX-License-Identifier: MIT */
/*
 * Where NaN are, of a file of testdata whose float64 tensor has one as the last
 * of six elements. What cannot be read again is a note and nothing else;
 * findings of other rules, and those without a file, are left alone.
 */
#include "rules/nonfinite_place.h"

#include "rules/rules.h"
#include "tensors/collect.h"
#include "tests/unit/support/testdata.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "torch/good-dtypes.legacy.pt"

static const struct tp_rule nonfinite = {.id = "nonfinite",
                                         .apply = tp_rule_nonfinite};
static const struct tp_rule other = {.id = "onset", .apply = tp_rule_onset};

struct made {
    struct tp_pool *pool;
    struct tp_run run;
    struct tp_findings findings;
    const struct tp_row *row; /* with a NaN among other values */
};

static void make(struct made *made, const char *path)
{
    const char *roots[] = {path};
    const struct tp_collect_options how = {.roots = roots, .root_count = 1};
    memset(made, 0, sizeof *made);
    cr_assert_eq(tp_pool_new(2, &made->pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(made->pool, &how, &made->run, NULL), TP_OK);
    for (size_t i = 0; i < made->run.row_count; i++) {
        const struct tp_row *row = &made->run.rows[i];
        if (row->counts.nan == 1 && row->counts.numel > 1 && !made->row)
            made->row = row;
    }
    cr_assert_not_null(made->row);
}

static struct tp_finding *add(struct made *made, const struct tp_rule *rule)
{
    struct tp_finding *finding;
    cr_assert_eq(
        tp_finding_add(&made->findings, rule, made->row, &finding, NULL),
        TP_OK);
    finding->evidence = "said before";
    return finding;
}

static void clear(struct made *made)
{
    tp_findings_clear(&made->findings);
    tp_run_clear(&made->run);
    tp_pool_free(made->pool);
}

static enum tp_status place(struct made *made,
                            const volatile sig_atomic_t *stop)
{
    struct tp_error err;
    return tp_nonfinite_place(&made->run, made->pool, stop, &made->findings,
                              &err);
}

Test(nonfinite_place, is_added)
{
    struct made made;
    char path[4096];
    testdata_path(GOLDEN, path, sizeof path);
    make(&made, path);
    add(&made, &nonfinite);
    add(&made, &other);
    add(&made, &nonfinite)->file = "";
    cr_assert_eq(place(&made, NULL), TP_OK);
    const struct tp_finding *rows = made.findings.rows;
    cr_expect_eq(strncmp(rows[0].evidence,
                         "said before; its NaN is element [5]; likely ", 44),
                 0, "%s", rows[0].evidence);
    cr_expect_str_eq(rows[1].evidence, "said before");
    cr_expect_str_eq(rows[2].evidence, "said before");
    cr_expect_eq(made.run.notes.count, 0);
    clear(&made);
}

/* A copy of it without so many bytes of its end. */
static void copy(const char *to, size_t less)
{
    static char bytes[1 << 20];
    char from[4096];
    testdata_path(GOLDEN, from, sizeof from);
    FILE *file = fopen(from, "rb");
    cr_assert_not_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    cr_assert(size > less && size < sizeof bytes);
    file = fopen(to, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size - less, file), size - less);
    fclose(file);
}

Test(nonfinite_place, file_that_is_gone)
{
    char path[] = "/tmp/tp-place-XXXXXX";
    const int handle = mkstemp(path);
    cr_assert_neq(handle, -1);
    close(handle);
    struct made made;
    copy(path, 0);
    make(&made, path);
    unlink(path);
    add(&made, &nonfinite);
    cr_expect_eq(place(&made, NULL), TP_OK);
    cr_expect_str_eq(made.findings.rows[0].evidence, "said before");
    cr_assert_eq(made.run.notes.count, 1);
    cr_expect_not_null(
        strstr(made.run.notes.texts[0], ": where its NaN are is not known: "));
    clear(&made);
}

Test(nonfinite_place, file_that_changed)
{
    char path[] = "/tmp/tp-place-XXXXXX";
    const int handle = mkstemp(path);
    cr_assert_neq(handle, -1);
    close(handle);
    struct made made;
    copy(path, 0);
    make(&made, path);
    copy(path, 700);
    add(&made, &nonfinite);
    cr_expect_eq(place(&made, NULL), TP_OK);
    cr_expect_str_eq(made.findings.rows[0].evidence, "said before");
    cr_expect_eq(made.run.notes.count, 1);
    unlink(path);
    clear(&made);
}

Test(nonfinite_place, interruption)
{
    const volatile sig_atomic_t stop = 1;
    struct made made;
    char path[4096];
    testdata_path(GOLDEN, path, sizeof path);
    make(&made, path);
    add(&made, &nonfinite);
    cr_expect_eq(place(&made, &stop), TP_E_INTERRUPTED);
    clear(&made);
}
