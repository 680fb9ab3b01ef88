/* SPDX-License-Identifier: MIT */
/*
 * A change in plain numbers: what a metric is now, and mean and standard
 * deviation of what it was. The points before the change are taken as they
 * are, in the metric's own unit, so that what is printed can be checked by
 * hand; a fit knows trends and straightens the values, but its spread cannot
 * be recomputed by anyone. So that a trend does not blur "before", it is the
 * last WINDOW points; the same in every mode of --baseline.
 *
 * Of the metrics that changed the one that moved farthest is named first.
 * Magnitudes are compared by factors, shares by factors above one percent, a
 * mean by how many standard deviations of the elements it moved. Those that
 * moved about as far as the one that told the change best come after it, as
 * they mostly say the same. Cost: a look at each point of each metric.
 */
#include "rules/onset_change.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "series/flow.h"

enum {
    WINDOW = 16, /* points before, or after, as the fit takes              */
    ALSO = 2     /* metrics named after the first                          */
};

/* Binades: what moved less is not worth a word, and what is farther by less
 * is as far. */
static const double WORTH = 0.2, AS_FAR = 0.3;

/* How a metric is printed and compared. */
struct wording {
    const char *metric, *shown;
    bool percent;
    double weight; /* of its distance: powers count half, and what nobody
                      has a feeling for next to nothing                   */
};

static const struct wording wordings[] = {
    {"overflow_ratio", "overflow_ratio", true, 1},
    {"underflow_ratio", "underflow_ratio", true, 1},
    {"zero_ratio", "zero_ratio", true, 1},
    {"distortion", "distortion (noise over signal of the cast)", true, 0.5},
    {"drift", "drift (divergence from its usual values, in bits)", false, 0.02},
    {"layer_grad_ratio", "layer_grad_ratio (to the next layer)", false, 1},
};

static struct wording wording_of(size_t metric)
{
    const char *name = tp_series_metrics[metric].name;
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        if (!strcmp(wordings[i].metric, name))
            return wordings[i];
    }
    return (struct wording){name, name, false, 1};
}

/* --- what is usual ----------------------------------------------- */

/* What a metric was, in `count` points before its change. */
struct usual {
    double mean, std;
    double unit; /* what a mean's distance is counted in: the elements'
                    standard deviation                                   */
    size_t count;
    bool after; /* there were none before the change                      */
};

/* Which points are asked, [first, end) of a series; of those with a value the
 * last `most`, or the first of them. */
struct range {
    size_t first, end, most;
    bool from_end;
};

/* Mean and standard deviation (n - 1) of a range's values, over their largest
 * magnitude so that no square overflows. */
static struct usual measure(const double *values, struct range range)
{
    struct usual usual = {.count = 0};
    double largest = 0, sum = 0, squares = 0;
    size_t low = range.end, high = range.end;
    for (size_t k = range.first; k < range.end && usual.count < range.most;
         k++) {
        size_t i = range.from_end ? range.end - 1 - (k - range.first) : k;
        if (!isfinite(values[i]))
            continue;
        low = usual.count == 0 || i < low ? i : low;
        high = usual.count == 0 || i > high ? i : high;
        largest = fmax(largest, fabs(values[i]));
        usual.count++;
    }
    if (usual.count == 0 || largest == 0)
        return usual;
    for (size_t i = low; i <= high; i++)
        sum += isfinite(values[i]) ? values[i] / largest : 0;
    double mean = sum / (double)usual.count;
    for (size_t i = low; i <= high; i++) {
        double away = isfinite(values[i]) ? values[i] / largest - mean : 0;
        squares += away * away;
    }
    usual.mean = mean * largest;
    if (usual.count > 1)
        usual.std = sqrt(squares / (double)(usual.count - 1)) * largest;
    if (usual.std <= 1e-12 * fabs(usual.mean)) /* rounding of a constant */
        usual.std = 0;
    return usual;
}

/* Points of a series up to an iteration, that included. */
static size_t points_until(const struct tp_onset *s, int64_t iteration)
{
    return iteration == INT64_MAX
               ? s->series->count
               : tp_series_point_at(&s->input->monitor->series, s->series,
                                    iteration + 1);
}

/* What the whole run says of a metric of the origin's series. */
static const struct tp_baseline *baseline_of(const struct tp_onset *s,
                                             size_t metric)
{
    const struct tp_monitor *monitor = s->input->monitor;
    return tp_monitor_change(
        monitor, (size_t)(s->series - monitor->series.series), metric);
}

