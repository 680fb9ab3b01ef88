/* SPDX-License-Identifier: MIT */
/*
 * Causes and consequences. Runs, and what their baselines say, are made by
 * hand, so that each test holds one rule of incident.c.
 */
#include "tests/unit/support/stages.h"

enum { ITERATIONS = 100, NUMEL = 1000 };

/* A tensor, saved in every iteration. */
struct tensor {
    const char *operation, *name;
    int64_t layer, rank, counter;
};

static void add_tensors(struct tp_run *run, const struct tensor *tensors,
                        size_t count)
{
    struct tp_summary zeros = {.counts = {.numel = NUMEL, .values = NUMEL}};
    for (int64_t i = 0; i < ITERATIONS; i++) {
        for (size_t k = 0; k < count; k++) {
            struct tp_row *row = add_row(run, "f");
            row->label.operation = tensors[k].operation;
            row->label.tensor_name = tensors[k].name;
            row->label.layer_idx = tensors[k].layer;
            row->label.rank = tensors[k].rank;
            row->label.counter = tensors[k].counter;
            row->label.iteration = i;
            set_summary(run, row, &zeros);
        }
    }
}

/* Series and empty baselines: nothing has changed. */
static void begin(struct stages *made)
{
    struct tp_monitor *monitor = &made->monitor;
    monitor->options.alert_window = 50;
    monitor->options.sigma = 3;
    cr_assert_eq(tp_run_number(&made->run, NULL), TP_OK);
    cr_assert_eq(tp_series_make(&made->run, &monitor->series, NULL), TP_OK);
    size_t count = monitor->series.count;
    monitor->first = calloc(count + 1, sizeof *monitor->first);
    for (size_t i = 0; i < count; i++)
        monitor->first[i + 1] =
            monitor->first[i] + monitor->series.series[i].metric_count;
    monitor->baselines =
        calloc(monitor->first[count] + 1, sizeof *monitor->baselines);
    monitor->changes = monitor->baselines;
}

static size_t series_of(const struct stages *made, const struct tensor *tensor)
{
    const struct tp_series_set *set = &made->monitor.series;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_label *label = &set->series[i].label;
        if (label->layer_idx == tensor->layer && label->rank == tensor->rank &&
            !strcmp(label->operation, tensor->operation) &&
            !strcmp(label->tensor_name, tensor->name))
            return i;
    }
    cr_assert_fail("no such series");
    return 0;
}

/* The tensor's l2_norm changes in this iteration. */
static struct tp_baseline *change(struct stages *made,
                                  const struct tensor *tensor, size_t first,
                                  enum tp_change kind)
{
    struct tp_monitor *monitor = &made->monitor;
    struct tp_baseline *baseline =
        &monitor->baselines[monitor->first[series_of(made, tensor)]];
    *baseline = (struct tp_baseline){.center = 1,
                                     .spread = 0.1,
                                     .kind = kind,
                                     .alarms = 1,
                                     .first = first,
                                     .onset_from = (int64_t)first - 1,
                                     .onset_to = (int64_t)first,
                                     .deviation = 50,
                                     .worst = 60};
    return baseline;
}

static const struct tp_incident *group(struct stages *made)
{
    cr_assert_eq(tp_incidents_make(&made->run, &made->monitor,
                                   &made->incidents, NULL),
                 TP_OK);
    return made->incidents.incidents;
}

static bool is_origin(const struct stages *made,
                      const struct tp_incident *incident,
                      const struct tensor *tensor)
{
    return made->incidents.alarms[incident->origin].series ==
           series_of(made, tensor);
}

/* One rank; the order of the counters is not that of names or layers. */
static const struct tensor plain[] = {
    {"forward", "input", 2, 0, 10},
    {"forward", "weight", 1, 0, 11},
    {"forward", "output", 1, 0, 12},
    {"backward", "input", 2, 0, 13},
};

Test(incident, begins_with_what_was_saved_first)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    for (size_t i = 0; i < 4; i++)
        change(&made, &plain[i], i == 3 ? 39 : 40, TP_CHANGE_SHIFT);
    change(&made, &plain[3], 41, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[0]));
    cr_assert_eq(incident->from, 40);
    cr_assert_eq(incident->to, ITERATIONS - 1);
    cr_assert_eq(incident->consequences, 3);
    stages_clear(&made);
}

