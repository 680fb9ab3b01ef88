/* SPDX-License-Identifier: MIT */
/*
 * What one rank has and the others have not. Ranks see different data but the
 * same model at the same time, so that trends and changes of the run cancel in
 * the ratio of a tensor's norm to that of the other ranks: what is left is
 * steady, or something is wrong with a rank. Copies of one tensor, weights
 * above all, stay equal to the last bit.
 *
 * Tensors that an incident changed are findings of that incident.
 *
 * The ratio is that to the median of all ranks, of two to the other one, and
 * has a baseline as any series. A mean over the ranks would be moved by the
 * very rank that is off. Equality is asked of four exact numbers, not of the
 * values, which are gone. Cost: O(n r log r) for n points on r ranks, and a
 * fit a rank.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "rules/rules.h"
#include "stats/quantile.h"

/* A rank that is off throughout is so by two binades, and the others are
 * within half of one. */
static const double FAR = 2, NEAR = 0.5;

enum {
    FEW = 8,   /* iterations that say nothing of a rank                      */
    PARTS = 8, /* of a run, for slow drifts                                  */
    LASTING = 20
};

/* What is said of a rank; the later ones are the milder. */
enum kind { COPIES, LEAVES, THROUGHOUT, KINDS };

/* One statement about one tensor. */
struct remark {
    enum kind kind;
    const struct tp_run_series *series; /* of the rank                    */
    size_t ranks;
    int64_t rank; /* -1: one of two, nobody knows which                   */
    size_t point; /* of the series                                        */
    int64_t iteration, last, counter;
    double ratio; /* as struct peers has it, at the end                   */
};

/* Series of one tensor on several ranks, at the iterations all have. */
struct peers {
    const struct tp_series_set *set;
    const struct tp_run_series **series;
    size_t ranks, count;
    int64_t *at;
    size_t *next;                             /* [ranks]                    */
    size_t *point;                            /* [ranks * count]            */
    double *ratio;                            /* [ranks * count]: log2      */
    double *sorted, *value, *floor, *scratch; /* of one rank or iteration */
};

static size_t point_of(const struct peers *p, size_t rank, size_t i)
{
    return p->point[rank * p->count + i];
}

static double l2_of(const struct peers *p, size_t rank, size_t i)
{
    size_t metric = tp_series_metric_by_name("l2_norm");
    return tp_series_values(p->set, p->series[rank],
                            metric)[point_of(p, rank, i)];
}

/* Finds the common iterations; of series sorted by iteration. */
static void align(struct peers *p)
{
    const struct tp_run_series *first = p->series[0];
    size_t most = first->count, count = 0, *next = p->next;
    memset(next, 0, p->ranks * sizeof *next);
    for (size_t i = 0; i < most; i++) {
        int64_t at = tp_series_at(p->set, first)[i];
        bool all = true;
        for (size_t rank = 0; rank < p->ranks; rank++) {
            const struct tp_run_series *series = p->series[rank];
            const int64_t *its = tp_series_at(p->set, series);
            while (next[rank] < series->count && its[next[rank]] < at)
                next[rank]++;
            all &= next[rank] < series->count && its[next[rank]] == at;
        }
        if (!all)
            continue;
        p->at[count] = at;
        for (size_t rank = 0; rank < p->ranks; rank++)
            p->point[rank * most + count] = next[rank];
        count++;
    }
    for (size_t rank = 1; rank < p->ranks; rank++)
        memmove(p->point + rank * count, p->point + rank * most,
                count * sizeof *p->point);
    p->count = count;
}

/* log2 of every norm over the median of the ranks, of two over the other's;
 * NaN where one is 0 or not finite. */
