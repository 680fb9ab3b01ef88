/* SPDX-License-Identifier: MIT */
/*
 * Baselines of a whole run.
 *
 * Values are straightened (log2 of magnitudes, arcsine of shares). At every
 * point the value is predicted from the healthy points before it: a line
 * through the medians of the older and the newer half of the last 16, so that
 * the level and a slow trend are followed and single outliers do nothing.
 * The spread of such predictions, 1, 2, 4 and 8 points ahead, is measured
 * over the whole run by a low quantile of their absolute errors, which a
 * fault in half of the points hardly moves; where the run is rougher than
 * elsewhere the local spread counts.
 *
 * A change is a run of 1 to 8 points on one side of their prediction that is
 * too unlikely together. Training noise is heavy-tailed: an error of z
 * spreads has the probability of Student's t with 5 degrees of freedom,
 * unless a long series shows that its own tails are lighter. The product of
 * the probabilities is judged as Fisher combines them, with fewer degrees of
 * freedom as far as neighbours hang together. The limit is divided by
 * everything that was tried (Bonferroni): series, points, lengths and scales,
 * so that the expected number of false alarms of a healthy run is at most
 * FALSE_ALARMS for noise up to those tails. tests/unit/test_baseline.c
 * measures it, and the power.
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
    HALF = WINDOW / 2,
    FIRM = 6,      /* fewer make none                                     */
    FIRM_COARSE = 12, /* nor these of medians, where curves bend more      */
    AHEAD = 8,     /* points that are judged together                     */
    MEASURED = 4,  /* distances ahead whose spread is measured: 1 2 4 8   */
    ROUNDS = 4,    /* of leaving out and fitting again                    */
    SCALES = 3,    /* 1, 4 and 16 points                                  */
    RETURN = 2,    /* points in the band that end a change                */
    LONG = 500     /* points that show their own tails                    */
};

static const double HALF_PI = 1.57079632679489662;

/* Expected false alarms of a healthy run. */
static const double FALSE_ALARMS = 0.02;

/* Turns a median of absolute errors into a standard deviation. */
static const double TO_SIGMA = 1.4826;

/* The same for their 30 % quantile: of 40 errors of which a fault spoils 16,
 * it is the median of the others. */
static const double LOW_QUANTILE = 0.3, LOW_TO_SIGMA = 2.5955;

/* Part of the variance of an error that all points ahead share: that of the
 * prediction itself, for the medians of eight (1.57 / 8 each) at their
 * distance of 4.5 and 8 points. */
static const double SHARED = 0.35;

/* --- how likely -------------------------------------------------------- */

/* Degrees of freedom of Student's t, for noise of three kinds of tails. */
enum tails { TAILS_HEAVY = 5, TAILS_MIDDLE = 10, TAILS_LIGHT = 30 };

/* P(|T| <= z), by the finite series in the angle atan(z / sqrt(n)). */
static double inside(int n, double z)
{
    double angle = atan(z / sqrt(n)), s = sin(angle), c = cos(angle);
    bool odd = n % 2 != 0;
    double term = odd ? s * c : s, sum = odd ? angle : 0;
    for (int k = odd ? 1 : 0; k <= n - 2; k += 2) {
        sum += term;
        term *= c * c * (k + 1) / (k + 2);
    }
    return odd ? sum / HALF_PI : sum;
}

/* log of P(|T| > z). Far out, where 1 - inside has no digits left, the
 * density integrated by parts; its relative error is below n / z^2. */
static double log_tail(enum tails tails, double z)
{
    double n = tails, outside = 1 - inside((int)tails, z);
    if (outside > 1e-9)
        return log(outside);
    double density = lgamma((n + 1) / 2) - lgamma(n / 2) -
                     log(2 * HALF_PI * n) / 2;
    return log(2) + density + log(n / ((n - 1) * z)) -
           (n - 1) / 2 * log1p(z * z / n);
}

