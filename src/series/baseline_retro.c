/* SPDX-License-Identifier: MIT */
/*
 * Baselines of a whole run.
 *
 * Values are straightened (log2 of magnitudes, arcsine of shares). At every
 * point the value is predicted from the last 16 healthy points before it: by a
 * line through the medians of their older and their newer half, or by the mean
 * of both where a run has no trend; so that the level and a slow trend are
 * followed and single outliers do nothing. The spread of such predictions, 1,
 * 2, 4 and 8 points ahead, is measured over the whole run by a low quantile of
 * their absolute errors, which a fault in half of the points hardly moves;
 * where the run is rougher than elsewhere the local spread counts.
 *
 * A change is a run of 1 to 8 points on one side of their prediction that is
 * too unlikely together. Training noise is heavy-tailed: an error of z
 * spreads has the probability of Student's t with 5 degrees of freedom, or
 * with more where the errors of many series of the same kind, or of a long one,
 * show that their tails are lighter (baseline_tails.h). The product of the
 * probabilities is judged as Fisher combines them, with fewer degrees of
 * freedom as far as neighbours hang together. The limit is divided by
 * everything that was tried (Bonferroni): series, points, lengths and scales,
 * so that the expected number of false alarms of a healthy run is at most
 * FALSE_ALARMS for noise around a level or a trend. (What wanders, a random
 * walk or noise of a correlation of 0.9, is neither: of 40 to 120 points up to
 * 4 in 10^4 such series seem to change.)
 *
 * Each side of the noise is judged by its own tails. A trend that is steep
 * flattens sooner or later: what lies between its line and the level it came
 * from is no error.
 *
 * The price is power; the table of the manual (make power) says how much. A
 * series that falls by orders of magnitude within 40 points hides nearly
 * everything. tests/unit/series/test_baseline.c measures rate and power.
 *
 * Where that is asked for, a point that lies apart from all others is a change,
 * too (baseline_lone.c).
 *
 * Points that alarmed are left out, and everything is done again until
 * nothing moves. The same is done on medians of 4 and of 16 points, where
 * small shifts and slow drifts show that single points do not. The first
 * points, which have nothing before them, are judged by those after them.
 */
#include "series/baseline_retro.h"

#include <math.h>
#include <string.h>

#include "series/baseline_lone.h"
#include "series/baseline_mark.h"
#include "series/baseline_rise.h"
#include "series/baseline_zeros.h"
#include "stats/quantile.h"

enum {
    FIRM = TP_LINE_FIRM,
    FIRM_COARSE = 12, /* medians need more: curves bend more there        */
    WINDOW = TP_LINE_WINDOW,
    START = 4 * WINDOW, /* points that the first ones are judged by        */
    SCALES = 3          /* 1, 4 and 16 points                               */
};

/* Expected false alarms of a healthy run. */
static const double FALSE_ALARMS = 0.02;

/* Spreads that every point of a change is away from its baseline, unless
 * --sigma asks for more. */
static const double OUTSIDE = 3;

/* Spreads that growth reaches within a window, and drifts do not. */
static const double SOON = 8;

/* What is at most this part of the points is few. */
enum { FEW = 8 };

/* A jump is so many times what levels differ by without one. */
static const double STEP = 4;

/* --- zeros, infinities, few points ------------------------------------- */

/*
 * Points that have no place on the scale. A magnitude that becomes zero for
 * good has vanished; zeros by chance are how sparse gradients look, and are
 * left out. An infinite value is bad wherever it is.
 */
static size_t find_special(const struct tp_baseline_series *series,
                           const uint8_t *by_chance, enum tp_change *kind)
{
    size_t n = series->count, last_alive = n, alive = 0, zeros = 0;
    *kind = TP_CHANGE_NONE;
    for (size_t i = 0; i < n; i++) {
        if (isinf(series->value[i])) {
            *kind = TP_CHANGE_SHIFT;
            return i;
        }
        if (series->value[i] != 0 && !isnan(series->value[i])) {
            alive++;
            zeros = 0;
            last_alive = i;
        } else if (series->value[i] == 0 && last_alive != n) {
            zeros++;
        }
    }
    if (series->scale == TP_BASELINE_LOG && zeros > 1 && alive >= 3 &&
        !by_chance[n - 1]) {
        *kind = TP_CHANGE_VANISH;
        return last_alive + 1;
    }
    return n;
}