/* Where "before" begins: of a later change of a series, when the last one was
 * there or, if that passed, over. */
static size_t first_before(const struct tp_onset *s)
{
    const struct tp_incidents *all = s->input->incidents;
    size_t first = 0;
    for (size_t i = 0; s->alarm->later && &all->alarms[i] != s->alarm; i++) {
        const struct tp_alarm *alarm = &all->alarms[i];
        if (tp_alarm_series(all, i) == s->series)
            first = alarm->kind == TP_CHANGE_SPIKE
                        ? points_until(s, alarm->last)
                        : alarm->shown;
    }
    return first;
}

static struct usual usual_of(const struct tp_onset *s, size_t metric)
{
    const double *values =
        tp_series_values(&s->input->monitor->series, s->series, metric);
    const struct tp_baseline *baseline = baseline_of(s, metric);
    int64_t after = s->alarm->after;
    if (baseline->kind != TP_CHANGE_NONE && baseline->onset_from < after &&
        !s->alarm->later)
        after = baseline->onset_from;
    struct usual usual = measure(
        values, (struct range){first_before(s), points_until(s, after), WINDOW,
                               true});
    if (usual.count > 0)
        return usual;
    usual = measure(values, (struct range){points_until(s, s->alarm->last),
                                           s->series->count, WINDOW, false});
    usual.after = true;
    return usual;
}

static struct usual find_usual(const struct tp_onset *s, size_t metric)
{
    struct usual usual = usual_of(s, metric);
    if (metric == tp_series_metric_by_name("mean"))
        usual.unit = usual_of(s, tp_series_metric_by_name("std")).mean;
    else
        usual.unit = 1 + fabs(usual.mean);
    return usual;
}

/* --- how far something moved ------------------------------------- */

static double ratio_distance(double value, double usual)
{
    const double percent = 0.01;
    return fabs(log2((value + percent) / (usual + percent)));
}

/* Binades, or what is about as much. */
static double distance(size_t metric, double value, const struct usual *usual)
{
    const struct tp_series_metric *its = &tp_series_metrics[metric];
    double weight = wording_of(metric).weight, moved = NAN;
    if (!isfinite(value) || usual->count == 0)
        return 0;
    if (its->scale == TP_BASELINE_RATIO)
        moved = ratio_distance(value, usual->mean);
    else if (its->scale == TP_BASELINE_LOG)
        moved = fabs(log2(value / usual->mean)); /* from or to 0: infinite */
    else if (usual->unit > 0)
        moved = log2(1 + fabs(value - usual->mean) / usual->unit);
    return isnan(moved) ? 0 : weight * moved;
}

/* A metric that changed. */
struct moved {
    size_t metric;
    double value, distance;
    struct usual usual;
};

/* The point that is told: the first one beyond the limit; where a change
 * grows, that is after the first bad one. */
static size_t point_told(const struct tp_onset *s)
{
    return s->alarm->shown > s->alarm->point ? s->alarm->shown
                                             : s->alarm->point;
}

static struct moved moved_at(const struct tp_onset *s, size_t metric,
                             size_t point)
{
    struct moved moved = {.metric = metric,
                          .value = tp_series_values(&s->input->monitor->series,
                                                    s->series, metric)[point],
                          .usual = find_usual(s, metric)};
    moved.distance = distance(metric, moved.value, &moved.usual);
    return moved;
}

static bool did_change(const struct tp_onset *s, const struct moved *moved)
{
    return baseline_of(s, moved->metric)->kind != TP_CHANGE_NONE &&
           moved->distance >= WORTH &&
           !(tp_series_metrics[moved->metric].only_more &&
             moved->value < moved->usual.mean);
}

/* What changed, the metric first that moved farthest; at least the one that
 * tells the change best. Returns how many. */
static size_t find_moved(const struct tp_onset *s,
                         struct moved list[TP_SERIES_METRICS])
{
    size_t count = 1, best = s->alarm->metric;
    list[0] = moved_at(s, best, point_told(s));
    for (size_t k = 0; k < s->series->metric_count; k++) {
        size_t metric = s->series->metric + k;
        struct moved its = moved_at(s, metric, point_told(s));
        if (metric == best || !did_change(s, &its))
            continue;
        size_t i = count++;
        for (; i > 0; i--) {
            double room = list[i - 1].metric == best ? AS_FAR : 0;
            if (its.distance <= list[i - 1].distance + room)
                break;
            list[i] = list[i - 1];
        }
        list[i] = its;
    }
    return count;
}