Test(incident, without_counters_follows_the_model)
{
    static const struct tensor tensors[] = {
        {"backward", "output", 1, 0, -1},
        {"backward", "output", 2, 0, -1},
        {"forward", "output", 2, 0, -1},
        {"forward", "output", 1, 0, -1},
    };
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, tensors, 4);
    begin(&made);
    for (size_t i = 0; i < 4; i++)
        change(&made, &tensors[i], 40, TP_CHANGE_SHIFT);
    group(&made);
    for (size_t i = 0; i < 4; i++) {
        const size_t order[] = {3, 2, 1, 0};
        cr_assert_eq(made.incidents.alarms[i].series,
                     series_of(&made, &tensors[order[i]]), "place %zu", i);
    }
    stages_clear(&made);
}

Test(incident, a_weak_change_upstream_is_the_origin)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    change(&made, &plain[1], 40, TP_CHANGE_SHIFT)->weak = true;
    change(&made, &plain[2], 40, TP_CHANGE_SHIFT);
    change(&made, &plain[3], 40, TP_CHANGE_SPIKE);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[1]));
    cr_assert(incident->firm);
    stages_clear(&made);
}

Test(incident, a_drift_is_no_origin)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    change(&made, &plain[0], 40, TP_CHANGE_DRIFT);
    change(&made, &plain[2], 40, TP_CHANGE_SHIFT);
    change(&made, &plain[3], 41, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[2]));
    cr_assert_eq(incident->consequences, 2);
    stages_clear(&made);
}

/* A gradient is off by little, an iteration before a tensor of the forward pass
 * jumps and all else with it. */
static void date_early(double deviation)
{
    bool chance = deviation < 10;
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    change(&made, &plain[3], 39, TP_CHANGE_SHIFT)->deviation = deviation;
    for (size_t i = 0; i < 3; i++)
        change(&made, &plain[i], 40, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[chance ? 0 : 3]));
    cr_assert_eq(incident->from, chance ? 40 : 39);
    cr_assert_eq(incident->consequences, 3);
    stages_clear(&made);
}

Test(incident, what_is_dated_an_iteration_early_is_no_origin)
{
    date_early(4);
    date_early(40); /* as far as the others: that is where it began */
}

/* A weak change an iteration before the origin follows from it if it lies
 * behind it; in front of it there is no way. */
Test(incident, what_is_dated_an_iteration_early_may_follow)
{
    for (size_t early = 0; early < 3; early += 2) {
        static const struct tensor tensors[] = {
            {"forward", "input", 1, 0, 1},
            {"forward", "output", 1, 0, 2},
            {"forward", "input", 2, 0, 3},
            {"forward", "output", 2, 0, 4},
        };
        struct stages made = {.run = {.rows = NULL}};
        add_tensors(&made.run, tensors, 4);
        begin(&made);
        change(&made, &tensors[early], 39, TP_CHANGE_SHIFT)->weak = true;
        change(&made, &tensors[1], 40, TP_CHANGE_SHIFT);
        change(&made, &tensors[3], 40, TP_CHANGE_SHIFT);
        const struct tp_incident *incident = group(&made);
        cr_assert_eq(made.incidents.incident_count, early ? 1 : 2);
        cr_assert(is_origin(&made, &incident[0], &tensors[1]));
        cr_assert_eq(incident->consequences, early ? 2 : 1);
        stages_clear(&made);
    }
}

/* Less overflow than usual is no fault; less norm is. */
Test(incident, improvements_are_no_alarms)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    for (size_t i = 0; i < made.run.row_count; i++)
        made.run.rows[i].numbers.total_overflow_ratio = 0.1;
    begin(&made);
    struct tp_monitor *monitor = &made.monitor;
    size_t overflow = tp_series_metric_by_name("overflow_ratio");
    struct tp_baseline *better =
        &monitor->baselines[monitor->first[series_of(&made, &plain[0])] +
                            overflow];
    *better = (struct tp_baseline){.center = 0.5,
                                   .spread = 0.01,
                                   .kind = TP_CHANGE_SHIFT,
                                   .first = 40,
                                   .deviation = 50};
    group(&made);
    cr_assert_eq(made.incidents.alarm_count, 0);
    stages_clear(&made);
}