/* With fewer than 2 * FIRM points, of which a fault may be nearly half, only a
 * change by factors is worth a word: three binades, a third of a share's
 * range, or ten spreads, and nothing like it before. */
static size_t find_weak(const struct tp_points *p, enum tp_baseline_scale scale,
                        double *center, double *spread)
{
    const double least[] = {[TP_BASELINE_LOG] = 3,
                            [TP_BASELINE_LINEAR] = 0,
                            [TP_BASELINE_RATIO] = 0.33};
    for (size_t i = 2; i < p->count; i++) {
        double low = p->y[0], high = p->y[0];
        for (size_t k = 1; k < i; k++) {
            low = fmin(low, p->y[k]);
            high = fmax(high, p->y[k]);
        }
        *center = (low + high) / 2;
        *spread = fmax(fmax((high - low) / 2, p->floor[i]),
                       scale == TP_BASELINE_LOG ? 0.25 : 1e-12);
        double away = fabs(p->y[i] - *center);
        if (away > 10 * *spread && away > least[scale])
            return i;
    }
    return p->count;
}

/* --- the whole --------------------------------------------------------- */

/* The smallest change that matters: half a binade, a quarter of a percent of
 * elements where there were none. */
static double least_change(enum tp_baseline_scale scale)
{
    return scale == TP_BASELINE_LOG     ? 0.5
           : scale == TP_BASELINE_RATIO ? 0.05
                                        : 0;
}

/* Room for n points: eleven numbers each. */
static struct tp_points points_in(double *room, size_t n)
{
    return (struct tp_points){.count = n,
                              .at = room,
                              .y = room + n,
                              .floor = room + 2 * n,
                              .index = room + 3 * n,
                              .bad = room + 4 * n,
                              .level = room + 5 * n,
                              .slope = room + 6 * n,
                              .mid = room + 7 * n,
                              .room = room + 8 * n,
                              .marks = room + 9 * n,
                              .even = room + 10 * n};
}

/* Lays the valid points out in scratch memory, without zeros by chance, where
 * these are known. */
static struct tp_points lay_out(const struct tp_baseline_series *series,
                                const uint8_t *by_chance, double *scratch)
{
    size_t n = series->count;
    struct tp_points p = points_in(scratch, n);
    p.count = 0;
    p.matters = least_change(series->scale);
    for (size_t i = 0; i < n; i++) {
        double y = tp_baseline_straight(series->scale, series->value[i]);
        if (!isfinite(y) || (by_chance && by_chance[i]))
            continue;
        p.at[p.count] = (double)series->at[i];
        p.y[p.count] = y;
        p.floor[p.count] = tp_baseline_floor(series, i);
        p.index[p.count++] = (double)i;
    }
    return p;
}

/* Medians of `fold` points each, behind what `from` uses of the scratch. */
static struct tp_points fold_points(const struct tp_points *from, size_t fold,
                                    double *scratch)
{
    size_t n = from->count / fold;
    struct tp_points p = points_in(scratch, n);
    p.matters = from->matters;
    for (size_t i = 0; i < n; i++) {
        double values[WINDOW];
        for (size_t k = 0; k < fold; k++)
            values[k] = from->y[i * fold + k];
        p.y[i] = tp_line_median(values, fold);
        p.at[i] = (from->at[i * fold] + from->at[i * fold + fold - 1]) / 2;
        p.floor[i] = from->floor[i * fold];
        p.index[i] = (double)(i * fold);
    }
    return p;
}

