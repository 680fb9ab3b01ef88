/* SPDX-License-Identifier: MIT */
/*
 * Which points of a series are beyond the limit. Every point is predicted by
 * the line or by the level before it; errors 1, 2, 4 and 8 points ahead give
 * the spread, by a low quantile. A run of up to eight points on one side is
 * marked when the probabilities of its errors, combined as by Fisher, are
 * below the limit. Marked points are left out of lines and spreads and all is
 * done again, at most four times.
 *
 * CUSUM and exponentially weighted means see small shifts sooner, but have to
 * be told the spread and the shift; searches for change points (PELT) look for
 * levels, and training has slopes. Cost: O(n) a round, each point with 16
 * before and 8 after it.
 */
#include "series/baseline_mark.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats/quantile.h"

enum {
    MEASURED = TP_MARK_MEASURED,
    AHEAD = TP_MARK_AHEAD,
    ROUNDS = 4,  /* of leaving out and fitting again                    */
    RETURN = 2,  /* points in the band that end a change                */
    MANY = 100,  /* points whose errors are noise, not curvature        */
    ENOUGH = 256 /* errors for a quantile                               */
};

static const double HALF_PI = 1.57079632679489662;

/* Turns the 30 % quantile of absolute errors into a standard deviation: of 40
 * errors of which a fault spoils 16, it is the median of the others. */
static const double LOW_QUANTILE = 0.3, LOW_TO_SIGMA = 2.5955;

/* Part of the variance of an error that all points ahead share: that of the
 * prediction itself, for a line through the medians of eight (1.57 / 8 each)
 * at their distance of 4.5 and 8 points, and for the mean of both. */
static const double SHARED_LINE = 0.35, SHARED_LEVEL = 0.09;

/* Levels are better when their errors are so much smaller. */
static const double CLEARLY = 0.8;

/* --- the spread of a run ----------------------------------------------- */

/* Lines before every point, from the healthy ones. */
static void draw_lines(const struct tp_points *p)
{
    struct tp_history history = {.count = 0};
    for (size_t i = 0; i < p->count; i++) {
        struct tp_line line = {.level = NAN, .even = NAN};
        if (history.count >= 2)
            line = tp_line_fit(p, &history);
        p->level[i] = line.level;
        p->slope[i] = line.slope;
        p->mid[i] = line.mid;
        p->even[i] = line.even;
        if (p->bad[i] == 0)
            tp_line_remember(p, &history, i);
    }
}

/* Which of the measured distances a point `ahead` (from 0) is judged by: the
 * next one that is not nearer. */
static size_t distance_of(size_t ahead)
{
    return ahead == 0 ? 0 : ahead == 1 ? 1 : ahead < 4 ? 2 : 3;
}

/* Of the level or the line before a point, for another. */
static double error_of(const struct tp_points *p, size_t before, size_t point)
{
    if (p->flat)
        return p->y[point] - p->even[before];
    return p->y[point] - p->level[before] -
           p->slope[before] * (p->at[point] - p->mid[before]);
}

/* Absolute errors `ahead` points after each line, or further ahead, where
 * their overlap leaves less to learn, of so many; returns their number. */
static size_t list_errors(const struct tp_points *p, size_t ahead)
{
    size_t n = 0, step = ahead == 0 ? 1 : p->count / ENOUGH + 1;
    for (size_t i = 0; i + ahead < p->count; i += step) {
        size_t k = i + ahead;
        double error = error_of(p, i, k);
        if (error == error && p->bad[i] == 0 && p->bad[k] == 0)
            p->room[n++] = fabs(error);
    }
    return n;
}

/* Their low quantile as a standard deviation. */
static double low_spread(const struct tp_points *p, size_t n)
{
    size_t rank = (size_t)(LOW_QUANTILE * (double)n);
    return n ? LOW_TO_SIGMA * tp_select_rank(p->room, n, rank) : 0;
}

/* Whether a series is clearly better predicted by levels than by lines, at
 * the greatest distance: lines follow a trend, and pay for it with 1.6 times
 * the error where there is none. */