Test(incident, ends_when_the_window_passes)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    change(&made, &plain[0], 10, TP_CHANGE_SHIFT);
    change(&made, &plain[1], 11, TP_CHANGE_SHIFT);
    change(&made, &plain[2], 62, TP_CHANGE_SHIFT);
    change(&made, &plain[3], 62, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 2);
    cr_assert(is_origin(&made, &incident[0], &plain[0]));
    cr_assert(is_origin(&made, &incident[1], &plain[2]));
    stages_clear(&made);
}

static const struct tensor ranks[] = {
    {"forward", "input", 1, 0, 1}, {"forward", "output", 1, 0, 2},
    {"forward", "input", 1, 1, 1}, {"forward", "output", 1, 1, 2},
    {"forward", "input", 1, 2, 1}, {"forward", "output", 1, 2, 2},
};

Test(incident, on_all_ranks_is_one)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, ranks, 6);
    begin(&made);
    for (size_t i = 0; i < 6; i++)
        change(&made, &ranks[i], 40, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert_eq(incident->ranks, 3);
    cr_assert_eq(incident->ranks_all, 3);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    cr_assert_eq(findings.rows[0].rank, -1);
    cr_assert_str_eq(findings.rows[0].tensor_name, "input");
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_HIGH);
    cr_assert_eq(findings.rows[0].consequences, 3);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(incident, on_one_rank_reaches_the_others_later)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, ranks, 6);
    begin(&made);
    for (size_t i = 0; i < 6; i++)
        change(&made, &ranks[i], i / 2 == 1 ? 40 : 41, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert_eq(incident->ranks, 1);
    cr_assert_eq(incident->ranks_hit, 3);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    cr_assert_eq(findings.rows[0].rank, 1);
    cr_assert_eq(findings.rows[0].iteration, 40);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Nothing follows on any rank: still one change, of two ranks of three, and
 * no more than that. */
Test(incident, equal_changes_of_ranks_are_one_finding)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, ranks, 6);
    begin(&made);
    change(&made, &ranks[0], 40, TP_CHANGE_SHIFT);
    change(&made, &ranks[2], 41, TP_CHANGE_SHIFT);
    change(&made, &ranks[5], 70, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 2);
    cr_assert_eq(incident->ranks, 2);
    cr_assert_eq(incident->consequences, 0);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(findings.rows[0].iteration, 40);
    cr_assert(strstr(findings.rows[0].evidence,
                     "on ranks 0 and 1, 2 of 3 ranks at once"));
    cr_assert(strstr(findings.rows[1].evidence, "on this rank only, of 3"));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Each rank has its part of a model, and a whole has none: only ranks that
 * have a tensor can be healthy beside it. */
static const struct tensor parted[] = {
    {"forward", "input", 1, 0, 1},
    {"forward", "input", 1, 1, 1},
    {"forward", "output", 2, 2, 1},
    {"forward", "whole", 3, -1, 1},
};

Test(incident, ranks_are_those_that_have_it)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, parted, 4);
    begin(&made);
    change(&made, &parted[0], 40, TP_CHANGE_SHIFT);
    change(&made, &parted[2], 55, TP_CHANGE_SHIFT);
    change(&made, &parted[3], 70, TP_CHANGE_SHIFT);
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 3);
    for (size_t i = 0; i < findings.count; i++) {
        const struct tp_finding *row = &findings.rows[i];
        const bool shared = row->iteration == 40;
        cr_expect_eq(!!strstr(row->evidence, "on this rank only, of 2"),
                     shared, "%s", row->evidence);
        cr_expect_eq(!!strstr(row->evidence, "rank"), shared, "%s",
                     row->evidence);
        cr_expect_eq(!!strstr(row->suggestion, "ranks were healthy"), shared,
                     "%s", row->suggestion);
    }
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(incident, all_ranks_that_have_it_are_not_all)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, parted, 4);
    begin(&made);
    change(&made, &parted[0], 40, TP_CHANGE_SHIFT);
    change(&made, &parted[1], 40, TP_CHANGE_SHIFT);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(incident->ranks, 2);
    cr_assert_eq(incident->ranks_have, 2);
    cr_assert_eq(incident->ranks_all, 3);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    cr_assert(strstr(findings.rows[0].evidence,
                     "on all 2 ranks that have it at once"));
    cr_assert(strstr(findings.rows[0].suggestion, "not one rank's alone"));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Three tensors of four ranks, each with a gradient. */