static size_t first_bad(const struct tp_points *p)
{
    size_t i = 0;
    while (i < p->count && p->bad[i] == 0)
        i++;
    return i;
}

/*
 * The line through the healthy points before one, and their spread; at the
 * start of a series their level after it.
 */
static struct tp_line line_before(const struct tp_points *p, size_t point,
                                  double *local)
{
    struct tp_history history = tp_mark_history(p, p->bad, point);
    bool none = history.count < 2;
    if (none)
        history.count = 0;
    for (size_t i = 0; none && i < p->count && history.count < WINDOW; i++) {
        if (p->bad[i] == 0 || p->count < 2)
            tp_line_remember(p, &history, i);
    }
    if (history.count == 0)
        tp_line_remember(p, &history, 0);
    struct tp_line line = tp_line_fit(p, &history);
    if (none)
        line.slope = 0;
    *local = tp_line_spread(p, &history, &line);
    return line;
}

/* The split between [low, high] that parts two levels best. */
static size_t best_split(const struct tp_points *p, const struct tp_line *line,
                         size_t low, size_t high)
{
    size_t best = low,
           end = high + WINDOW < p->count ? high + WINDOW : p->count;
    double after[2 * WINDOW], least = INFINITY;
    for (size_t split = low; split <= high && split < end; split++) {
        size_t n = end - split < 2 * WINDOW ? end - split : 2 * WINDOW;
        memcpy(after, p->y + split, n * sizeof *after);
        double level = tp_line_median(after, n), cost = 0;
        for (size_t i = low; i < end; i++)
            cost += fabs(p->y[i] -
                         (i < split ? tp_line_predict(line, p->at[i]) : level));
        if (cost < least) {
            least = cost;
            best = split;
        }
    }
    return best;
}

/* Marks what a change at a coarse scale means for single points. */
static void refine(struct tp_points *p, const struct tp_points *coarse,
                   size_t fold)
{
    size_t at = first_bad(coarse), blocks = at;
    size_t low = at > 0 ? (at - 1) * fold : 0, high = (at + 1) * fold;
    if (high > p->count)
        high = p->count;
    double local;
    struct tp_line line = line_before(p, low > FIRM ? low : at * fold, &local);
    size_t split = best_split(p, &line, low, high - 1);
    while (blocks < coarse->count && coarse->bad[blocks] != 0)
        blocks++;
    size_t end = blocks == coarse->count ? p->count : blocks * fold;
    for (size_t i = split; i < end; i++)
        p->bad[i] = 1;
}

/* What a change is that was described. One that only medians show, and that
 * begins small against what comes of it, drifts, unless it is far off so soon.
 */
static enum tp_change kind_of(const struct tp_points *p, size_t first,
                              size_t fold, const struct tp_baseline *b)
{
    size_t last = p->count - 1;
    if (p->bad[last] == 0)
        return TP_CHANGE_SPIKE;
    if (fold > 1 && b->later < SOON &&
        (b->deviation < 5 || b->deviation < b->worst / 3))
        return TP_CHANGE_DRIFT;
    return first == last ? TP_CHANGE_SPIKE : TP_CHANGE_SHIFT;
}

/* The band of every point: what is outside may be part of a change. */
static void fill_trace(const struct tp_baseline_series *series,
                       const struct tp_points *p,
                       const struct tp_spreads *spreads, double wide,
                       const struct tp_baseline_trace *trace)
{
    struct tp_history history = {.count = 0};
    size_t k = 0;
    double level = NAN, spread = NAN;
    for (size_t i = 0; i < series->count; i++) {
        bool valid = k < p->count && (size_t)p->index[k] == i;
        if (valid && history.count >= 2) {
            struct tp_line line = tp_line_fit(p, &history);
            level = tp_line_predict(&line, p->at[k]);
            spread = fmax(tp_mark_spread(p, spreads, &line, k),
                          tp_line_spread(p, &history, &line));
        }
        if (trace->expected)
            trace->expected[i] = tp_baseline_bent(series->scale, level);
        if (trace->spread)
            trace->spread[i] = tp_baseline_width(series->scale, level, spread);
        if (trace->low)
            trace->low[i] =
                tp_baseline_bent(series->scale, level - wide * spread);
        if (trace->high)
            trace->high[i] =
                tp_baseline_bent(series->scale, level + wide * spread);
        if (valid && p->bad[k] == 0)
            tp_line_remember(p, &history, k);
        k += valid;
    }
}

