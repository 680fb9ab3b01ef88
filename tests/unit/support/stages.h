/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_STAGES_H
#define TP_TESTS_STAGES_H

#include "figures/figure_input.h"
#include "rules/rules.h"
#include "tensors/pair_find.h"
#include "tests/unit/support/run_maker.h"

/* A run by hand with what the later stages make of it; all-zero bytes: none
 * was asked. It has to stay where it is. */
struct stages {
    struct tp_run run;
    struct tp_quant quant;
    struct tp_pairs pairs;
    struct tp_monitor monitor;
    struct tp_incidents incidents;
};

/* Series, baselines, alarms and incidents of the rows. */
static inline void stages_watch(struct stages *made,
                                const struct tp_baseline_options *options)
{
    cr_assert_eq(tp_monitor_make(&made->run, options, NULL, &made->monitor,
                                 NULL),
                 TP_OK);
    cr_assert_eq(tp_incidents_make(&made->run, &made->monitor,
                                   &made->incidents, NULL),
                 TP_OK);
}

/* The rows that are the same tensor in two quant types; none is read. */
static inline void stages_pair(struct stages *made)
{
    cr_assert_eq(tp_pairs_find(&made->run, true, &made->pairs, NULL), TP_OK);
}

/* What the rules say of it. */
static inline void stages_judge(const struct stages *made,
                                struct tp_findings *findings)
{
    const struct tp_rule_input input = {.run = &made->run,
                                        .quant = &made->quant,
                                        .monitor = &made->monitor,
                                        .incidents = &made->incidents,
                                        .findings = findings};
    cr_assert_eq(tp_findings_make(&input, NULL), TP_OK);
}

static inline struct tp_figure_input stages_input(const struct stages *made)
{
    return (struct tp_figure_input){&made->run, &made->quant, &made->pairs,
                                    &made->monitor, &made->incidents};
}

static inline void stages_clear(struct stages *made)
{
    tp_incidents_clear(&made->incidents);
    tp_monitor_clear(&made->monitor);
    tp_pairs_clear(&made->pairs);
    tp_quant_clear(&made->quant);
    tp_run_clear(&made->run);
}

#endif
