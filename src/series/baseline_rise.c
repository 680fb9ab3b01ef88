/* SPDX-License-Identifier: MIT */
/*
 * A change is established by points that healthy ones hardly ever reach. One
 * that grows is under way by then. So, once it is established, two models of
 * it are compared: that it began with its first marked point, by any jump and
 * growth after it, and that it grew steadily from nothing, from an earlier
 * point on. The second has a number less to please the data with, and is
 * believed where it fits them better all the same. Nothing is alarmed that was
 * not before, so the rate of false alarms stays what it is.
 *
 * Errors have Student's t with 5 degrees of freedom, as in baseline_retro.c. An
 * earlier and a later point are about as likely as the best one when twice the
 * logarithm of their likelihoods differs by no more than 4. That would be two
 * standard deviations if the growth were even and its line known; as it is,
 * four spans of five hold the truth (tests/unit/series/test_baseline_growth.c).
 */
#include "series/baseline_rise.h"

#include <math.h>

enum {
    BACK = TP_LINE_WINDOW, /* points that are tried before the marked one   */
    AHEAD = TP_MARK_AHEAD, /* points that growth is measured by: marked ones
                              and single ones between them                  */
    LEAST = 4              /* fewer do not show that it is growth           */
};

static const double ABOUT_AS_LIKELY = 4;

/* What the models are to explain: points [from, end). */
struct window {
    const struct tp_points *p;
    size_t from, shown, end;
    double step;   /* iterations between points                            */
    double spread; /* of healthy ones                                      */
};

/* A model: after the line before `begin`, jump + slope * time. */
struct model {
    struct tp_line line;
    size_t begin;
    double jump, slope;
};

static double time_since(const struct window *s, size_t begin, size_t point)
{
    return s->p->at[point] - s->p->at[begin] + s->step;
}

static double error_of(const struct window *s, const struct tp_line *line,
                       size_t point)
{
    return s->p->y[point] - tp_line_predict(line, s->p->at[point]);
}

/* Minus twice the logarithm of a model's likelihood, but for a constant. */
static double cost_of(const struct window *s, const struct model *model)
{
    double sum = 0;
    for (size_t i = s->from; i < s->end; i++) {
        double error = error_of(s, &model->line, i);
        if (i >= model->begin)
            error -=
                model->jump + model->slope * time_since(s, model->begin, i);
        double z = error / s->spread;
        sum += (TP_TAILS_HEAVY + 1) * log1p(z * z / TP_TAILS_HEAVY);
    }
    return sum;
}

static struct model begin_model(const struct window *s, size_t begin)
{
    struct tp_history history = tp_mark_history(s->p, s->p->bad, begin);
    return (struct model){.line = tp_line_fit(s->p, &history), .begin = begin};
}

/* Steady growth from nothing, by least squares. */
static struct model grows_from(const struct window *s, size_t begin)
{
    struct model model = begin_model(s, begin);
    double up = 0, down = 0;
    for (size_t i = begin; i < s->end; i++) {
        double time = time_since(s, begin, i);
        up += time * error_of(s, &model.line, i);
        down += time * time;
    }
    model.slope = up / down;
    return model;
}

/* A jump with steady growth after it, by least squares. The line is that of
 * another model: one through points that grow already would follow them. */
static struct model jumps_at(const struct window *s, size_t begin,
                             const struct model *other)
{
    struct model model = {.line = other->line, .begin = begin};
    double n = (double)(s->end - begin), time = 0, error = 0, up = 0, down = 0;
    for (size_t i = begin; i < s->end; i++) {
        time += time_since(s, begin, i) / n;
        error += error_of(s, &model.line, i) / n;
    }
    for (size_t i = begin; i < s->end; i++) {
        double away = time_since(s, begin, i) - time;
        up += away * (error_of(s, &model.line, i) - error);
        down += away * away;
    }
    model.slope = up / down;
    model.jump = error - model.slope * time;
    return model;
}

/* The points and their spread; false where there are too few. */
static bool set_scene(const struct tp_points *p,
                      const struct tp_spreads *spreads, size_t shown,
                      struct window *s)
{
    size_t end = shown + 1;
    for (size_t i = end; i < p->count && i < shown + AHEAD && i <= end + 1; i++)
        end = p->bad[i] != 0 ? i + 1 : end;
    if (end < shown + LEAST || shown < TP_LINE_FIRM + 1)
        return false;
    size_t from = shown > TP_LINE_FIRM + BACK ? shown - BACK : TP_LINE_FIRM;
    struct tp_history history = tp_mark_history(p, p->bad, from);
    struct tp_line line = tp_line_fit(p, &history);
    *s = (struct window){.p = p, .from = from, .shown = shown, .end = end};
    s->step = (p->at[shown] - p->at[from]) / (double)(shown - from);
    s->spread = fmax(tp_mark_spread(p, spreads, &line, shown),
                     tp_line_spread(p, &history, &line));
    return true;
}

bool tp_rise_find(const struct tp_points *p, const struct tp_spreads *spreads,
                  size_t shown, struct tp_rise *rise)
{
    struct window s;
    double costs[BACK + 1], least = INFINITY;
    struct model best = {.begin = shown};
    if (!set_scene(p, spreads, shown, &s))
        return false;
    for (size_t i = s.from; i <= shown; i++) {
        struct model model = grows_from(&s, i);
        costs[i - s.from] = cost_of(&s, &model);
        if (costs[i - s.from] < least) {
            least = costs[i - s.from];
            best = model;
        }
    }
    struct model jump = jumps_at(&s, shown, &best);
    if (best.begin == shown || cost_of(&s, &jump) <= least)
        return false;
    rise->first = rise->earliest = rise->latest = best.begin;
    for (size_t i = s.from; i <= shown; i++) {
        if (costs[i - s.from] > least + ABOUT_AS_LIKELY)
            continue;
        rise->earliest = i < rise->earliest ? i : rise->earliest;
        rise->latest = i > rise->latest ? i : rise->latest;
    }
    return true;
}
