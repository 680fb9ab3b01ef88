/* SPDX-License-Identifier: MIT */
/*
 * A point that lies above all others. How far noise reaches beyond what a
 * series has shown depends on its kind, which few points do not tell: errors of
 * Student's t with 5 degrees of freedom in log2 reach 8 spreads in one of 2 000
 * points, normal ones of the values themselves never. So all kinds are asked,
 * in log2 and in values, each as loud as the other errors of that side make it
 * likely: the chance is the mean over the kinds, weighted by their likelihoods.
 *
 * It is the chance that the largest error is that much larger than the next,
 * P(|T| > first) / P(|T| > second): given how far a run reached already it does
 * not matter how many points there were, and where spikes are common none lies
 * apart. A limit for each point, as in baseline_mark.c, has to allow for the
 * heaviest tails. To take the likeliest kind alone would trust a few hundred
 * errors; a generalised Pareto tail is fitted to the five or ten largest.
 *
 * Cost: O(n), and 12 logarithms an error where a point is far off.
 */
#include "series/baseline_lone.h"

#include <math.h>
#include <string.h>

#include "stats/quantile.h"

enum {
    AROUND = TP_MARK_AHEAD, /* points that are part of what is asked          */
    ENOUGH = 64,            /* errors: fewer tell nothing of their kind       */
    SCALES = 2,             /* log2, values                                   */
    FREEDOMS = 6
};

static const int freedoms[FREEDOMS] = {5, 7, 10, 14, 20, 30};

/* Binades that a single point is off, to be worth a word. */
static const double LEAST = 2;

/* Spreads of the last points, in those of the run, that chance seldom makes of
 * 16 normal errors: only what is rougher than that is rougher. */
static const double ROUGH = 1.5;

/* Levels have errors that are smaller by a tenth where there is no trend: lines
 * are taken where they are better, but for chance. */
static const double ABOUT = 1.1;

/* Turns the 30 % quantile of absolute errors into a standard deviation, as in
 * baseline_mark.c; that of Student's t is another part of it. */
static const double LOW_QUANTILE = 0.3, LOW_TO_SIGMA = 2.5955;

static const double LN_2 = 0.693147180559945309, LN_PI = 1.14472988584940017;

/* An error in log2 as it is seen: itself, or as a part of what is expected. */
static double seen_as(int scale, double error)
{
    return scale ? expm1(error * LN_2) : error;
}

/* log of the factor by which that stretches errors. */
static double stretch(int scale, double error)
{
    return scale ? log(LN_2) + error * LN_2 : 0;
}

/* What is asked about: the errors above what is expected, but for the point and
 * those around it. */
struct scene {
    const struct tp_points *p;
    size_t point;
    double error;   /* of the point                                        */
    double rougher; /* times that it is rougher there than elsewhere        */
    double sure;    /* part of the errors that are told by themselves       */
};

static bool is_asked(const struct scene *s, size_t point)
{
    return s->p->bad[point] == 0 &&
           (point + AROUND < s->point || point > s->point + AROUND);
}

/* The spread of such errors and of those below, and the farthest. */
static double measure(const struct scene *s, int scale, double *farthest)
{
    size_t n = 0;
    *farthest = 0;
    for (size_t i = TP_LINE_WINDOW; i < s->p->count; i++) {
        double error = seen_as(scale, tp_mark_error(s->p, i));
        if (!is_asked(s, i) || error != error)
            continue;
        s->p->room[n++] = fabs(error);
        *farthest = fmax(*farthest, error);
    }
    size_t rank = (size_t)(LOW_QUANTILE * (double)n);
    double low = n ? tp_select_rank(s->p->room, n, rank) : 0;
    double floor = s->point < s->p->count ? s->p->floor[s->point] : 0;
    return fmax(LOW_TO_SIGMA * low, fmax(floor, 1e-12));
}

/* log of the likelihood of the errors above, times `sure`. */
static double likelihood(const struct scene *s, int scale, int freedom,
                         double unit)
{
    double f = freedom, sum = 0, n = 0;
    for (size_t i = TP_LINE_WINDOW; i < s->p->count; i++) {
        double error = tp_mark_error(s->p, i);
        if (!is_asked(s, i) || !(error > 0))
            continue;
        double t = seen_as(scale, error) / unit;
        n++;
        sum += stretch(scale, error) - (f + 1) / 2 * log1p(t * t / f);
    }
    double each = lgamma((f + 1) / 2) - lgamma(f / 2) - (log(f) + LN_PI) / 2;
    return s->sure * (sum + n * (each - log(unit)));
}