/* The healthy level and its spread where a change begins, or at the end, and
 * how far off the change is. */
static void describe(const struct tp_baseline_series *series,
                     const struct tp_points *p,
                     const struct tp_spreads *spreads, size_t at,
                     struct tp_baseline *b)
{
    double local;
    struct tp_line line = line_before(p, at, &local);
    size_t near = at < p->count ? at : p->count - 1;
    double level = tp_line_predict(&line, p->at[near]);
    double spread = fmax(tp_mark_spread(p, spreads, &line, near), local);
    b->center = tp_baseline_bent(series->scale, level);
    b->spread = tp_baseline_width(series->scale, level, spread);
    if (at == p->count)
        return;
    b->worst = 0;
    for (size_t i = at; i < p->count; i++) {
        double z = fabs(p->y[i] - tp_line_predict(&line, p->at[i])) / spread;
        if (p->bad[i] != 0)
            b->worst = fmax(b->worst, z);
    }
    b->deviation = fabs(p->y[at] - level) / spread;
    size_t soon = at + WINDOW < p->count ? at + WINDOW : p->count - 1;
    b->later = fabs(p->y[soon] - tp_line_predict(&line, p->at[soon])) / spread;
}

/* Fills the baseline from the marks. */
static void conclude(const struct tp_baseline_series *series,
                     struct tp_points *p, const struct tp_spreads *spreads,
                     size_t fold, struct tp_baseline *b)
{
    struct tp_rise rise;
    size_t at = first_bad(p);
    describe(series, p, spreads, at, b);
    if (at == p->count)
        return;
    b->kind = kind_of(p, at, fold, b);
    b->first = b->shown = (size_t)p->index[at];
    size_t before = at > 0 ? (size_t)p->index[at - 1] : b->first;
    size_t early = fold > 1 && b->first > fold ? b->first - fold : before;
    b->onset_from = series->at[early < before ? early : before];
    b->onset_to = series->at[b->first];
    if (b->weak || b->kind == TP_CHANGE_DRIFT ||
        !tp_rise_find(p, spreads, at, &rise))
        return;
    for (size_t i = rise.first; i < at; i++)
        p->bad[i] = 1;
    describe(series, p, spreads, rise.first, b);
    b->first = (size_t)p->index[rise.first];
    b->onset_from = series->at[(size_t)p->index[rise.earliest - 1]];
    b->onset_to = series->at[(size_t)p->index[rise.latest]];
}

static void conclude_special(const struct tp_baseline_series *series,
                             size_t first, enum tp_change kind,
                             struct tp_baseline *b)
{
    b->kind = kind;
    b->first = b->shown = first;
    b->onset_to = series->at[first];
    b->onset_from = first > 0 ? series->at[first - 1] : b->onset_to;
    b->deviation = b->worst = INFINITY;
    b->weak = series->count < 2 * FIRM;
}

/* Looks at medians of 4, then of 16 points; returns how many points a change
 * was found in, 1 if there is none. */
static size_t look_coarser(struct tp_points *p, struct tp_mark_rules rules,
                           double *room)
{
    for (size_t fold = 4; fold <= 16; fold *= 4) {
        struct tp_points coarse = fold_points(p, fold, room);
        if (coarse.count <= FIRM_COARSE)
            break;
        rules.firm = FIRM_COARSE;
        rules.freedom = (struct tp_freedom){{0}}; /* medians bend more */
        tp_mark_settle(&coarse, &rules, 0);
        if (first_bad(&coarse) < coarse.count) {
            refine(p, &coarse, fold);
            return fold;
        }
    }
    return 1;
}