static bool is_flat(struct tp_points *p)
{
    double spread[2];
    for (int flat = 0; flat < 2; flat++) {
        p->flat = flat;
        spread[flat] = low_spread(p, list_errors(p, AHEAD - 1));
    }
    return spread[1] <= CLEARLY * spread[0];
}

/* Signs of neighbouring errors: of a normal AR(1) process a share of
 * 1/2 + asin(rho) / pi is equal. Half a deviation of chance is taken off. */
double tp_mark_hang(const struct tp_points *p, double spread)
{
    size_t pairs = 0, same = 0;
    int before = 0;
    for (size_t i = 0; i < p->count; i++) {
        double error = error_of(p, i, i);
        bool usual = p->bad[i] == 0 && fabs(error) < 3 * spread;
        int now = usual ? (error > 0) - (error < 0) : 0;
        pairs += now != 0 && before != 0;
        same += now != 0 && now == before;
        before = now;
    }
    double n = fmax((double)pairs, 1), chance = 0.25 / sqrt(n);
    double share = (double)same / n - chance;
    return fmax(p->flat ? SHARED_LEVEL : SHARED_LINE,
                sin((2 * share - 1) * HALF_PI));
}

/* Counts the errors of whole windows, one point ahead. */
static void count_tails(const struct tp_points *p, double spread,
                        struct tp_tails *tails)
{
    size_t from = TP_LINE_WINDOW;
    for (size_t i = from; i < p->count; i++) {
        double error = error_of(p, i, i);
        if (p->bad[i] == 0 && error == error && spread > 0)
            tp_tails_count(tails, i - from, p->count - from, error / spread);
    }
}

/*
 * What is known of such series, unless this one is rougher, and without such
 * knowledge what a long series shows by itself. The spread is known no better
 * than from half as many errors as are independent of each other.
 */
static struct tp_freedom find_freedom(const struct tp_points *p,
                                      const struct tp_mark_rules *rules,
                                      const struct tp_spreads *spreads)
{
    struct tp_tails own = {.errors = {0}};
    double independent =
        (double)p->count * (1 - spreads->hang) / (1 + spreads->hang);
    count_tails(p, spreads->ahead[0], &own);
    struct tp_freedom found = tp_tails_freedom(&own, 1);
    for (int side = 0; side < 2; side++) {
        if (p->count >= MANY && rules->freedom.side[side] != 0 &&
            tp_tails_agree(&own, side, rules->freedom))
            found.side[side] = rules->freedom.side[side];
        found.side[side] = (int)fmax(TP_TAILS_HEAVY,
                                     fmin(found.side[side], independent / 2));
    }
    return found;
}

static struct tp_spreads measure(const struct tp_points *p,
                                 const struct tp_mark_rules *rules)
{
    struct tp_spreads spreads;
    for (size_t h = 0; h < MEASURED; h++) {
        size_t n = list_errors(p, ((size_t)1 << h) - 1);
        double s = low_spread(p, n);
        spreads.ahead[h] = h ? fmax(s, spreads.ahead[h - 1]) : s;
    }
    spreads.hang = tp_mark_hang(p, spreads.ahead[0]);
    spreads.freedom = find_freedom(p, rules, &spreads);
    return spreads;
}

/* --- marking ----------------------------------------------------------- */

/* The first point's logarithm is so much of the mean at least. */
static const double BEGINS = 0.5;

/* Spreads that a trend moves from the level it is drawn through to the next
 * point, to be one: chance does that in one of some thousand lines. */
static const double STEEP = 2;

/* What is asked of points. */
struct trial {
    const struct tp_points *p;
    const struct tp_spreads *spreads;
    const struct tp_mark_rules *rules;
};

/* The variance of a point `ahead` of a line through `used` ones, in units of
 * that of a point: medians of n have 1.57 / n of it, and the slope is that of
 * two, half of the points apart. */