/* --- the words ----------------------------------------------- */

/* Digits that show a level to a tenth of its spread, 4 to 9. */
static int digits_of(const struct usual *usual)
{
    double ratio = usual->std > 0 ? fabs(usual->mean) / usual->std : 0;
    int digits = ratio > 1e3 ? (int)ceil(log10(ratio)) + 1 : 4;
    return digits < 9 ? digits : 9;
}

static void add_value(size_t metric, double value, const struct usual *usual,
                      struct tp_text *text)
{
    bool percent = wording_of(metric).percent;
    tp_text_add(text, "%.*g%s", digits_of(usual), percent ? 100 * value : value,
                percent ? " %" : "");
}

/* "1.031 \u00b1 0.0077", "0.1 \u00b1 0.05 %" */
static void add_level(size_t metric, const struct usual *usual,
                      struct tp_text *text)
{
    bool percent = wording_of(metric).percent;
    double times = percent ? 100 : 1;
    tp_text_add(text, "%.*g", digits_of(usual), times * usual->mean);
    if (usual->std > 0)
        tp_text_add(text, " \u00b1 %.2g", times * usual->std);
    tp_text_add(text, percent ? " %%" : "");
}

/* ", was 1.031 \u00b1 0.0077 in the 32 iterations before" */
static void add_usual(const struct tp_onset *s, size_t metric,
                      const struct usual *usual, struct tp_text *text)
{
    bool several = usual->count > 1;
    if (usual->count == 0)
        return;
    tp_text_add(text, usual->after ? ", is " : ", was ");
    add_level(metric, usual, text);
    tp_text_add(text,
                several && usual->std == 0 ? " in each of the" : " in the");
    if (several)
        tp_text_add(text, " %zu iterations", usual->count);
    else
        tp_text_add(text, " one iteration");
    if (!usual->after && points_until(s, s->alarm->after) < s->alarm->point)
        /* it grew from some iteration on, nobody knows which */
        tp_text_add(text, " until %" PRId64, s->alarm->after);
    else
        tp_text_add(text, usual->after ? " after" : " before");
}

static void add_factor(const struct moved *moved, struct tp_text *text)
{
    double factor = moved->value / moved->usual.mean;
    if (tp_series_metrics[moved->metric].scale != TP_BASELINE_LOG ||
        !(moved->usual.mean > 0) || !isfinite(factor) || factor <= 0)
        return;
    if (factor > 0.5 && factor < 2)
        tp_text_add(text, ": %.2g %% %s", 100 * fabs(factor - 1),
                    factor < 1 ? "less" : "more");
    else
        tp_text_add(text, ": %.3g times as large", factor);
}

/* What became of a change: its farthest point, and the last one that is off by
 * half as much in the same direction. */
static void find_later(const struct tp_onset *s, const struct moved *told,
                       size_t *worst, size_t *last)
{
    const double *values =
        tp_series_values(&s->input->monitor->series, s->series, told->metric);
    double most = told->distance + WORTH;
    bool up = told->value > told->usual.mean;
    *worst = *last = point_told(s);
    for (size_t i = *last + 1; i < s->series->count; i++) {
        double its = distance(told->metric, values[i], &told->usual);
        if ((values[i] > told->usual.mean) != up)
            continue;
        *last = its >= told->distance / 2 ? i : *last;
        if (its > most) {
            most = its;
            *worst = i;
        }
    }
}

static void add_later(const struct tp_onset *s, const struct moved *told,
                      struct tp_text *text)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    const int64_t *at = tp_series_at(set, s->series);
    size_t from = point_told(s), end = s->series->count - 1, worst, last;
    find_later(s, told, &worst, &last);
    if (worst != from) {
        tp_text_add(text, "; %s to ",
                    told->value > told->usual.mean ? "up" : "down");
        add_value(told->metric,
                  tp_series_values(set, s->series, told->metric)[worst],
                  &told->usual, text);
        tp_text_add(text, " in iteration %" PRId64, at[worst]);
    }
    if (s->alarm->kind == TP_CHANGE_SPIKE && last == from && from < end)
        tp_text_add(text, "; in this iteration only");
    else if (s->alarm->kind == TP_CHANGE_SPIKE && last < end)
        tp_text_add(text, "; the last such value in iteration %" PRId64,
                    at[last]);
    else if (s->alarm->kind == TP_CHANGE_SHIFT && last == end && worst != end &&
             from < end)
        tp_text_add(text, "; still off in the last iteration, %" PRId64,
                    at[end]);
}