enum { EACH = 3, RANKS = 4 };

static const struct tensor many[RANKS * EACH] = {
    {"forward", "input", 1, 0, 1},  {"forward", "output", 1, 0, 2},
    {"backward", "input", 1, 0, 3}, {"forward", "input", 1, 1, 1},
    {"forward", "output", 1, 1, 2}, {"backward", "input", 1, 1, 3},
    {"forward", "input", 1, 2, 1},  {"forward", "output", 1, 2, 2},
    {"backward", "input", 1, 2, 3}, {"forward", "input", 1, 3, 1},
    {"forward", "output", 1, 3, 2}, {"backward", "input", 1, 3, 3},
};

/* The first fault changes the forward pass of rank 0, and its gradient if
 * `learnt`; a second one that of the ranks from `from` to `to`, in iteration
 * 44. Number of incidents. */
static size_t second_fault(bool learnt, int64_t from, int64_t to)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, many, RANKS * EACH);
    begin(&made);
    change(&made, &many[0], 40, TP_CHANGE_SHIFT);
    change(&made, &many[1], 40, TP_CHANGE_SHIFT);
    if (learnt)
        change(&made, &many[2], 40, TP_CHANGE_SHIFT);
    for (int64_t rank = from; rank <= to; rank++) {
        change(&made, &many[rank * EACH], 44, TP_CHANGE_SHIFT);
        change(&made, &many[rank * EACH + 1], 44, TP_CHANGE_SHIFT);
    }
    group(&made);
    size_t count = made.incidents.incident_count;
    stages_clear(&made);
    return count;
}

Test(incident, faults_without_a_way_between_them_are_two)
{
    cr_assert_eq(second_fault(false, 2, 2), 2); /* gradients were healthy  */
    cr_assert_eq(second_fault(false, 1, 3), 2);
    cr_assert_eq(second_fault(true, 2, 2), 2); /* so are the other ranks  */
    cr_assert_eq(second_fault(true, 1, 3), 1); /* by the shared weights   */
}

/* On one rank: what comes before a lasting change in the data's flow. */
Test(incident, a_later_fault_upstream_is_another)
{
    for (int learnt = 0; learnt < 2; learnt++) {
        static const struct tensor tensors[] = {
            {"forward", "input", 1, 0, 1},  {"forward", "output", 1, 0, 2},
            {"forward", "input", 2, 0, 3},  {"forward", "output", 2, 0, 4},
            {"backward", "input", 2, 0, 5},
        };
        struct stages made = {.run = {.rows = NULL}};
        add_tensors(&made.run, tensors, 5);
        begin(&made);
        change(&made, &tensors[2], 40, TP_CHANGE_SHIFT);
        change(&made, &tensors[3], 40, TP_CHANGE_SHIFT);
        change(&made, &tensors[4], learnt ? 41 : 46, TP_CHANGE_SHIFT);
        change(&made, &tensors[0], 45, TP_CHANGE_SHIFT);
        change(&made, &tensors[1], 45, TP_CHANGE_SHIFT);
        const struct tp_incident *incident = group(&made);
        cr_assert_eq(made.incidents.incident_count, learnt ? 1 : 2);
        cr_assert(is_origin(&made, incident, &tensors[2]));
        if (!learnt)
            cr_assert(is_origin(&made, &incident[1], &tensors[0]));
        stages_clear(&made);
    }
}

/* Where nothing is saved that learns, nobody knows whether the first fault was
 * learnt. Attention's weights are probabilities: no optimiser updates them. */