static double variance_of(size_t used, size_t ahead, bool flat)
{
    double half = (double)(used / 2), rest = (double)used - half;
    double far = ((rest + 1) / 2 + (double)ahead) / ((double)used / 2);
    if (flat)
        return 1 + 1.57 / (double)used;
    return 1 + 1.57 * ((1 + far) * (1 + far) / rest + far * far / half);
}

/* A line through few points is less sure of itself. */
static double spread_ahead(const struct tp_points *p,
                           const struct tp_spreads *spreads,
                           const struct tp_line *line, size_t point,
                           size_t ahead)
{
    double s = spreads->ahead[distance_of(ahead)];
    bool flat = p->flat || line->used < TP_LINE_FIRM;
    if (line->used < TP_LINE_WINDOW)
        s *= sqrt(variance_of(line->used, ahead, flat) /
                  variance_of(TP_LINE_WINDOW, ahead, flat));
    return fmax(s, fmax(p->floor[point], 1e-12));
}

double tp_mark_spread(const struct tp_points *p,
                      const struct tp_spreads *spreads,
                      const struct tp_line *line, size_t point)
{
    return spread_ahead(p, spreads, line, point, 0);
}

static double spread_at(const struct trial *trial, const struct tp_line *line,
                        size_t point, size_t ahead)
{
    return spread_ahead(trial->p, trial->spreads, line, point, ahead);
}

/* The line before a point, as draw_lines left it; `used` points of it. */
static struct tp_line line_at(const struct tp_points *p, size_t point,
                              size_t used)
{
    return (struct tp_line){.used = used,
                            .mid = p->mid[point],
                            .level = p->flat ? p->even[point] : p->level[point],
                            .slope = p->flat ? 0 : p->slope[point],
                            .reach = INFINITY};
}

/* Whether the line before a point is clearly a trend there. */
static bool is_steep(const struct trial *trial, const struct tp_line *line,
                     size_t point)
{
    double trend = tp_line_predict(line, trial->p->at[point]) - line->level;
    return fabs(trend) > STEEP * spread_at(trial, line, point, 0);
}

/* The error of a point. What falls steeply, as gradients do at first, falls
 * ever less: where a trend is steep, only what is beyond it or beyond the level
 * that it came from is off. */
static double error_after(const struct tp_points *p,
                          const struct tp_line *line, bool steep, size_t point)
{
    double error = p->y[point] - tp_line_predict(line, p->at[point]);
    double apart = p->y[point] - line->level, trend = apart - error;
    if (!steep || error * trend > 0)
        return error;
    return apart * trend > 0 ? 0 : apart;
}

/*
 * log of the probability that a healthy run deviates as much from here on.
 * Points that differ by less than what matters say nothing: a weight whose
 * amax creeps up by 2 % in a run without noise is no fault. A point that is
 * far less unlikely than those after it is not where the change begins.
 */
static double log_chance(const struct trial *trial, const struct tp_line *line,
                         double local, size_t from)
{
    const struct tp_points *p = trial->p;
    double sum = 0, best = 0, most = 0, first = 0;
    int side = 0;
    int freedom = TP_TAILS_HEAVY;
    bool steep = is_steep(trial, line, from);
    size_t m = 1;
    for (; m <= AHEAD && from + m <= p->count; m++) {
        size_t k = from + m - 1;
        double error = error_after(p, line, steep, k);
        if (m == 1) {
            side = error > 0 ? 1 : -1;
            /* A line through few points is not sure of its spread. */
            if (line->used == TP_LINE_WINDOW)
                freedom = trial->spreads->freedom.side[error > 0];
        }
        double s = fmax(spread_at(trial, line, k, m - 1), local);
        if (error * side < trial->rules->outside * s)
            break;
        double one = tp_chance_log(freedom, fabs(error) / s);
        sum += one;
        first = m == 1 ? one : first;
        most = fmax(most, fabs(error));
        double real = 1 + (double)(m - 1) * (1 - trial->spreads->hang);
        if (most >= p->matters)
            best = fmin(best, tp_chance_combined(sum * real / (double)m, m));
    }
    bool begins = m > 1 && first <= BEGINS * sum / (double)(m - 1);
    return begins ? best : 0;
}