static void divide(struct peers *p)
{
    for (size_t i = 0; i < p->count; i++) {
        bool all = true;
        for (size_t rank = 0; rank < p->ranks; rank++) {
            double y = log2(l2_of(p, rank, i));
            p->ratio[rank * p->count + i] = p->sorted[rank] = y;
            all &= isfinite(y) != 0;
        }
        double middle = all ? tp_median(p->sorted, p->ranks) : NAN;
        for (size_t rank = 0; rank < p->ranks; rank++)
            p->ratio[rank * p->count + i] =
                (p->ratio[rank * p->count + i] - middle) *
                (p->ranks == 2 ? 2 : 1);
    }
}

static double median_ratio(const struct peers *p, size_t rank, size_t from,
                           size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        double ratio = p->ratio[rank * p->count + i];
        if (!isnan(ratio))
            p->value[n++] = ratio;
    }
    return tp_median(p->value, n);
}

static void set_remark(const struct peers *p, enum kind kind, size_t rank,
                       size_t i, struct remark *remark)
{
    *remark = (struct remark){.kind = kind,
                              .series = p->series[rank],
                              .ranks = p->ranks,
                              .rank = p->series[rank]->label.rank,
                              .point = point_of(p, rank, i),
                              .iteration = p->at[i],
                              .last = p->at[p->count - 1]};
    size_t rows, half = i + (p->count - i) / 2;
    remark->counter =
        tp_series_rows(p->set, p->series[rank], remark->point, &rows)[0]
            ->label.counter;
    remark->ratio = exp2(median_ratio(p, rank, half, p->count));
}

/* --- copies ----------------------------------------------------------- */

static size_t copies_of(const struct peers *p, size_t rank, size_t i)
{
    size_t n = 0;
    for (size_t k = 0; k < p->ranks; k++)
        n += tp_series_are_equal(p->set, p->series[rank], point_of(p, rank, i),
                                 p->series[k], point_of(p, k, i));
    return n;
}

/* Ranks that were equal in two iterations at least, and then are no more: the
 * one with the fewest copies at the first of them is to blame, if it is the
 * only one. */
static bool find_copies(const struct peers *p, struct remark *remark)
{
    size_t equal = 0, again = 0, worst = 0, fewest = SIZE_MAX, blamed = 0;
    while (equal < p->count && copies_of(p, 0, equal) == p->ranks)
        equal++;
    for (size_t i = equal; i < p->count; i++)
        again += copies_of(p, 0, i) == p->ranks;
    if (equal < 2 || equal == p->count || 2 * again > p->count - equal)
        return false;
    for (size_t rank = 0; rank < p->ranks; rank++) {
        size_t n = copies_of(p, rank, equal);
        if (n < fewest) {
            fewest = n;
            worst = rank;
            blamed = 0;
        }
        blamed += n == fewest;
    }
    set_remark(p, COPIES, worst, equal, remark);
    remark->rank = blamed == 1 ? remark->rank : -1;
    return true;
}

/* --- ratios ------------------------------------------------------------- */

/* What neighbouring ratios differ by. */
static double median_step(const struct peers *p, size_t rank)
{
    size_t n = 0;
    for (size_t i = 1; i < p->count; i++) {
        const double *ratio = &p->ratio[rank * p->count + i];
        if (!isnan(ratio[0] - ratio[-1]))
            p->value[n++] = fabs(ratio[0] - ratio[-1]);
    }
    return tp_median(p->value, n);
}

/*
 * A drift so slow that predictions follow it: medians of eighths of the run
 * that go one way, by a binade and by LASTING steps from point to point in all,
 * which a random walk of 1 000 points makes in one of 10^3 cases. It begins in
 * the first eighth that is off by more than such a step.
 */
static bool find_drifting(const struct peers *p, size_t rank, size_t *first)
{
    double step = median_step(p, rank), last = NAN, start = NAN, way = 0;
    *first = p->count;
    if (p->count < PARTS * FEW)
        return false;
    for (size_t part = 0; part < PARTS; part++) {
        size_t from = part * p->count / PARTS;
        double now = median_ratio(p, rank, from, (part + 1) * p->count / PARTS);
        if (part == 0)
            start = now;
        else if (way * (now - last) < -step || isnan(now))
            return false;
        if (*first == p->count && fabs(now - start) > step) {
            *first = from;
            way = now > start ? 1 : -1;
        }
        last = now;
    }
    return fabs(last - start) >= fmax(1, LASTING * step);
}