/* The z whose log_tail is `limit`. */
static double tail_limit(enum tails tails, double limit)
{
    double low = 0, high = 1;
    while (log_tail(tails, high) > limit)
        high *= 2;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        if (log_tail(tails, middle) > limit)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* log of the probability that a product of m uniform numbers is below
 * exp(sum): R. A. Fisher's combination. */
static double combined(double sum, size_t m)
{
    double terms = 1, term = 1;
    for (size_t k = 1; k < m; k++) {
        term *= -sum / (double)k;
        terms += term;
    }
    return sum + log(terms);
}

/* --- predictions ------------------------------------------------------- */

/* The series as it is judged: valid points only; arrays of `count`. */
struct points {
    size_t count;
    double *at, *y, *floor;
    double *index;               /* in the series                         */
    double *bad;                 /* 1: beyond the limit                   */
    double *level, *slope, *mid; /* of the line before each point         */
    double *room, *marks;
    double matters;              /* smaller differences are none          */
};

/* What is known of the spread. */
struct spreads {
    double ahead[MEASURED]; /* see distance_of                             */
    double hang;  /* how far neighbours hang together, 0 to 1             */
    enum tails tails;
};

/* A prediction. */
struct line {
    size_t used;      /* healthy points                                   */
    double mid, level, slope, reach;
};

/* The last healthy points before one, and the order of their values. */
struct history {
    size_t of[WINDOW];       /* oldest first                              */
    size_t count;
    double older[HALF], newer[HALF]; /* sorted, once the window is full    */
};

static void sort_few(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double moved = values[i];
        size_t k = i;
        for (; k > 0 && values[k - 1] > moved; k--)
            values[k] = values[k - 1];
        values[k] = moved;
    }
}