/* Marks a change that begins at a point; returns where it has ended. */
static size_t mark_change(const struct trial *trial, const struct tp_line *line,
                          double local, size_t from)
{
    const struct tp_points *p = trial->p;
    size_t inside = 0, i = from;
    bool steep = is_steep(trial, line, from);
    for (; i < p->count && inside < RETURN; i++) {
        double s = fmax(spread_at(trial, line, i, AHEAD - 1), local);
        double z = fabs(error_after(p, line, steep, i)) / s;
        p->marks[i] = i == from || z > trial->rules->outside;
        inside = p->marks[i] != 0 ? 0 : inside + 1;
    }
    return i;
}

/* The history of a point: the last ones before it that are not marked. */
struct tp_history tp_mark_history(const struct tp_points *p,
                                  const double *marks, size_t point)
{
    struct tp_history history = {.count = 0};
    size_t found = 0, of[TP_LINE_WINDOW];
    for (size_t i = point; i > 0 && found < TP_LINE_WINDOW; i--) {
        if (marks[i - 1] == 0)
            of[found++] = i - 1;
    }
    while (found > 0)
        tp_line_remember(p, &history, of[--found]);
    return history;
}

/* Goes through the points and marks those beyond the limit, but for `kept`
 * ones that are known. The lines that were drawn hold as long as the marks
 * are those they were drawn with. */
static void mark(const struct trial *trial, size_t kept)
{
    const struct tp_points *p = trial->p;
    size_t healthy = 0;
    bool as_drawn = true;
    memset(p->marks, 0, p->count * sizeof *p->marks);
    memcpy(p->marks, p->bad, kept * sizeof *p->marks);
    for (size_t i = 0; i < kept; i++)
        healthy += p->marks[i] == 0;
    for (size_t i = kept; i < p->count;) {
        struct tp_history history;
        struct tp_line line =
            line_at(p, i, healthy < TP_LINE_WINDOW ? healthy : TP_LINE_WINDOW);
        if (!as_drawn && healthy >= trial->rules->firm) {
            history = tp_mark_history(p, p->marks, i);
            line = tp_line_fit(p, &history);
        }
        /* The local spread only makes chances greater: it is asked for when
         * they are small without. */
        if (healthy >= trial->rules->firm &&
            log_chance(trial, &line, 0, i) <= trial->rules->limit) {
            history = tp_mark_history(p, p->marks, i);
            line = tp_line_fit(p, &history);
            double local = tp_line_spread(p, &history, &line);
            if (log_chance(trial, &line, local, i) <= trial->rules->limit) {
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

double tp_mark_tails(struct tp_points *p, struct tp_tails *tails)
{
    memset(p->bad, 0, p->count * sizeof *p->bad);
    p->flat = false;
    draw_lines(p);
    p->flat = is_flat(p);
    double spread = low_spread(p, list_errors(p, 0));
    count_tails(p, spread, tails);
    return spread;
}

double tp_mark_error(const struct tp_points *p, size_t point)
{
    return error_of(p, point, point);
}

struct tp_spreads tp_mark_settle(struct tp_points *p,
                                 const struct tp_mark_rules *rules, size_t kept)
{
    memset(p->bad + kept, 0, (p->count - kept) * sizeof *p->bad);
    p->flat = false;
    draw_lines(p);
    p->flat = rules->flat || is_flat(p);
    struct tp_spreads spreads = measure(p, rules);
    for (int round = 0; round < ROUNDS; round++) {
        const struct trial trial = {p, &spreads, rules};
        mark(&trial, kept);
        bool moved = memcmp(p->marks, p->bad, p->count * sizeof *p->bad) != 0;
        memcpy(p->bad, p->marks, p->count * sizeof *p->bad);
        if (!moved)
            break;
        draw_lines(p);
        spreads = measure(p, rules);
    }
    return spreads;
}