/* Whether the ratio of a rank leaves its level for good. */
static bool find_leaving(const struct peers *p, size_t rank, double tests,
                         struct remark *remark)
{
    struct tp_baseline baseline;
    size_t end = p->count < FEW ? p->count : FEW;
    double before = median_ratio(p, rank, 0, (p->count + 1) / 2);
    double after = median_ratio(p, rank, p->count - end, p->count);
    if (!(fabs(after - before) >= NEAR))
        return false; /* mostly so, and cheap to see */
    for (size_t i = 0; i < p->count; i++) {
        p->value[i] = exp2(p->ratio[rank * p->count + i]);
        p->floor[i] = 0;
    }
    const struct tp_baseline_series series = {.count = p->count,
                                              .at = p->at,
                                              .value = p->value,
                                              .floor = p->floor,
                                              .scale = TP_BASELINE_LOG,
                                              .steady = true};
    const struct tp_baseline_options options = {
        .alert_window = 1, .sigma = 3, .tests = tests};
    tp_baseline_fit(&series, &options, p->scratch, &baseline, NULL);
    size_t first = baseline.shown; /* it may drift, so not sooner */
    bool leaves = !baseline.weak && (baseline.kind == TP_CHANGE_SHIFT ||
                                     baseline.kind == TP_CHANGE_DRIFT);
    if (!leaves && !find_drifting(p, rank, &first))
        return false;
    set_remark(p, LEAVES, rank, first, remark);
    return true;
}

/* With two ranks both ratios are the same: what is to blame is the one whose
 * own norm moved more. */
static bool moved_less(const struct peers *p, size_t rank, size_t from)
{
    double moved[2];
    for (size_t k = 0; k < 2; k++)
        moved[k] = fabs(log2(l2_of(p, k, p->count - 1) /
                             l2_of(p, k, from > 0 ? from - 1 : 0)));
    return moved[rank] < moved[1 - rank];
}

/* Whether a rank is off throughout, and no other is. */
static bool find_throughout(const struct peers *p, size_t rank,
                            struct remark *remark)
{
    if (p->ranks < 3 || p->count < FEW)
        return false;
    for (size_t k = 0; k < p->ranks; k++) {
        double off = fabs(median_ratio(p, k, 0, p->count));
        if (k == rank ? !(off >= FAR) : !(off <= NEAR))
            return false;
    }
    for (size_t i = 0; i < p->count; i++) {
        if (!(fabs(p->ratio[rank * p->count + i]) >= FAR / 2))
            return false;
    }
    set_remark(p, THROUGHOUT, rank, 0, remark);
    return true;
}

/* What there is to say of a tensor: one thing at most. */
static bool judge(struct peers *p, double tests, struct remark *remark)
{
    if (find_copies(p, remark))
        return true;
    divide(p);
    for (size_t rank = 0; rank < p->ranks; rank++) {
        if (find_throughout(p, rank, remark))
            return true;
    }
    for (size_t rank = 0; rank < p->ranks; rank++) {
        if (!find_leaving(p, rank, tests, remark))
            continue;
        size_t from = 0;
        while (p->at[from] < remark->iteration)
            from++;
        if (p->ranks == 2 && moved_less(p, rank, from))
            continue;
        return true;
    }
    return false;
}

/* --- findings ----------------------------------------------------------- */

static bool is_told_together(const struct remark *a, const struct remark *b)
{
    return a->kind == b->kind && a->rank == b->rank &&
           strcmp(a->series->label.quant_type, b->series->label.quant_type) ==
               0;
}