static double middle_of(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double median_of(double *values, size_t n)
{
    sort_few(values, n);
    return middle_of(values, n);
}

/* Puts `in` into sorted[HALF] in place of `out`, which is there. */
static void exchange(double *sorted, double out, double in)
{
    size_t k = 0;
    while (k < HALF - 1 && sorted[k] != out)
        k++;
    for (; k > 0 && sorted[k - 1] > in; k--)
        sorted[k] = sorted[k - 1];
    for (; k < HALF - 1 && sorted[k + 1] < in; k++)
        sorted[k] = sorted[k + 1];
    sorted[k] = in;
}

static void remember(const struct points *p, struct history *h, size_t point)
{
    if (h->count < WINDOW) {
        h->of[h->count++] = point;
        if (h->count < WINDOW)
            return;
        for (size_t i = 0; i < HALF; i++) {
            h->older[i] = p->y[h->of[i]];
            h->newer[i] = p->y[h->of[HALF + i]];
        }
        sort_few(h->older, HALF);
        sort_few(h->newer, HALF);
        return;
    }
    exchange(h->older, p->y[h->of[0]], p->y[h->of[HALF]]);
    exchange(h->newer, p->y[h->of[HALF]], p->y[point]);
    memmove(h->of, h->of + 1, (WINDOW - 1) * sizeof *h->of);
    h->of[WINDOW - 1] = point;
}

/* Mean time of `n` points. */
static double mean_time(const struct points *p, const size_t *of, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p->at[of[i]];
    return sum / (double)n;
}

/* The line through a history; h->count > 0. */
static struct line line_of(const struct points *p, const struct history *h)
{
    struct line line = {.used = h->count};
    size_t half = h->count >= FIRM ? h->count / 2 : 0, rest = h->count - half;
    double older = 0, values[WINDOW];
    if (h->count == WINDOW) {
        older = middle_of(h->older, HALF);
        line.level = middle_of(h->newer, HALF);
    } else {
        for (size_t i = 0; i < half; i++)
            values[i] = p->y[h->of[i]];
        if (half > 0)
            older = median_of(values, half);
        for (size_t i = 0; i < rest; i++)
            values[i] = p->y[h->of[half + i]];
        line.level = median_of(values, rest);
    }
    line.mid = mean_time(p, h->of + half, rest);
    if (half > 0) {
        double apart = line.mid - mean_time(p, h->of, half);
        line.slope = (line.level - older) / apart;
        line.reach = 2 * apart;
    }
    return line;
}

static double predict(const struct line *line, double at)
{
    double ahead = fmin(at - line->mid, line->reach);
    return line->level + line->slope * ahead;
}

/* Robust spread of a history around its line. */
static double local_spread(const struct points *p, const struct history *h,
                           const struct line *line)
{
    double values[WINDOW];
    for (size_t i = 0; i < h->count; i++)
        values[i] = fabs(p->y[h->of[i]] - line->level -
                         line->slope * (p->at[h->of[i]] - line->mid));
    return TO_SIGMA * median_of(values, h->count);
}

/* --- the spread of a run ----------------------------------------------- */

/* Lines before every point, from the healthy ones. */
static void draw_lines(const struct points *p)
{
    struct history history = {.count = 0};
    for (size_t i = 0; i < p->count; i++) {
        struct line line = {.level = NAN};
        if (history.count >= 2)
            line = line_of(p, &history);
        p->level[i] = line.level;
        p->slope[i] = line.slope;
        p->mid[i] = line.mid;
        if (p->bad[i] == 0)
            remember(p, &history, i);
    }
}

/* Which of the measured distances a point `ahead` (from 0) is judged by: the
 * next one that is not nearer. */
static size_t distance_of(size_t ahead)
{
    return ahead == 0 ? 0 : ahead == 1 ? 1 : ahead < 4 ? 2 : 3;
}

/* Absolute errors `ahead` points after each line; returns their number. */
static size_t list_errors(const struct points *p, size_t ahead)
{
    size_t n = 0;
    for (size_t i = 0; i + ahead < p->count; i++) {
        size_t k = i + ahead;
        double error = p->y[k] - p->level[i] -
                       p->slope[i] * (p->at[k] - p->mid[i]);
        if (error == error && p->bad[i] == 0 && p->bad[k] == 0)
            p->room[n++] = fabs(error);
    }
    return n;
}

/*
 * Signs of neighbouring errors: of a normal AR(1) process a share of
 * 1/2 + asin(rho) / pi is equal. What chance gives (a deviation of half over
 * the root of the number) is taken off.
 */
static double neighbours(const struct points *p, double spread)
{
    size_t pairs = 0, same = 0;
    int before = 0;
    for (size_t i = 0; i < p->count; i++) {
        double error = p->y[i] - p->level[i] -
                       p->slope[i] * (p->at[i] - p->mid[i]);
        bool usual = p->bad[i] == 0 && fabs(error) < 3 * spread;
        int now = usual ? (error > 0) - (error < 0) : 0;
        pairs += now != 0 && before != 0;
        same += now != 0 && now == before;
        before = now;
    }
    double n = fmax((double)pairs, 1), share = (double)same / n;
    double sure = fmax(share - 0.5 / sqrt(n) - 0.5, 0);
    return fmax(SHARED, sin(fmin(2 * sure, 1) * HALF_PI));
}

/*
 * How heavy the tails of n errors are, from the ratio of their 99.5 % and
 * 50 % quantiles: 4.2 of normal noise, 5.1 and 6.6 of Student's t with 10 and
 * 5 degrees of freedom, give or take 0.3 of a thousand. Fewer errors cannot
 * tell, and gradients have heavy ones.
 */
static enum tails find_tails(double *errors, size_t n)
{
    if (n < LONG)
        return TAILS_HEAVY;
    double middle = tp_baseline_select(errors, n, n / 2);
    double rank = 0.995 * (double)(n - 1);
    double far = tp_baseline_select(errors, n, (size_t)ceil(rank));
    double ratio = far / middle;
    return ratio < 4.6   ? TAILS_LIGHT
           : ratio < 5.6 ? TAILS_MIDDLE
                         : TAILS_HEAVY;
}

static struct spreads measure(const struct points *p)
{
    struct spreads spreads = {.tails = TAILS_HEAVY};
    draw_lines(p);
    for (size_t h = 0; h < MEASURED; h++) {
        size_t n = list_errors(p, ((size_t)1 << h) - 1);
        size_t rank = (size_t)(LOW_QUANTILE * (double)n);
        double s = n ? LOW_TO_SIGMA * tp_baseline_select(p->room, n, rank) : 0;
        spreads.ahead[h] = h ? fmax(s, spreads.ahead[h - 1]) : s;
        if (h == 0)
            spreads.tails = find_tails(p->room, n);
    }
    spreads.hang = neighbours(p, spreads.ahead[0]);
    return spreads;
}

/* --- marking ----------------------------------------------------------- */

/* A point of a change is so many spreads away at least: else a change would
 * seem to begin with the ordinary points before it. */
static const double OUTSIDE = 3;

/* The first point's logarithm is so much of the mean at least. */
static const double BEGINS = 0.5;

/* What is asked of points. */
struct trial {
    const struct points *p;
    const struct spreads *spreads;
    double limit; /* log of the probability                               */
    size_t firm;  /* healthy points that a line needs                     */
};

static double spread_at(const struct trial *trial, const struct line *line,
                        size_t point, size_t ahead)
{
    double s = trial->spreads->ahead[distance_of(ahead)];
    s *= sqrt((1 + 1.57 / (double)line->used) / (1 + 1.57 / WINDOW));
    return fmax(s, fmax(trial->p->floor[point], 1e-12));
}

/* The line before a point, as draw_lines left it; `used` points of it. */
static struct line line_at(const struct points *p, size_t point, size_t used)
{
    return (struct line){.used = used,
                         .mid = p->mid[point],
                         .level = p->level[point],
                         .slope = p->slope[point],
                         .reach = INFINITY};
}

/*
 * log of the probability that a healthy run deviates as much from here on.
 * Points that differ by less than what matters say nothing: a weight whose
 * amax creeps up by 2 % in a run without noise is no fault. A point that is
 * far less unlikely than those after it is not where the change begins.
 */
static double log_chance(const struct trial *trial, const struct line *line,
                         double local, size_t from)
{
    const struct points *p = trial->p;
    double sum = 0, best = 0, most = 0, first = 0;
    int side = 0;
    size_t m = 1;
    for (; m <= AHEAD && from + m <= p->count; m++) {
        size_t k = from + m - 1;
        double error = p->y[k] - predict(line, p->at[k]);
        if (m == 1)
            side = error > 0 ? 1 : -1;
        double s = fmax(spread_at(trial, line, k, m - 1), local);
        if (error * side < OUTSIDE * s)
            break;
        double one = log_tail(trial->spreads->tails, fabs(error) / s);
        sum += one;
        first = m == 1 ? one : first;
        most = fmax(most, fabs(error));
        double real = 1 + (double)(m - 1) * (1 - trial->spreads->hang);
        if (most >= p->matters)
            best = fmin(best, combined(sum * real / (double)m, m));
    }
    bool begins = m > 1 && first <= BEGINS * sum / (double)(m - 1);
    return begins ? best : 0;
}

/* Marks a change that begins at a point; returns where it has ended. */
static size_t mark_change(const struct trial *trial, const struct line *line,
                          double local, size_t from)
{
    const struct points *p = trial->p;
    size_t inside = 0, i = from;
    for (; i < p->count && inside < RETURN; i++) {
        double s = fmax(spread_at(trial, line, i, AHEAD - 1), local);
        double z = fabs(p->y[i] - predict(line, p->at[i])) / s;
        p->marks[i] = i == from || z > 3;
        inside = p->marks[i] != 0 ? 0 : inside + 1;
    }
    return i;
}

/* The history of a point: the last ones before it that are not marked. */
static struct history history_of(const struct points *p, const double *marks,
                                 size_t point)
{
    struct history history = {.count = 0};
    size_t found = 0, of[WINDOW];
    for (size_t i = point; i > 0 && found < WINDOW; i--) {
        if (marks[i - 1] == 0)
            of[found++] = i - 1;
    }
    while (found > 0)
        remember(p, &history, of[--found]);
    return history;
}

/* Goes through the points and marks those beyond the limit. The lines that
 * were drawn hold as long as the marks are those they were drawn with. */
static void mark(const struct trial *trial)
{
    const struct points *p = trial->p;
    size_t healthy = 0;
    bool as_drawn = true;
    memset(p->marks, 0, p->count * sizeof *p->marks);
    for (size_t i = 0; i < p->count;) {
        struct history history;
        struct line line = line_at(p, i, healthy < WINDOW ? healthy : WINDOW);
        if (!as_drawn && healthy >= trial->firm) {
            history = history_of(p, p->marks, i);
            line = line_of(p, &history);
        }
        /* The local spread only makes chances greater: it is asked for when
         * they are small without. */
        if (healthy >= trial->firm &&
            log_chance(trial, &line, 0, i) <= trial->limit) {
            history = history_of(p, p->marks, i);
            line = line_of(p, &history);
            double local = local_spread(p, &history, &line);
            if (log_chance(trial, &line, local, i) <= trial->limit) {
                i = mark_change(trial, &line, local, i);
                as_drawn = false;
                healthy = 0;
                for (size_t k = 0; k < i; k++)
                    healthy += p->marks[k] == 0;
                continue;
            }
        }
        as_drawn &= p->bad[i] == 0;
        healthy++;
        i++;
    }
}

/* Marks and measures until nothing moves; returns the spreads. */
static struct spreads settle(struct points *p, double limit, size_t firm)
{
    memset(p->bad, 0, p->count * sizeof *p->bad);
    struct spreads spreads = measure(p);
    for (int round = 0; round < ROUNDS; round++) {
        const struct trial trial = {p, &spreads, limit, firm};
        mark(&trial);
        bool moved = memcmp(p->marks, p->bad, p->count * sizeof *p->bad) != 0;
        memcpy(p->bad, p->marks, p->count * sizeof *p->bad);
        if (!moved)
            break;
        spreads = measure(p);
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

/* The smallest change that matters: half a binade, a quarter of a percent of
 * elements where there were none. */
static double least_change(enum tp_baseline_scale scale)
{
    return scale == TP_BASELINE_LOG     ? 0.5
           : scale == TP_BASELINE_RATIO ? 0.05
                                        : 0;
}

/* Lays the valid points out in scratch memory. */
static struct points lay_out(const struct tp_baseline_series *series,
                             double *scratch)
{
    size_t n = series->count;
    struct points p = {.matters = least_change(series->scale),
                       .at = scratch,
                       .y = scratch + n,
                       .floor = scratch + 2 * n,
                       .index = scratch + 3 * n,
                       .bad = scratch + 4 * n,
                       .level = scratch + 5 * n,
                       .slope = scratch + 6 * n,
                       .mid = scratch + 7 * n,
                       .room = scratch + 8 * n,
                       .marks = scratch + 9 * n};
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
                       .matters = from->matters,
                       .at = scratch,
                       .y = scratch + n,
                       .floor = scratch + 2 * n,
                       .index = scratch + 3 * n,
                       .bad = scratch + 4 * n,
                       .level = scratch + 5 * n,
                       .slope = scratch + 6 * n,
                       .mid = scratch + 7 * n,
                       .room = scratch + 8 * n,
                       .marks = scratch + 9 * n};
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

/* The line through the healthy points before one, and their spread. */
static struct line line_before(const struct points *p, size_t point,
                               double *local)
{
    struct history history = history_of(p, p->bad, point);
    struct line line = line_of(p, &history);
    *local = local_spread(p, &history, &line);
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
    double local;
    struct line line = line_before(p, low > FIRM ? low : at * fold, &local);
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

/* The band of every point. */
static void fill_trace(const struct tp_baseline_series *series,
                       const struct points *p, const struct spreads *spreads,
                       double single, const struct tp_baseline_trace *trace)
{
    struct history history = {.count = 0};
    const struct trial trial = {p, spreads, 0, FIRM};
    size_t k = 0;
    double level = NAN, spread = NAN;
    for (size_t i = 0; i < series->count; i++) {
        bool valid = k < p->count && (size_t)p->index[k] == i;
        if (valid && history.count >= 2) {
            struct line line = line_of(p, &history);
            level = predict(&line, p->at[k]);
            spread = fmax(spread_at(&trial, &line, k, 0),
                          local_spread(p, &history, &line));
        }
        if (trace->expected)
            trace->expected[i] = tp_baseline_bent(series->scale, level);
        if (trace->low)
            trace->low[i] =
                tp_baseline_bent(series->scale, level - single * spread);
        if (trace->high)
            trace->high[i] =
                tp_baseline_bent(series->scale, level + single * spread);
        if (valid && p->bad[k] == 0)
            remember(p, &history, k);
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
    const struct trial trial = {p, spreads, 0, FIRM};
    double local;
    struct line line = line_before(p, at, &local);
    double where = at < p->count ? p->at[at] : p->at[p->count - 1];
    size_t near = at < p->count ? at : p->count - 1;
    double level = predict(&line, where);
    double spread = fmax(spread_at(&trial, &line, near, 0), local);
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
        if (coarse.count <= FIRM_COARSE)
            break;
        settle(&coarse, limit, FIRM_COARSE);
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
    struct spreads spreads = {.tails = TAILS_HEAVY};
    double tried = fmax(options->tests, 1) * (double)(p.count + 1) * AHEAD *
                   SCALES;
    double limit = log(FALSE_ALARMS / tried);
    limit = fmin(limit, log(erfc(options->sigma / sqrt(2))));
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
        for (size_t h = 0; h < MEASURED; h++)
            spreads.ahead[h] = spread;
        conclude(series, &p, &spreads, 1, b);
    } else {
        spreads = settle(&p, limit, FIRM);
        fold = first_bad(&p) < p.count ? 1 : look_coarser(&p, limit, room);
        conclude(series, &p, &spreads, fold, b);
    }
    if (special != TP_CHANGE_NONE &&
        (b->kind == TP_CHANGE_NONE || at_special < b->first))
        conclude_special(series, at_special, special, b);
    for (size_t i = 0; i < series->count; i++)
        trace->alarm[i] = isinf(series->value[i]);
    for (size_t i = 0; i < p.count; i++)
        trace->alarm[(size_t)p.index[i]] = p.bad[i] != 0;
    if (p.count > 0 && (trace->expected || trace->low || trace->high))
        fill_trace(series, &p, &spreads, tail_limit(spreads.tails, limit),
                   trace);
}
