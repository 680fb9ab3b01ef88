/* SPDX-License-Identifier: MIT */
/* What one rank has and the others have not, in runs made by hand. */
#include "tests/unit/support/stages.h"
#include "tests/unit/support/two_values.h"
#include "tests/unit/support/xorshift.h"

enum { ITERATIONS = 120 };

/* A run of some ranks, in which a test spoils one. */
struct made {
    struct stages stages;
    struct tp_findings findings;
    uint64_t dice;
    int64_t counter;
};

/* -1 to 1. */
static double noise(struct made *made)
{
    return (double)(xorshift(&made->dice) >> 11) / 0x1p52 - 1;
}

static void add(struct made *made, const char *name, int64_t rank,
                int64_t iteration, double value)
{
    struct tp_row *row = add_row(&made->stages.run, "f");
    struct tp_summary summary = two(value, -value / 2);
    row->label.tensor_name = name;
    row->label.rank = rank;
    row->label.iteration = iteration;
    row->label.counter = made->counter++;
    set_summary(&made->stages.run, row, &summary);
}

/* The findings of the rule, the last of them in *told. */
static size_t find(struct made *made, const struct tp_finding **told)
{
    static const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    struct tp_findings *all = &made->findings;
    size_t count = 0;
    stages_watch(&made->stages, &options);
    stages_judge(&made->stages, all);
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->rows[i].rule->id, "ranks") != 0)
            continue;
        *told = &all->rows[i];
        count++;
    }
    return count;
}

static void clear(struct made *made)
{
    tp_findings_clear(&made->findings);
    stages_clear(&made->stages);
}

/* A weight that creeps, equal on all ranks, until one rank's differs by a
 * unit in the last place; what it feeds on has noise of its own. */
static void make_copies(struct made *made, int64_t ranks, int64_t from)
{
    for (int64_t i = 0; i < 12; i++) {
        for (int64_t rank = 0; rank < ranks; rank++) {
            bool off = i >= from && rank == 1;
            add(made, "weight", rank, i,
                (1 + 0.001 * (double)i) * (off ? 1 + 0x1p-8 : 1));
            add(made, "input", rank, i, 1 + 0.1 * noise(made));
        }
    }
}

Test(rule_ranks, copies_that_differ_are_told)
{
    for (int64_t ranks = 2; ranks < 5; ranks++) {
        struct made made = {.dice = 88172645463325252u};
        const struct tp_finding *told = NULL;
        make_copies(&made, ranks, 7);
        cr_assert_eq(find(&made, &told), 1);
        cr_expect_str_eq(told->tensor_name, "weight");
        cr_expect_eq(told->iteration, 7);
        cr_expect_eq(told->rank, ranks == 2 ? -1 : 1);
        cr_expect_eq(told->level, TP_SEVERITY_MEDIUM);
        cr_expect_eq(told->consequences, 0);
        clear(&made);
    }
}

Test(rule_ranks, copies_that_agree_and_data_that_does_not_are_left_alone)
{
    for (int64_t from = 0; from < 2; from++) { /* never two equal ones */
        struct made made = {.dice = 88172645463325252u};
        const struct tp_finding *told = NULL;
        make_copies(&made, 3, from);
        cr_expect_eq(find(&made, &told), 0);
        clear(&made);
    }
    struct made made = {.dice = 88172645463325252u};
    const struct tp_finding *told = NULL;
    make_copies(&made, 3, 100);
    cr_expect_eq(find(&made, &told), 0);
    clear(&made);
}

/* Norms that double in 25 iterations on all ranks; of one rank they leave
 * that trend slowly, by a factor of 3.5 in the end. */
static double norm(struct made *made, int64_t iteration, double own)
{
    return exp2((double)iteration / 25 + 0.1 * noise(made) + own);
}

Test(rule_ranks, a_rank_that_leaves_the_trend_is_told)
{
    for (int64_t ranks = 2; ranks < 5; ranks++) {
        struct made made = {.dice = 88172645463325252u};
        const struct tp_finding *told = NULL;
        for (int64_t i = 0; i < ITERATIONS; i++) {
            double own = 1.8 * fmax(0, (double)(i - 80)) / (ITERATIONS - 80);
            for (int64_t rank = 0; rank < ranks; rank++) {
                add(&made, "input", rank, i, norm(&made, i, 0));
                add(&made, "output", rank, i,
                    norm(&made, i, rank == 1 ? own : 0));
            }
        }
        size_t n = find(&made, &told);
        cr_assert_eq(n, 1, "%d ranks: %zu %s", (int)ranks, n,
                     told ? told->evidence : "");
        cr_expect_str_eq(told->tensor_name, "output");
        cr_expect_eq(told->rank, 1);
        cr_expect(told->iteration > 80 && told->iteration < 100, "%d",
                  (int)told->iteration);
        clear(&made);
    }
}

/* For two thirds of the run, so slowly that each step looks like the last. */
Test(rule_ranks, a_slow_drift_is_told)
{
    for (int64_t ranks = 2; ranks < 5; ranks++) {
        struct made made = {.dice = 88172645463325252u};
        const struct tp_finding *told = NULL;
        for (int64_t i = 0; i < 240; i++) {
            for (int64_t rank = 0; rank < ranks; rank++) {
                double own =
                    rank == 1 ? 4 * fmax(0, (double)(i - 80)) / 160 : 0;
                add(&made, "input", rank, i, norm(&made, i, 0));
                add(&made, "output", rank, i, norm(&made, i, own));
            }
        }
        cr_assert_eq(find(&made, &told), 1, "%d ranks", (int)ranks);
        cr_expect_str_eq(told->tensor_name, "output");
        cr_expect_eq(told->rank, 1);
        cr_expect(told->iteration >= 60 && told->iteration <= 120, "%d",
                  (int)told->iteration);
        clear(&made);
    }
}

Test(rule_ranks, a_rank_that_is_off_throughout_is_told_once)
{
    struct made made = {.dice = 88172645463325252u};
    const struct tp_finding *told = NULL;
    for (int64_t i = 0; i < 30; i++) {
        for (int64_t rank = 0; rank < 4; rank++) {
            double own = rank == 3 ? -6 : 0;
            add(&made, "query", rank, i, norm(&made, i, 0));
            add(&made, "input", rank, i, norm(&made, i, own));
            add(&made, "output", rank, i, norm(&made, i, own));
        }
    }
    cr_assert_eq(find(&made, &told), 1);
    cr_expect_str_eq(told->tensor_name, "input"); /* saved before the output */
    cr_expect_eq(told->rank, 3);
    cr_expect_eq(told->iteration, 0);
    cr_expect_eq(told->consequences, 1);
    clear(&made);
}

Test(rule_ranks, healthy_ranks_are_left_alone)
{
    struct made made = {.dice = 88172645463325252u};
    const struct tp_finding *told = NULL;
    for (int64_t i = 0; i < ITERATIONS; i++) {
        for (int64_t rank = 0; rank < 4; rank++) {
            if (rank == 2 && i % 7 == 3)
                continue; /* gaps */
            add(&made, "input", rank, i, norm(&made, i, rank == 1 ? 1 : 0));
            add(&made, "once", rank, i, rank == 0 && i == 60 ? 4 : 1);
            add(&made, "zero", rank, i, 0);
            add(&made, "nan", rank, i, rank == 1 ? NAN : 1);
        }
    }
    cr_expect_eq(find(&made, &told), 0, "%s", told ? told->tensor_name : "");
    clear(&made);
}