/* Of the remarks of one finding, the first is shown: by iteration, then as the
 * tensors were saved. */
static int compare_remarks(const void *left, const void *right)
{
    const struct remark *a = left, *b = right;
    const struct tp_label *x = &a->series->label, *y = &b->series->label;
    int result = tp_order_int64(a->kind, b->kind);
    if (result == 0)
        result = strcmp(x->quant_type, y->quant_type);
    if (result == 0)
        result = tp_order_int64(a->rank, b->rank);
    if (result == 0)
        result = tp_order_int64(a->iteration, b->iteration);
    if (result == 0)
        result = tp_order_int64(a->counter, b->counter);
    return result ? result : tp_order_place(a->series, b->series);
}

static const char *evidence_for(const struct tp_rule_input *input,
                                const struct remark *remark, size_t others)
{
    const char *more =
        others == 0
            ? ""
            : tp_finding_text(input->findings,
                              "; so of %zu other tensor%s of %s", others,
                              others == 1 ? "" : "s",
                              remark->rank < 0 ? "these ranks" : "this rank");
    if (remark->kind == COPIES)
        return tp_finding_text(
            input->findings,
            "equal on all %zu ranks until here, and not from "
            "iteration %" PRId64 " to %" PRId64 "%s",
            remark->ranks, remark->iteration, remark->last, more);
    if (remark->kind == LEAVES)
        return tp_finding_text(
            input->findings,
            "l2_norm leaves %s, and is %.3g times that at last; each rank on "
            "its own looks like a trend%s",
            remark->ranks == 2
                ? "that of the other rank"
                : tp_finding_text(input->findings, "the median of %zu ranks",
                                  remark->ranks),
            remark->ratio, more);
    return tp_finding_text(
        input->findings,
        "l2_norm is %.3g times the median of %zu ranks in "
        "all iterations, %" PRId64 " to %" PRId64 "; the other ranks agree%s",
        remark->ratio, remark->ranks, remark->iteration, remark->last, more);
}

static enum tp_status add_finding(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  const struct remark *remark, size_t others,
                                  struct tp_error *err)
{
    static const char *const advice[KINDS] = {
        [COPIES] = "copies must stay equal: compare random seeds, the order "
                   "of reductions and the devices; load one checkpoint on all "
                   "ranks and look at the first step after it",
        [LEAVES] = "run this rank's step on another device with the same "
                   "data: if it is right there, suspect the device, else the "
                   "rank's data or code path",
        [THROUGHOUT] = "compare this rank's data, scaling and checkpoint shard "
                       "with the others'; where ranks hold different parts of "
                       "a model this may be as it should"};
    const struct tp_series_set *set = &input->monitor->series;
    struct tp_finding *finding;
    size_t rows;
    enum tp_status status = tp_finding_add(
        input->findings, rule,
        tp_series_rows(set, remark->series, remark->point, &rows)[0], &finding,
        err);
    if (status != TP_OK)
        return status;
    finding->level = TP_SEVERITY_MEDIUM;
    finding->rank = remark->rank;
    finding->iteration = remark->iteration;
    finding->metric = "l2_norm";
    finding->value =
        tp_series_values(set, remark->series,
                         tp_series_metric_by_name("l2_norm"))[remark->point];
    finding->excess = fabs(log2(remark->ratio));
    finding->consequences = (int64_t)others;
    finding->evidence = evidence_for(input, remark, others);
    finding->suggestion = advice[remark->kind];
    return TP_OK;
}

/* --- finding peers -------------------------------------------------------- */

/* By place, ordinal and rank: series of a place are next to each other. */
static int compare_peers(const void *left, const void *right)
{
    const struct tp_run_series *a = *(const struct tp_run_series *const *)left,
                               *b = *(const struct tp_run_series *const *)right;
    if (!tp_same_place(a->row, b->row))
        return tp_order_place(a, b);
    int result = tp_order_int64(a->ordinal, b->ordinal);
    if (result == 0)
        result = tp_order_int64(a->label.rank, b->label.rank);
    return result ? result : tp_order_place(a, b);
}