static size_t count_bad(const struct tp_points *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        n += p->bad[i] != 0;
    return n;
}

/* The first n points, seen from the last of them. */
static struct tp_points seen_back(const struct tp_points *p, size_t n,
                                  double *room)
{
    struct tp_points back = points_in(room, n);
    back.matters = p->matters;
    for (size_t i = 0; i < n; i++) {
        back.at[i] = -p->at[n - 1 - i];
        back.y[i] = p->y[n - 1 - i];
        back.floor[i] = p->floor[n - 1 - i];
    }
    return back;
}

/* The median of points [from, to), at most half a window of them. */
static double level_of(const struct tp_points *p, size_t from, size_t to)
{
    double values[TP_LINE_HALF];
    size_t n = 0;
    for (size_t i = from; i < to && n < TP_LINE_HALF; i++)
        values[n++] = p->y[i];
    return tp_line_median(values, n);
}

/*
 * Whether points [first, end) jump to the level that the series keeps: from
 * where they began at about that level, or lay together on one of their own. A
 * run that only settles after its start leaves it the faster the farther away
 * it is, and does neither.
 */
static bool is_step(const struct tp_points *p, size_t first, size_t end)
{
    double after = level_of(p, end, p->count), apart;
    double low = p->y[first], high = low, jump = INFINITY;
    for (size_t i = first; i < end; i++) {
        low = fmin(low, p->y[i]);
        high = fmax(high, p->y[i]);
        jump = fmin(jump, fabs(p->y[i] - after));
    }
    if (first > 0)
        apart = fabs(level_of(p, 0, first) - after);
    else
        apart = end > 1 ? high - low : INFINITY;
    return jump >= STEP * apart;
}

/*
 * Bad points at the start, with nothing before to compare with: from the
 * points after them, without trends, which a later change would lend to them.
 * They are believed if they end by a jump and the run had begun well before, or
 * they are few. Marks them, and returns how many points keep their marks.
 */
static size_t mark_start(struct tp_points *p, struct tp_mark_rules rules,
                         double *room)
{
    size_t n = p->count < START ? p->count : START, first = n, end = 0;
    struct tp_points back = seen_back(p, n, room);
    rules.flat = true;
    tp_mark_settle(&back, &rules, 0);
    for (size_t i = n; i-- > 0;) {
        if (back.bad[n - 1 - i] == 0)
            continue;
        first = i;
        end = end ? end : i + 1;
    }
    size_t most = first > 0 ? n / 2 : n / FEW;
    if (first == n || end > most || !is_step(p, first, end))
        return 0;
    for (size_t i = 0; i < end; i++)
        p->bad[i] = back.bad[n - 1 - i];
    return end;
}

/*
 * Where a change seems to last for more than half of a run, the points before
 * may be what was wrong: then the series is looked at from its end. They were
 * if what came before them is like what came after, or if they are few;
 * otherwise what lasts is the change.
 */
static void look_back(struct tp_points *p, const struct tp_mark_rules *rules,
                      double *room)
{
    size_t n = p->count;
    if (2 * count_bad(p) <= n)
        return;
    struct tp_points back = seen_back(p, n, room);
    tp_mark_settle(&back, rules, 0);
    size_t bad = count_bad(&back);
    bool had_begun_well = back.bad[n - 1] == 0;
    if (bad == 0 || 2 * bad > n || !(had_begun_well || FEW * bad <= n))
        return;
    for (size_t i = 0; i < n; i++)
        p->bad[i] = back.bad[n - 1 - i];
}

/* Looks for a point apart, or at the one that is asked. */
static bool look_apart(const struct tp_baseline_series *series,
                       const struct tp_baseline_options *options,
                       struct tp_points *p)
{
    struct tp_lone_rules rules = {.limit = log(options->lone),
                                  .outside = tp_baseline_band(options)};
    if (!(options->lone > 0) || series->scale != TP_BASELINE_LOG)
        return false;
    while (rules.point < p->count &&
           (size_t)p->index[rules.point] + 1 != series->suspect)
        rules.point++;
    return (series->suspect == 0 || rules.point < p->count) &&
           tp_lone_mark(p, &rules);
}