/* Whether a magnitude changed by about the same factor as the first. */
static bool is_alike(const struct moved *its, const struct moved *first)
{
    return tp_series_metrics[its->metric].scale == TP_BASELINE_LOG &&
           tp_series_metrics[first->metric].scale == TP_BASELINE_LOG &&
           its->usual.mean > 0 && first->usual.mean > 0 &&
           fabs(log2(its->value / its->usual.mean) -
                log2(first->value / first->usual.mean)) < WORTH;
}

static void add_alike(const struct moved *moved, size_t count,
                      struct tp_text *text)
{
    size_t named = 0;
    for (size_t i = 1; i < count; i++) {
        if (is_alike(&moved[i], &moved[0]))
            tp_text_add(text, "%s%s", named++ ? " and " : "; ",
                        wording_of(moved[i].metric).shown);
    }
    tp_text_add(text, named ? " alike" : "");
}

static void add_others(const struct moved *moved, size_t count,
                       struct tp_text *text)
{
    size_t named = 0;
    for (size_t i = 1; i < count && named < ALSO; i++) {
        if (is_alike(&moved[i], &moved[0]))
            continue;
        tp_text_add(text, "%s%s ", named++ ? ", " : "; also ",
                    wording_of(moved[i].metric).shown);
        add_value(moved[i].metric, moved[i].value, &moved[i].usual, text);
        tp_text_add(text, moved[i].usual.after ? " (is " : " (was ");
        add_level(moved[i].metric, &moved[i].usual, text);
        tp_text_add(text, ")");
    }
}

/* How sure it is: what the change was found by. */
static void add_sigmas(const struct tp_onset *s, const struct moved *first,
                       struct tp_text *text)
{
    const struct tp_alarm *alarm = s->alarm;
    const struct tp_baseline_options *options = &s->input->monitor->options;
    struct usual usual = find_usual(s, alarm->metric);
    bool log = s->metric->scale == TP_BASELINE_LOG;
    if (alarm->weak)
        tp_text_add(text, "; from few iterations");
    else if (isfinite(alarm->deviation) && usual.std > 0) {
        bool grows = alarm->deviation < options->sigma &&
                     isfinite(alarm->worst) && alarm->worst > alarm->deviation;
        tp_text_add(text, "; %s%s%s%.3g\u03c3 off%s",
                    first->metric == alarm->metric ? "" : s->metric->name,
                    first->metric == alarm->metric ? "" : " is ",
                    grows ? "up to " : "",
                    grows ? alarm->worst : alarm->deviation,
                    log ? " on a logarithmic scale" : "");
    }
}

/* --- zeros ----------------------------------------------- */

static bool all_zero(const struct tp_onset *s, size_t point, uint64_t *elements)
{
    size_t count;
    uint64_t zero = 0;
    const struct tp_row *const *rows =
        tp_series_rows(&s->input->monitor->series, s->series, point, &count);
    *elements = 0;
    for (size_t i = 0; i < count; i++) {
        zero += rows[i]->counts.zero;
        *elements += rows[i]->counts.numel;
    }
    return *elements > 0 && zero == *elements;
}

/* "all 512 elements zero from iteration 32 on, l2_norm was ..."; false: they
 * are not, or always were. */
static bool add_zeros(const struct tp_onset *s, struct tp_text *text)
{
    const int64_t *at = tp_series_at(&s->input->monitor->series, s->series);
    size_t norm = tp_series_metric_by_name("l2_norm"), point = point_told(s);
    uint64_t elements, later;
    if (s->series->kind != TP_SERIES_TENSOR || !all_zero(s, point, &elements))
        return false;
    struct usual usual = find_usual(s, norm);
    if (!(usual.mean > 0))
        return false;
    size_t end = point + 1;
    while (end < s->series->count && all_zero(s, end, &later))
        end++;
    tp_text_add(text, "all %" PRIu64 " elements zero", elements);
    if (end == s->series->count && end - point > 1)
        tp_text_add(text, " from iteration %" PRId64 " to the last, %" PRId64,
                    at[point], at[end - 1]);
    else if (end - point > 1)
        tp_text_add(text, " in iterations %" PRId64 " to %" PRId64, at[point],
                    at[end - 1]);
    else
        tp_text_add(text, " in iteration %" PRId64, at[point]);
    tp_text_add(text, ", l2_norm");
    struct tp_text level = {.data = NULL};
    add_usual(s, norm, &usual, &level);
    const char *words = tp_text_get(&level);
    tp_text_add(text, "%s", *words == ',' ? words + 1 : words);
    text->failed |= level.failed;
    tp_text_clear(&level);
    return true;
}

