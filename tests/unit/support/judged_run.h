/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_JUDGED_RUN_H
#define TP_TESTS_JUDGED_RUN_H

#include <criterion/criterion.h>
#include <string.h>

#include "trace/trace_join.h"
#include "trace/trace_run.h"
#include "verdict/trace_judge.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

/* A run of traces and what is judged of it. */
struct judged_run {
    struct tp_trace_run run;
    struct tp_trace_judged judged;
};

/* Judges anew. */
static inline void judged_run_judge(struct judged_run *it,
                                    const struct tp_trace_limits *limits)
{
    struct tp_error err = {0};
    tp_trace_judged_clear(&it->judged);
    cr_assert_eq(tp_trace_judge(&it->run, limits, &it->judged, &err), TP_OK,
                 "%s", err.message);
}

/* Sorts the traces and judges them by the limits of the table. */
static inline void judged_run_finish(struct judged_run *it)
{
    const struct tp_trace_limits limits = tp_trace_limits_default();
    tp_trace_run_sort(&it->run);
    judged_run_judge(it, &limits);
}

static inline void judged_run_clear(struct judged_run *it)
{
    tp_trace_judged_clear(&it->judged);
    tp_trace_run_clear(&it->run);
}

/* The verdict on the run, in words. */
static inline const char *judged_verdict(const struct judged_run *it)
{
    return tp_trace_verdict_table[it->judged.verdict.verdict].id;
}

/* The worst finding of a rule, or NULL. */
static inline const struct tp_trace_finding *
judged_find(const struct judged_run *it, const char *rule)
{
    for (size_t i = 0; i < it->judged.findings.count; i++) {
        if (!strcmp(it->judged.findings.rows[i].rule->id, rule))
            return &it->judged.findings.rows[i];
    }
    return NULL;
}

static inline bool judged_notes(const struct judged_run *it,
                                       const char *words)
{
    for (size_t i = 0; i < it->judged.notes.count; i++) {
        if (strstr(it->judged.notes.texts[i], words))
            return true;
    }
    return false;
}

#endif
