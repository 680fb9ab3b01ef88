/* SPDX-License-Identifier: MIT */
/*
 * Baselines of a whole run.
 *
 * Values are straightened (log2 of magnitudes, arcsine of shares). At every
 * point the value is predicted from the healthy points before it: a line
 * through the medians of the older and the newer half of the last 16, so that
 * the level and a slow trend are followed and single outliers do nothing.
 * The spread of such predictions, 1, 2, 3 and 4 points ahead, is measured
 * over the whole run by the median of their absolute errors, which a fault in
 * less than half of the points cannot reach; where the run is rougher than
 * elsewhere the local spread counts.
 *
 * A change is a run of 1 to 4 points on one side of their prediction that is
 * too unlikely together. Training noise is heavy-tailed, so an error of z
 * spreads has the probability of Student's t with 5 degrees of freedom, and
 * the product of the probabilities is judged as Fisher combines them, with
 * fewer degrees of freedom as far as neighbours hang together. The limit is
 * divided by everything that was tried (Bonferroni): series, points, lengths
 * and scales, so that the expected number of false alarms of a healthy run
 * is at most FALSE_ALARMS for noise up to those tails.
 *
 * Points that alarmed are left out, and everything is done again until
 * nothing moves. The same is done on medians of 4 and of 16 points, where
 * small shifts and slow drifts show that single points do not.
 */
#include <math.h>
#include <string.h>

#include "stats/baseline_parts.h"

enum {
    WINDOW = 16,   /* healthy points of a prediction                      */
    FIRM = 6,      /* fewer make a weak one                               */
    AHEAD = 4,     /* points that are judged together                     */
    ROUNDS = 4,    /* of leaving out and fitting again                    */
    SCALES = 3,    /* 1, 4 and 16 points                                  */
    RETURN = 2     /* points in the band that end a change                */
};

/* Expected false alarms of a healthy run. */
static const double FALSE_ALARMS = 0.02;

static const double HALF_PI = 1.57079632679489662;

/* Turns a median of absolute errors into a standard deviation. */
static const double TO_SIGMA = 1.4826;

/* Part of the variance of an error that all points ahead share: that of the
 * prediction itself, for the medians of eight (1.57 / 8 each) at their
 * distance of 4.5 and 8 points. */
static const double SHARED = 0.35;

/* log of P(|T| > z), T of Student's t with 5 degrees of freedom. */
static double log_tail(double z)
{
    if (z > 30) /* the leading term: 2 * 9.49 z^-5 */
        return log(18.98) - 5 * log(z);
    double a = atan(z / sqrt(5)), s = sin(a), c = cos(a);
    double inside = 1 / HALF_PI * (a + s * (c + 2.0 / 3 * c * c * c));
    return log(fmax(1 - inside, 1e-12));
}