/* --- NaN and Inf ----------------------------------------------- */

void tp_onset_add_nonfinite(const struct tp_row *row, struct tp_text *text)
{
    uint64_t nan = row->counts.nan, inf = tp_counts_infinite(&row->counts),
             all = row->counts.numel;
    if (nan && inf)
        tp_text_add(text,
                    "%" PRIu64 " NaN and %" PRIu64 " Inf among %" PRIu64
                    " elements",
                    nan, inf, all);
    else if (nan + inf == all)
        tp_text_add(text, "all %" PRIu64 " element%s %s", all,
                    all == 1 ? "" : "s", nan ? "NaN" : "Inf");
    else
        tp_text_add(text, "%" PRIu64 " of %" PRIu64 " elements %s", nan + inf,
                    all, nan ? "NaN" : "Inf");
}

static bool is_clean(const struct tp_onset *s, size_t point)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(&s->input->monitor->series, s->series, point, &count);
    for (size_t i = 0; i < count; i++) {
        if (tp_counts_nonfinite(&rows[i]->counts))
            return false;
    }
    return true;
}

/* That there were none, and how large the values had become. */
static void add_clean(const struct tp_onset *s, struct tp_text *text)
{
    const struct tp_series_set *set = &s->input->monitor->series;
    size_t largest = tp_series_metric_by_name("abs_max"), clean = 0;
    size_t point = s->alarm->point;
    while (clean < point && is_clean(s, point - 1 - clean))
        clean++;
    if (clean == 0)
        return;
    tp_text_add(text, ", none in the ");
    if (clean > 1)
        tp_text_add(text, "%zu iterations before", clean);
    else
        tp_text_add(text, "iteration before");
    double before = tp_series_values(set, s->series, largest)[point - 1];
    if (isfinite(before))
        tp_text_add(text,
                    "; abs_max %.4g in iteration %" PRId64 ", the last "
                    "without",
                    before, tp_series_at(set, s->series)[point - 1]);
}

/* --- all together ----------------------------------------------- */

bool tp_onset_drifts(const struct tp_onset *onset)
{
    return onset->alarm->kind == TP_CHANGE_DRIFT;
}

bool tp_onset_is_shared(const struct tp_onset *onset)
{
    return onset->series->kind == TP_SERIES_SHARED;
}

void tp_onset_usual(const struct tp_onset *onset, double *mean, double *std)
{
    const struct usual usual = find_usual(onset, onset->alarm->metric);
    *mean = usual.count > 0 ? usual.mean : NAN;
    *std = usual.count > 1 ? usual.std : NAN;
}

void tp_onset_add_change(const struct tp_onset *s, const struct tp_row *row,
                         struct tp_text *text)
{
    struct moved moved[TP_SERIES_METRICS];
    if (s->alarm->nonfinite) {
        tp_onset_add_nonfinite(row, text);
        add_clean(s, text);
        return;
    }
    if (add_zeros(s, text))
        return;
    size_t count = find_moved(s, moved), told = point_told(s);
    tp_text_add(text, "%s ", wording_of(moved[0].metric).shown);
    add_value(moved[0].metric, moved[0].value, &moved[0].usual, text);
    if (told > s->alarm->point)
        tp_text_add(text, " in iteration %" PRId64,
                    tp_series_at(&s->input->monitor->series, s->series)[told]);
    add_usual(s, moved[0].metric, &moved[0].usual, text);
    add_factor(&moved[0], text);
    if (tp_onset_drifts(s))
        tp_text_add(text, "; it moves slowly");
    add_later(s, &moved[0], text);
    add_alike(moved, count, text);
    add_others(moved, count, text);
    add_sigmas(s, &moved[0], text);
}
