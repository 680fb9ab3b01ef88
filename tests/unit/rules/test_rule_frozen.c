/* SPDX-License-Identifier: MIT */
/* Tensors that stop changing, in runs made by hand. */
#include "tests/unit/support/stages.h"
#include "tests/unit/support/two_values.h"

static void add(struct tp_run *run, const char *name, int64_t rank,
                int64_t iteration, double value)
{
    struct tp_row *row = add_row(run, "f");
    struct tp_summary summary = two(value, -0.5);
    row->label.tensor_name = name;
    row->label.rank = rank;
    row->label.iteration = iteration;
    set_summary(run, row, &summary);
}

/* A value that changes a little from iteration to iteration. */
static double moving(int64_t iteration)
{
    return 1 + 0.01 * (double)(iteration * 7 % 11) + 0.001 * (double)iteration;
}

/* The findings of the rule; the caller clears run and findings. */
static size_t find(struct stages *made, struct tp_findings *findings,
                   const struct tp_finding **frozen)
{
    static const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    stages_watch(made, &options);
    stages_judge(made, findings);
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->rows[i].rule->id, "frozen") != 0)
            continue;
        *frozen = &findings->rows[i];
        count++;
    }
    return count;
}

static void clear(struct stages *made, struct tp_findings *findings)
{
    tp_findings_clear(findings);
    stages_clear(made);
}

Test(frozen, a_weight_that_stops_is_told_once_for_all_ranks)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    const struct tp_finding *frozen = NULL;
    for (int64_t rank = 0; rank < 3; rank++) {
        for (int64_t i = 0; i < 40; i++)
            add(&made.run, "weight", rank, 10 * i, moving(i < 25 ? i : 25));
    }
    cr_assert_eq(find(&made, &findings, &frozen), 1);
    cr_expect_eq(frozen->iteration, 250);
    cr_expect_eq(frozen->rank, -1);
    cr_expect_eq(frozen->consequences, 2);
    cr_expect_eq(frozen->level, TP_SEVERITY_MEDIUM);
    cr_expect(strstr(frozen->evidence, "15 iterations from 250 to 390"), "%s",
              frozen->evidence);
    cr_expect(strstr(frozen->evidence, "after 25 changes"), "%s",
              frozen->evidence);
    cr_expect(strstr(frozen->suggestion, "optimizer"), "%s",
              frozen->suggestion);
    clear(&made, &findings);
}

/* Attention's weights are probabilities, which no optimiser updates. */
Test(frozen, advice_is_for_what_the_tensor_is)
{
    static const struct {
        const char *name, *advice;
    } cases[] = {{"weight", "optimizer"},
                 {"bias", "optimizer"},
                 {"attention_weights", "what feeds it"},
                 {"input", "what feeds it"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct stages made = {.run = {.rows = NULL}};
        struct tp_findings findings = {0};
        const struct tp_finding *frozen = NULL;
        for (int64_t i = 0; i < 40; i++)
            add(&made.run, cases[k].name, 0, i, moving(i < 25 ? i : 25));
        cr_assert_eq(find(&made, &findings, &frozen), 1);
        cr_expect(strstr(frozen->suggestion, cases[k].advice), "%s: %s",
                  cases[k].name, frozen->suggestion);
        clear(&made, &findings);
    }
}

Test(frozen, what_moves_or_never_did_is_left_alone)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    const struct tp_finding *frozen = NULL;
    for (int64_t i = 0; i < 40; i++) {
        add(&made.run, "moving", 0, i, moving(i));
        add(&made.run, "mask", 0, i, 1);
        add(&made.run, "seldom", 0, i, moving(i / 8));
        add(&made.run, "a moment", 0, i, moving(i < 33 ? i : 33));
        add(&made.run, "resumed", 0, i, moving(i < 10 || i > 30 ? i : 10));
        add(&made.run, "late", 0, i, moving(i < 5 ? i : 5));
    }
    cr_expect_eq(find(&made, &findings, &frozen), 0);
    clear(&made, &findings);
}

Test(frozen, few_iterations_say_nothing)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    const struct tp_finding *frozen = NULL;
    add(&made.run, "once", 0, 0, 1);
    for (int64_t i = 0; i < 15; i++)
        add(&made.run, "weight", 0, i, moving(i < 7 ? i : 7));
    cr_expect_eq(find(&made, &findings, &frozen), 0);
    clear(&made, &findings);
}