Test(incident, attention_weights_do_not_tell_what_was_learnt)
{
    static const char *const names[] = {"weight", "attention_weights"};
    for (int attention = 0; attention < 2; attention++) {
        const struct tensor tensors[] = {
            {"forward", "input", 1, 0, 1}, {"forward", "output", 1, 0, 2},
            {"forward", "input", 2, 0, 3}, {"forward", "output", 2, 0, 4},
            {"forward", names[attention], 2, 0, 5},
        };
        struct stages made = {.run = {.rows = NULL}};
        add_tensors(&made.run, tensors, 5);
        begin(&made);
        change(&made, &tensors[2], 40, TP_CHANGE_SHIFT);
        change(&made, &tensors[3], 40, TP_CHANGE_SHIFT);
        change(&made, &tensors[0], 45, TP_CHANGE_SHIFT);
        change(&made, &tensors[1], 45, TP_CHANGE_SHIFT);
        group(&made);
        cr_expect_eq(made.incidents.incident_count, attention ? 1 : 2, "%s",
                     names[attention]);
        stages_clear(&made);
    }
}

Test(incident, what_stands_alone_is_no_incident)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, ranks, 6);
    begin(&made);
    change(&made, &ranks[0], 20, TP_CHANGE_SPIKE);
    change(&made, &ranks[3], 20, TP_CHANGE_SPIKE); /* another rank */
    change(&made, &ranks[4], 80, TP_CHANGE_SHIFT)->weak = true;
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 3);
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(findings.rows[1].level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(findings.rows[2].level, TP_SEVERITY_LOW);
    cr_assert_eq(findings.rows[2].iteration, 80);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Half of two tensors is lost: of one from the fault on, which is absorbed;
 * of the other all the time, which is not. */
Test(incident, absorbs_the_losses_it_caused)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, plain, 4);
    for (size_t i = 0; i < made.run.row_count; i++) {
        struct tp_row *row = &made.run.rows[i];
        bool always = !strcmp(row->label.tensor_name, "output");
        if (always || (row->label.iteration >= 40 && row->label.layer_idx == 2))
            row->numbers.underflow_ratio = 0.5;
    }
    begin(&made);
    change(&made, &plain[0], 40, TP_CHANGE_SHIFT);
    change(&made, &plain[3], 41, TP_CHANGE_SHIFT);
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_str_eq(findings.rows[0].rule->id, "onset");
    cr_assert_str_eq(findings.rows[1].rule->id, "underflow");
    cr_assert_str_eq(findings.rows[1].tensor_name, "output");
    cr_assert_eq(findings.rows[1].iteration, 0);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* A NaN needs no company, and is found where there are no iterations. */
Test(incident, nan_alone_is_high)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, plain, 4);
    for (size_t i = 0; i < made.run.row_count; i++)
        made.run.rows[i].counts.nan =
            made.run.rows[i].label.iteration >= 70 &&
                    made.run.rows[i].label.counter == 11
                ? 3
                : 0;
    struct tp_row *row = add_row(&made.run, "g");
    row->counts.numel = row->counts.values = 5;
    row->counts.nan = 1;
    begin(&made);
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_HIGH);
    cr_assert_eq(findings.rows[1].level, TP_SEVERITY_HIGH);
    cr_assert_eq(findings.rows[0].iteration + findings.rows[1].iteration, 69);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* A tensor is off from iteration 40 on, or only there, and one before or behind
 * it has NaN from 43 on; a third, before both, has some an iteration later.
 * Returns how many incidents that makes. */
static size_t late_nan(enum tp_change kind, bool behind)
{
    static const struct tensor tensors[] = {
        {"forward", "input", 1, 0, 1},  {"forward", "output", 1, 0, 2},
        {"forward", "input", 2, 0, 3},  {"forward", "output", 2, 0, 4},
        {"backward", "input", 2, 0, 5},
    };
    const size_t shifted = behind ? 1 : 3, broken = behind ? 3 : 1;
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, tensors, 5);
    for (size_t i = 0; i < made.run.row_count; i++) {
        struct tp_row *row = &made.run.rows[i];
        if ((row->label.counter == tensors[broken].counter &&
             row->label.iteration >= 43) ||
            (row->label.counter == 1 && row->label.iteration >= 44))
            row->counts.nan = 7;
    }
    begin(&made);
    change(&made, &tensors[shifted], 40, kind);
    const struct tp_incident *incident = group(&made);
    size_t count = made.incidents.incident_count;
    cr_assert(is_origin(&made, &incident[0],
                        &tensors[count == 1 ? shifted : broken]));
    stages_clear(&made);
    return count;
}