/* log of the probability that noise puts the point where it is: so far, if
 * that was to be asked, or so much farther than the next. */
static double log_chance(const struct scene *s, bool farthest)
{
    double weight[SCALES * FREEDOMS], chance[SCALES * FREEDOMS];
    double most = -INFINITY, all = 0, sum = 0;
    for (int k = 0; k < SCALES * FREEDOMS; k++) {
        int scale = k / FREEDOMS, freedom = freedoms[k % FREEDOMS];
        double next, spread = measure(s, scale, &next);
        double low = tp_chance_limit(freedom, log(1 - LOW_QUANTILE));
        double unit = spread / (LOW_TO_SIGMA * low);
        double off = seen_as(scale, s->error) / s->rougher;
        weight[k] = likelihood(s, scale, freedom, unit);
        chance[k] = tp_chance_log(freedom, off / unit) -
                    (farthest ? tp_chance_log(freedom, next / unit) : 0);
        most = fmax(most, weight[k]);
    }
    for (int k = 0; k < SCALES * FREEDOMS; k++) {
        all += exp(weight[k] - most);
        sum += exp(weight[k] - most + fmin(chance[k], 0));
    }
    return log(sum / all);
}

/* What a point is off its line and, where that has a trend, the level before,
 * whichever is less; 0: it lies between. */
static double error_at(const struct tp_points *p, size_t point)
{
    double error = tp_mark_error(p, point);
    double level = p->flat ? p->even[point] : p->level[point];
    double apart = p->y[point] - level;
    if (!(error * apart > 0))
        return 0;
    return fabs(error) < fabs(apart) ? error : apart;
}

/* Levels predict better where there is no trend, lines where there is one:
 * takes what leaves the smaller errors; returns their spread. */
static double choose_lines(struct tp_points *p)
{
    const struct scene all = {.p = p, .point = p->count + 2 * AROUND};
    double spread[2], farthest;
    if (p->flat)
        return measure(&all, 0, &farthest);
    for (int flat = 0; flat < 2; flat++) {
        p->flat = flat;
        spread[flat] = measure(&all, 0, &farthest);
    }
    p->flat = spread[1] < ABOUT * spread[0];
    return spread[p->flat];
}

static size_t find_farthest(const struct tp_points *p)
{
    size_t best = p->count;
    double most = 0;
    for (size_t i = TP_LINE_WINDOW; i < p->count; i++) {
        double error = p->bad[i] == 0 ? error_at(p, i) : 0;
        best = error > most ? i : best;
        most = fmax(error, most);
    }
    return best;
}

/* Marks the point and those next to it. */
static void mark(struct tp_points *p, size_t point, double outside)
{
    p->bad[point] = 1;
    for (size_t i = point + 1;
         i < p->count && i <= point + AROUND && error_at(p, i) > outside; i++)
        p->bad[i] = 1;
    for (size_t i = point; i-- > TP_LINE_WINDOW && i + AROUND >= point &&
                           error_at(p, i) > outside;)
        p->bad[i] = 1;
}

/* Whether chance is unlikely to put the point where it is; marks it if so. */
static bool judge(struct tp_points *p, size_t point, double spread,
                  const struct tp_lone_rules *rules)
{
    bool any = rules->point == p->count;
    struct tp_history history = tp_mark_history(p, p->bad, point);
    struct tp_line line = tp_line_fit(p, &history);
    double local = tp_line_spread(p, &history, &line) / ROUGH;
    double hang = tp_mark_hang(p, spread);
    struct scene s = {.p = p,
                      .point = point,
                      .error = error_at(p, point),
                      .rougher = fmax(local / spread, 1),
                      .sure = (1 - hang) / (1 + hang)};
    double least = any ? LEAST : p->matters;
    double outside = rules->outside * fmax(spread, p->floor[point]);
    if (s.error < fmax(least, outside * s.rougher) ||
        log_chance(&s, any) > rules->limit)
        return false;
    mark(p, point, outside);
    return true;
}

bool tp_lone_mark(struct tp_points *p, const struct tp_lone_rules *rules)
{
    bool flat = p->flat, found = false;
    if (p->count < TP_LINE_WINDOW + ENOUGH)
        return false;
    double spread = choose_lines(p);
    size_t point = rules->point == p->count ? find_farthest(p) : rules->point;
    if (point >= TP_LINE_WINDOW && point < p->count && p->bad[point] == 0)
        found = judge(p, point, spread, rules);
    p->flat = flat;
    return found;
}