/* The z whose log_tail is `limit`. */
static double tail_limit(double limit)
{
    double low = 0, high = 1e9;
    for (int i = 0; i < 80; i++) {
        double middle = low + high > 2 ? sqrt((low + 1e-3) * high)
                                       : (low + high) / 2;
        if (log_tail(middle) > limit)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The series as it is judged: valid points only. */
struct points {
    size_t count;
    double *at, *y, *floor; /* [count]                                    */
    double *index;          /* [count]: in the series                     */
    double *bad;            /* [count]: 1: beyond the limit               */
    double *error;          /* [AHEAD][count]: absolute, NaN: none        */
    double *room;           /* [count]                                    */
};

/* What is known of the spread. */
struct spreads {
    double ahead[AHEAD];
    double hang;  /* how far neighbours hang together, 0 to 1             */
};

/* A prediction. */
struct line {
    size_t used;           /* healthy points                              */
    double at, level, slope, reach;
    double local;          /* spread around it, 0: not asked for          */
};

static void exchange(double *a, double *b)
{
    double low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
    *a = low;
    *b = high;
}

/* Of eight, half a window, without a branch: nearly all medians are of
 * these. The exchanges are a sorting network in six layers. */
static double median_of_eight(const double *values)
{
    double v[8];
    for (size_t i = 0; i < 8; i++)
        v[i] = values[i];
    exchange(v, v + 2), exchange(v + 1, v + 3);
    exchange(v + 4, v + 6), exchange(v + 5, v + 7);
    exchange(v, v + 4), exchange(v + 1, v + 5);
    exchange(v + 2, v + 6), exchange(v + 3, v + 7);
    exchange(v, v + 1), exchange(v + 2, v + 3);
    exchange(v + 4, v + 5), exchange(v + 6, v + 7);
    exchange(v + 2, v + 4), exchange(v + 3, v + 5);
    exchange(v + 1, v + 4), exchange(v + 3, v + 6);
    exchange(v + 1, v + 2), exchange(v + 3, v + 4), exchange(v + 5, v + 6);
    return (v[3] + v[4]) / 2;
}

static double median_of(double *values, size_t n)
{
    if (n == 8)
        return median_of_eight(values);
    for (size_t i = 1; i < n; i++) {
        double moved = values[i];
        size_t k = i;
        for (; k > 0 && values[k - 1] > moved; k--)
            values[k] = values[k - 1];
        values[k] = moved;
    }
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The line through `n` points, oldest first: their indices in *p. */
static struct line fit_line(const struct points *p, const size_t *of, size_t n)
{
    double values[WINDOW];
    struct line line = {.used = n};
    size_t half = n >= FIRM ? n / 2 : 0;
    double older = 0, old_at = 0;
    for (size_t i = 0; i < half; i++) {
        values[i] = p->y[of[i]];
        old_at += p->at[of[i]] / (double)half;
    }
    if (half > 0)
        older = median_of(values, half);
    for (size_t i = half; i < n; i++) {
        values[i - half] = p->y[of[i]];
        line.at += p->at[of[i]] / (double)(n - half);
    }
    line.level = median_of(values, n - half);
    if (half > 0) {
        line.slope = (line.level - older) / (line.at - old_at);
        line.reach = 2 * (line.at - old_at);
    }
    return line;
}

/* The spread of the points around their line. */
static double local_spread(const struct points *p, const size_t *of, size_t n,
                           const struct line *line)
{
    double values[WINDOW];
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(p->y[of[i]] - line->level -
                         line->slope * (p->at[of[i]] - line->at));
    return TO_SIGMA * median_of(values, n);
}

static double predict(const struct line *line, double at)
{
    double ahead = fmin(at - line->at, line->reach);
    return line->level + line->slope * ahead;
}

/* The last healthy points before one. */
struct history {
    size_t of[WINDOW];
    size_t count;
};

static void remember(struct history *history, size_t point)
{
    if (history->count == WINDOW) {
        memmove(history->of, history->of + 1,
                (WINDOW - 1) * sizeof *history->of);
        history->count--;
    }
    history->of[history->count++] = point;
}

/* Medians of the errors of all predictions that healthy points allow. */
static void measure(const struct points *p, struct spreads *spreads)
{
    struct history history = {.count = 0};
    size_t same = 0, pairs = 0;
    double before = NAN;
    for (size_t i = 0; i < p->count; i++) {
        struct line line;
        bool known = history.count >= 2;
        if (known)
            line = fit_line(p, history.of, history.count);
        for (size_t h = 0; h < AHEAD; h++) {
            size_t k = i + h;
            bool fit = known && k < p->count && !p->bad[k] && !p->bad[i];
            double error = fit ? p->y[k] - predict(&line, p->at[k]) : NAN;
            p->error[h * p->count + i] = error;
        }
        double now = p->error[i];
        if (isfinite(now) && isfinite(before)) {
            pairs++;
            same += (now > 0) == (before > 0);
        }
        before = now;
        if (!p->bad[i])
            remember(&history, i);
    }
    for (size_t h = 0; h < AHEAD; h++) {
        size_t n = 0;
        for (size_t i = 0; i < p->count; i++) {
            double error = p->error[h * p->count + i];
            if (isfinite(error))
                p->room[n++] = fabs(error);
        }
        spreads->ahead[h] =
            n ? TO_SIGMA * tp_baseline_select(p->room, n, n / 2) : 0;
        if (h > 0)
            spreads->ahead[h] = fmax(spreads->ahead[h], spreads->ahead[h - 1]);
    }
    double share = pairs ? (double)same / (double)pairs : 0.5;
    spreads->hang = fmax(SHARED, sin(HALF_PI * fmax(2 * share - 1, 0)));
}

/* What is asked of one point. */
struct trial {
    const struct points *p;
    const struct spreads *spreads;
    double limit; /* log of the probability                               */
};

static double spread_at(const struct trial *trial, const struct line *line,
                        size_t point, size_t ahead)
{
    double s = fmax(trial->spreads->ahead[ahead], line->local);
    s *= sqrt((1 + 1.57 / (double)line->used) / (1 + 1.57 / WINDOW));
    return fmax(s, fmax(trial->p->floor[point], 1e-12));
}

/* log of the probability that a healthy run deviates as much from here on. */
static double log_chance(const struct trial *trial, const struct line *line,
                         size_t from)
{
    const struct points *p = trial->p;
    double sum = 0, best = 0;
    int side = 0;
    for (size_t m = 1; m <= AHEAD && from + m <= p->count; m++) {
        size_t k = from + m - 1;
        double error = p->y[k] - predict(line, p->at[k]);
        if (m == 1)
            side = error > 0 ? 1 : -1;
        if (error * side <= 0)
            break;
        sum += log_tail(fabs(error) / spread_at(trial, line, k, m - 1));
        double real = 1 + (double)(m - 1) * (1 - trial->spreads->hang);
        double part = -sum * real / (double)m, terms = 1, term = 1;
        for (size_t j = 1; j < m; j++) {
            term *= part / (double)j;
            terms += term;
        }
        best = fmin(best, -part + log(terms));
    }
    return best;
}

/* Beyond it a single point counts as bad while a change lasts. */
static double near_limit(const struct trial *trial)
{
    return fmin(tail_limit(trial->limit), 3);
}

/* Whether a change begins at the point; fits the line before it. The local
 * spread only makes chances greater, so it is asked for when they are small
 * without. */
static bool is_unlikely(const struct trial *trial,
                        const struct history *history, size_t point,
                        struct line *line)
{
    if (history->count < FIRM)
        return false;
    *line = fit_line(trial->p, history->of, history->count);
    if (log_chance(trial, line, point) > trial->limit)
        return false;
    line->local =
        local_spread(trial->p, history->of, history->count, line);
    return log_chance(trial, line, point) <= trial->limit;
}

/* Goes through the points and marks those beyond the limit. */
static void mark(const struct trial *trial, double *bad)
{
    const struct points *p = trial->p;
    struct history history = {.count = 0};
    double near = near_limit(trial);
    for (size_t i = 0; i < p->count;) {
        struct line line = {0};
        bad[i] = 0;
        if (!is_unlikely(trial, &history, i, &line)) {
            remember(&history, i++);
            continue;
        }
        size_t inside = 0;
        for (; i < p->count && inside < RETURN; i++) {
            double s = spread_at(trial, &line, i, AHEAD - 1);
            double z = fabs(p->y[i] - predict(&line, p->at[i])) / s;
            bad[i] = z > near;
            inside = bad[i] ? 0 : inside + 1;
        }
    }
}

/* Marks and measures until nothing moves; returns the spreads. */
static struct spreads settle(struct points *p, double limit)
{
    struct spreads spreads;
    memset(p->bad, 0, p->count * sizeof *p->bad);
    measure(p, &spreads);
    for (int round = 0; round < ROUNDS; round++) {
        const struct trial trial = {p, &spreads, limit};
        bool moved = false;
        double *marks = p->error; /* measured again before it is used */
        mark(&trial, marks);
        for (size_t i = 0; i < p->count; i++)
            moved |= marks[i] != p->bad[i];
        memcpy(p->bad, marks, p->count * sizeof *p->bad);
        if (!moved)
            break;
        measure(p, &spreads);
    }
    return spreads;
}

/* --- zeros, infinities, few points ------------------------------------- */

/*
 * Points that have no place on the scale. A magnitude that becomes zero for
 * good has vanished; zeros here and there are how sparse gradients look, and
 * are left out. An infinite value is bad wherever it is.
 */
static size_t find_special(const struct tp_baseline_series *series,
                           enum tp_change *kind)
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
    size_t before = 0;
    for (size_t i = 0; last_alive != n && i < last_alive; i++)
        before += series->value[i] == 0;
    if (series->scale == TP_BASELINE_LOG && zeros > 0 && before == 0 &&
        alive >= 3) {
        *kind = TP_CHANGE_VANISH;
        return last_alive + 1;
    }
    return n;
}

/* With fewer than 2 * FIRM points, of which a fault may be nearly half, only a
 * change by factors is worth a word: three binades, a third of a share's
 * range, or ten spreads, and nothing like it before. */
static size_t find_weak(const struct points *p, enum tp_baseline_scale scale,
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

/* Lays the valid points out in scratch memory. */
static struct points lay_out(const struct tp_baseline_series *series,
                             double *scratch)
{
    size_t n = series->count;
    struct points p = {.at = scratch,
                       .y = scratch + n,
                       .floor = scratch + 2 * n,
                       .index = scratch + 3 * n,
                       .bad = scratch + 4 * n,
                       .room = scratch + 5 * n,
                       .error = scratch + 6 * n};
    for (size_t i = 0; i < n; i++) {
        double y = tp_baseline_straight(series->scale, series->value[i]);
        if (!isfinite(y))
            continue;
        p.at[p.count] = (double)series->at[i];
        p.y[p.count] = y;
        p.floor[p.count] = tp_baseline_floor(series, i);
        p.index[p.count++] = (double)i;
    }
    return p;
}

/* Medians of `fold` points each, behind what `from` uses of the scratch. */
static struct points fold_points(const struct points *from, size_t fold,
                                 double *scratch)
{
    size_t n = from->count / fold;
    struct points p = {.count = n,
                       .at = scratch,
                       .y = scratch + n,
                       .floor = scratch + 2 * n,
                       .index = scratch + 3 * n,
                       .bad = scratch + 4 * n,
                       .room = scratch + 5 * n,
                       .error = scratch + 6 * n};
    for (size_t i = 0; i < n; i++) {
        double values[WINDOW];
        for (size_t k = 0; k < fold; k++)
            values[k] = from->y[i * fold + k];
        p.y[i] = median_of(values, fold);
        p.at[i] = (from->at[i * fold] + from->at[i * fold + fold - 1]) / 2;
        p.floor[i] = from->floor[i * fold];
        p.index[i] = (double)(i * fold);
    }
    return p;
}

static size_t first_bad(const struct points *p)
{
    size_t i = 0;
    while (i < p->count && p->bad[i] == 0)
        i++;
    return i;
}

/* The line through the healthy points before one. */
static struct line line_before(const struct points *p, size_t point)
{
    struct history history = {.count = 0};
    for (size_t i = 0; i < point; i++) {
        if (p->bad[i] == 0)
            remember(&history, i);
    }
    struct line line = fit_line(p, history.of, history.count);
    line.local = local_spread(p, history.of, history.count, &line);
    return line;
}

/* The split between [low, high] that parts two levels best. */
static size_t best_split(const struct points *p, const struct line *line,
                         size_t low, size_t high)
{
    size_t best = low, end = high + WINDOW < p->count ? high + WINDOW
                                                      : p->count;
    double after[2 * WINDOW], least = INFINITY;
    for (size_t split = low; split <= high && split < end; split++) {
        size_t n = end - split < 2 * WINDOW ? end - split : 2 * WINDOW;
        memcpy(after, p->y + split, n * sizeof *after);
        double level = median_of(after, n), cost = 0;
        for (size_t i = low; i < end; i++)
            cost += fabs(p->y[i] - (i < split ? predict(line, p->at[i])
                                              : level));
        if (cost < least) {
            least = cost;
            best = split;
        }
    }
    return best;
}

/* Marks what a change at a coarse scale means for single points. */
static void refine(struct points *p, const struct points *coarse, size_t fold)
{
    size_t at = first_bad(coarse), blocks = at;
    size_t low = at > 0 ? (at - 1) * fold : 0, high = (at + 1) * fold;
    if (high > p->count)
        high = p->count;
    struct line line = line_before(p, low > FIRM ? low : at * fold);
    size_t split = best_split(p, &line, low, high - 1);
    while (blocks < coarse->count && coarse->bad[blocks] != 0)
        blocks++;
    size_t end = blocks == coarse->count ? p->count : blocks * fold;
    for (size_t i = split; i < end; i++)
        p->bad[i] = 1;
}

static enum tp_change kind_of(const struct points *p, size_t first, double z,
                              size_t fold)
{
    size_t last = p->count - 1;
    if (p->bad[last] == 0)
        return TP_CHANGE_SPIKE;
    if (fold > 1 && z < 5)
        return TP_CHANGE_DRIFT;
    return first == last ? TP_CHANGE_SPIKE : TP_CHANGE_SHIFT;
}

static void fill_trace(const struct tp_baseline_series *series,
                       const struct points *p, const struct spreads *spreads,
                       double single, const struct tp_baseline_trace *trace)
{
    struct history history = {.count = 0};
    const struct trial trial = {p, spreads, 0};
    size_t k = 0;
    double level = NAN, spread = NAN;
    for (size_t i = 0; i < series->count; i++) {
        bool valid = k < p->count && (size_t)p->index[k] == i;
        if (valid && history.count >= 2) {
            struct line line = fit_line(p, history.of, history.count);
            line.local =
                local_spread(p, history.of, history.count, &line);
            level = predict(&line, p->at[k]);
            spread = spread_at(&trial, &line, k, 0);
        }
        if (trace->expected)
            trace->expected[i] = tp_baseline_bent(series->scale, level);
        if (trace->low)
            trace->low[i] =
                tp_baseline_bent(series->scale, level - single * spread);
        if (trace->high)
            trace->high[i] =
                tp_baseline_bent(series->scale, level + single * spread);
        trace->alarm[i] =
            valid ? p->bad[k] != 0 : isinf(series->value[i]);
        if (valid && p->bad[k] == 0)
            remember(&history, k);
        k += valid;
    }
}

/* Fills the baseline from the marks. */
static void conclude(const struct tp_baseline_series *series,
                     const struct points *p, const struct spreads *spreads,
                     size_t fold, struct tp_baseline *b)
{
    size_t first = first_bad(p);
    size_t at = first < p->count ? first : p->count;
    const struct trial trial = {p, spreads, 0};
    struct line line = line_before(p, at);
    double where = at < p->count ? p->at[at] : p->at[p->count - 1];
    size_t near = at < p->count ? at : p->count - 1;
    double level = predict(&line, where);
    double spread = spread_at(&trial, &line, near, 0);
    b->center = tp_baseline_bent(series->scale, level);
    b->spread = (tp_baseline_bent(series->scale, level + spread) -
                 tp_baseline_bent(series->scale, level - spread)) / 2;
    if (at == p->count)
        return;
    for (size_t i = at; i < p->count; i++) {
        double z = fabs(p->y[i] - predict(&line, p->at[i])) / spread;
        if (p->bad[i] != 0)
            b->worst = fmax(b->worst, z);
    }
    b->deviation = fabs(p->y[at] - level) / spread;
    b->kind = kind_of(p, at, b->deviation, fold);
    b->first = (size_t)p->index[at];
    size_t before = at > 0 ? (size_t)p->index[at - 1] : b->first;
    size_t early = fold > 1 && b->first > fold ? b->first - fold : before;
    b->onset_from = series->at[early < before ? early : before];
    b->onset_to = series->at[b->first];
}

static void conclude_special(const struct tp_baseline_series *series,
                             size_t first, enum tp_change kind,
                             struct tp_baseline *b)
{
    b->kind = kind;
    b->first = first;
    b->onset_to = series->at[first];
    b->onset_from = first > 0 ? series->at[first - 1] : b->onset_to;
    b->deviation = b->worst = INFINITY;
    b->weak = series->count < 2 * FIRM;
}

/* Looks at medians of 4, then of 16 points; returns how many points a change
 * was found in, 1 if there is none. */
static size_t look_coarser(struct points *p, double limit, double *room)
{
    for (size_t fold = 4; fold <= 16; fold *= 4) {
        struct points coarse = fold_points(p, fold, room);
        if (coarse.count <= FIRM)
            break;
        settle(&coarse, limit);
        if (first_bad(&coarse) < coarse.count) {
            refine(p, &coarse, fold);
            return fold;
        }
    }
    return 1;
}

void tp_baseline_retro(const struct tp_baseline_series *series,
                       const struct tp_baseline_options *options,
                       double *scratch, struct tp_baseline *b,
                       const struct tp_baseline_trace *trace)
{
    struct points p = lay_out(series, scratch);
    double *room = scratch + 10 * series->count;
    enum tp_change special;
    size_t at_special = find_special(series, &special);
    struct spreads spreads = {{0}, 0};
    double tried = fmax(options->tests, 1) * (double)(p.count + 1) * AHEAD *
                   SCALES;
    double limit = log(FALSE_ALARMS / tried);
    limit = fmin(limit, log_tail(options->sigma));
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
        for (size_t h = 0; h < AHEAD; h++)
            spreads.ahead[h] = spread;
        conclude(series, &p, &spreads, 1, b);
    } else {
        spreads = settle(&p, limit);
        fold = first_bad(&p) < p.count ? 1 : look_coarser(&p, limit, room);
        conclude(series, &p, &spreads, fold, b);
    }
    if (special != TP_CHANGE_NONE &&
        (b->kind == TP_CHANGE_NONE || at_special < b->first))
        conclude_special(series, at_special, special, b);
    if (p.count > 0)
        fill_trace(series, &p, &spreads, tail_limit(limit), trace);
}