double tp_baseline_band(const struct tp_baseline_options *options)
{
    return fmax(OUTSIDE, options->sigma);
}

static struct tp_mark_rules rules_for(const struct tp_baseline_options *options,
                                      size_t points,
                                      const struct tp_baseline_series *series)
{
    double tried =
        fmax(options->tests, 1) * (double)(points + 1) * TP_MARK_AHEAD * SCALES;
    return (struct tp_mark_rules){.limit = log(FALSE_ALARMS / tried),
                                  .outside = tp_baseline_band(options),
                                  .firm = FIRM,
                                  .flat = series->steady,
                                  .freedom = series->freedom};
}

double tp_baseline_look(const struct tp_baseline_series *series,
                        double *scratch, struct tp_tails *tails, double *error)
{
    struct tp_points p = lay_out(series, NULL, scratch);
    memset(error, 0, series->count * sizeof *error);
    if (p.count < 2 * FIRM)
        return 0;
    double spread = tp_mark_tails(&p, tails);
    memcpy(p.room, p.floor, p.count * sizeof *p.room);
    spread = fmax(spread, tp_median(p.room, p.count));
    for (size_t i = FIRM; i < p.count && spread > 0; i++)
        error[(size_t)p.index[i]] = tp_mark_error(&p, i) / spread;
    return spread;
}

void tp_baseline_retro(const struct tp_baseline_series *series,
                       const struct tp_baseline_options *options,
                       double *scratch, struct tp_baseline *b,
                       const struct tp_baseline_trace *trace)
{
    /* the alarms' place: they come last */
    tp_zeros_by_chance(series, log(FALSE_ALARMS / fmax(options->tests, 1)),
                       trace->alarm);
    struct tp_points p = lay_out(series, trace->alarm, scratch);
    double *room = scratch + 11 * series->count;
    enum tp_change special;
    size_t at_special = find_special(series, trace->alarm, &special);
    struct tp_spreads spreads = {.hang = 0};
    const struct tp_mark_rules rules = rules_for(options, p.count, series);
    size_t fold = 1;
    b->weak = p.count < 2 * FIRM;
    memset(p.bad, 0, p.count * sizeof *p.bad);
    if (p.count == 0) {
        b->center = b->spread = NAN;
    } else if (b->weak) {
        double level = p.y[p.count / 2], spread = 0.25;
        size_t at = find_weak(&p, series->scale, &level, &spread);
        for (size_t i = at; i < p.count; i++)
            p.bad[i] = i == at || fabs(p.y[i] - level) > 10 * spread;
        for (size_t h = 0; h < TP_MARK_MEASURED; h++)
            spreads.ahead[h] = spread;
        conclude(series, &p, &spreads, 1, b);
    } else {
        size_t kept = mark_start(&p, rules, room);
        spreads = tp_mark_settle(&p, &rules, kept);
        bool apart = look_apart(series, options, &p);
        if (!apart && first_bad(&p) == p.count)
            fold = look_coarser(&p, rules, room);
        look_back(&p, &rules, room);
        conclude(series, &p, &spreads, fold, b);
    }
    if (special != TP_CHANGE_NONE &&
        (b->kind == TP_CHANGE_NONE || at_special < b->first))
        conclude_special(series, at_special, special, b);
    for (size_t i = 0; i < series->count; i++)
        trace->alarm[i] = isinf(series->value[i]);
    for (size_t i = 0; i < p.count; i++)
        trace->alarm[(size_t)p.index[i]] = p.bad[i] != 0;
    if (p.count > 0 &&
        (trace->expected || trace->spread || trace->low || trace->high))
        fill_trace(series, &p, &spreads, rules.outside, trace);
}