/* Room for the largest group of peers; zeroed members after a failure. */
static bool peers_new(const struct tp_series_set *set, size_t ranks,
                      struct peers *p)
{
    size_t most = tp_series_longest(set), all = ranks * most;
    *p = (struct peers){
        .set = set,
        .at = calloc(most, sizeof *p->at),
        .next = calloc(ranks, sizeof *p->next),
        .point = calloc(all, sizeof *p->point),
        .ratio = calloc(all, sizeof *p->ratio),
        .sorted = calloc(ranks, sizeof *p->sorted),
        .value = calloc(most, sizeof *p->value),
        .floor = calloc(most, sizeof *p->floor),
        .scratch = calloc(tp_baseline_scratch(most) + 1, sizeof *p->scratch)};
    return p->at && p->next && p->point && p->ratio && p->sorted && p->value &&
           p->floor && p->scratch;
}

static void peers_clear(struct peers *p)
{
    free(p->at);
    free(p->next);
    free(p->point);
    free(p->ratio);
    free(p->sorted);
    free(p->value);
    free(p->floor);
    free(p->scratch);
}

/* Whether an incident says more about one of them. */
static bool are_told(const struct tp_incidents *all, const struct peers *p)
{
    for (size_t rank = 0; rank < p->ranks; rank++) {
        size_t number = (size_t)(p->series[rank] - p->set->series);
        if (all->alarm_of && all->alarm_of[number] != TP_NONE)
            return true;
    }
    return false;
}

/* How many from the first on are of one tensor, one series a rank. */
static size_t group_size(const struct tp_run_series **sorted, size_t count)
{
    size_t n = 1;
    while (n < count && tp_series_are_peers(sorted[n - 1], sorted[n]))
        n++;
    return n;
}

/* All remarks of a run; returns how many. */
static size_t look(const struct tp_rule_input *input,
                   const struct tp_run_series **sorted, size_t count,
                   struct peers *p, struct remark *remarks)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i += p->ranks) {
        p->series = sorted + i;
        p->ranks = group_size(sorted + i, count - i);
        if (p->ranks < 2 || are_told(input->incidents, p))
            continue;
        align(p);
        if (p->count > 1 && p->series[0]->numel > 1)
            found += judge(p, input->monitor->options.tests, &remarks[found]);
    }
    return found;
}

enum tp_status tp_rule_ranks(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_series_set *set = &input->monitor->series;
    const struct tp_run_series **sorted =
        calloc(set->count + 1, sizeof *sorted);
    struct remark *remarks = calloc(set->count + 1, sizeof *remarks);
    struct peers p = {.set = set, .ranks = 1};
    size_t count = 0, most = 1;
    enum tp_status status = sorted && remarks ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < set->count && status == TP_OK; i++) {
        if (set->series[i].kind == TP_SERIES_TENSOR)
            sorted[count++] = &set->series[i];
    }
    if (status == TP_OK)
        qsort(sorted, count, sizeof *sorted, compare_peers);
    for (size_t i = 0, n; i < count; i += n) {
        n = group_size(sorted + i, count - i);
        most = n > most ? n : most;
    }
    if (status == TP_OK && most > 1 && !peers_new(set, most, &p))
        status = tp_fail_memory(err);
    if (status == TP_OK && most > 1) {
        size_t found = look(input, sorted, count, &p, remarks);
        qsort(remarks, found, sizeof *remarks, compare_remarks);
        for (size_t i = 0, end; i < found && status == TP_OK; i = end) {
            for (end = i + 1;
                 end < found && is_told_together(&remarks[i], &remarks[end]);)
                end++;
            status = add_finding(input, rule, &remarks[i], end - i - 1, err);
        }
    }
    peers_clear(&p);
    free(remarks);
    free(sorted);
    return status;
}