Test(incident, nan_behind_what_is_still_off_follows_from_it)
{
    cr_assert_eq(late_nan(TP_CHANGE_SHIFT, true), 1);
    cr_assert_eq(late_nan(TP_CHANGE_SHIFT, false), 2);
    cr_assert_eq(late_nan(TP_CHANGE_SPIKE, true), 2); /* it had recovered */
}

/* Inf from the start is a mask; Inf after an iteration without is not. */
Test(incident, infinities_that_were_always_there_are_none)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 4);
    for (size_t i = 0; i < made.run.row_count; i++) {
        struct tp_row *row = &made.run.rows[i];
        if (row->label.counter == 10 ||
            (row->label.counter == 13 && row->label.iteration >= 90))
            row->counts.neg_inf = 7;
    }
    begin(&made);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[3]));
    cr_assert_eq(incident->from, 90);
    stages_clear(&made);
}

/* ... but it may be where a NaN comes from. */
Test(incident, infinities_before_a_nan_are_named)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, plain, 4);
    for (size_t i = 0; i < made.run.row_count; i++) {
        struct tp_row *row = &made.run.rows[i];
        row->counts.pos_inf = row->label.counter == 11;
        row->counts.nan = row->label.counter >= 12 ? 7 : 0;
    }
    begin(&made);
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert(is_origin(&made, incident, &plain[2]));
    stages_judge(&made, &findings);
    cr_assert(strstr(findings.rows[0].evidence,
                     "1 tensor before it always had Inf, the first L1 "));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(incident, runs_are_told_apart)
{
    struct stages made = {.run = {.rows = NULL}};
    add_tensors(&made.run, plain, 2);
    size_t half = made.run.row_count;
    add_tensors(&made.run, plain, 2);
    for (size_t i = half; i < made.run.row_count; i++)
        made.run.rows[i].label.quant_type = "mxfp8";
    begin(&made);
    struct tp_monitor *monitor = &made.monitor;
    for (size_t i = 0; i < monitor->series.count; i++) {
        bool other =
            strcmp(monitor->series.series[i].label.quant_type, "mxfp8") != 0;
        monitor->baselines[monitor->first[i]] =
            (struct tp_baseline){.center = 1,
                                 .spread = 0.1,
                                 .kind = TP_CHANGE_SHIFT,
                                 .first = other ? 40 : 42,
                                 .deviation = 50};
    }
    const struct tp_incident *incident = group(&made);
    cr_assert_eq(made.incidents.incident_count, 2);
    cr_assert_eq(incident[0].from, 40);
    cr_assert_eq(incident[1].from, 42);
    cr_assert_eq(incident[1].consequences, 1);
    stages_clear(&made);
}

/* Three weak changes at once bear each other out; two do not. */
Test(incident, weak_changes_bear_each_other_out)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    for (size_t i = 0; i < 4; i++)
        change(&made, &plain[i], i < 3 ? 20 : 90, TP_CHANGE_SHIFT)->weak = true;
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(findings.rows[0].consequences, 2);
    cr_assert_eq(findings.rows[1].level, TP_SEVERITY_LOW);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(incident, drifts_are_told_as_one)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_tensors(&made.run, plain, 4);
    begin(&made);
    for (size_t i = 0; i < 3; i++)
        change(&made, &plain[i], 20 + 9 * i, TP_CHANGE_DRIFT);
    change(&made, &plain[3], 30, TP_CHANGE_SPIKE);
    group(&made);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_eq(findings.rows[0].iteration, 20);
    cr_assert_eq(findings.rows[0].consequences, 2);
    cr_assert_eq(findings.rows[1].iteration, 30);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(findings.rows[i].level, TP_SEVERITY_MEDIUM);
    tp_findings_clear(&findings);
    stages_clear(&made);
}
