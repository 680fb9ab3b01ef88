/* SPDX-License-Identifier: MIT */
#include "stats/baseline_tails.h"

#include <math.h>

enum {
    START = 1, /* part that is always asked              */
    CALM = 4,  /* and of the others the calmest          */
    TOLD = 500 /* errors, of which 12 are beyond 3 spreads where tails are
                  heavy: less than 2 have a chance of 1 in 10^4          */
};

static const double limits[TP_TAILS_LIMITS] = {3, 5, 8};

/*
 * P(|T| > limit * f), where f makes the spread of T, measured as a run's is by
 * the 30 % quantile of |T|, that of normal noise.
 */
static const struct kind {
    int freedom;
    double beyond[TP_TAILS_LIMITS];
} kinds[] = {
    {30, {5.01e-3, 2.03e-5, 5.12e-9}}, {20, {6.41e-3, 5.81e-5, 9.31e-8}},
    {14, {8.44e-3, 1.60e-4, 1.08e-6}}, {10, {1.15e-2, 4.33e-4, 9.13e-6}},
    {7, {1.67e-2, 1.24e-3, 6.99e-5}},  {5, {2.46e-2, 3.20e-3, 3.75e-4}},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

void tp_tails_count(struct tp_tails *tails, size_t at, size_t count,
                    double spreads)
{
    size_t part = at * TP_TAILS_PARTS / count;
    tails->errors[part]++;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++)
        tails->beyond[part][i] += spreads > limits[i];
}

void tp_tails_merge(struct tp_tails *into, const struct tp_tails *from)
{
    for (size_t part = 0; part < TP_TAILS_PARTS; part++) {
        into->errors[part] += from->errors[part];
        for (size_t i = 0; i < TP_TAILS_LIMITS; i++)
            into->beyond[part][i] += from->beyond[part][i];
    }
}

static double share(const struct tp_tails *tails, size_t part, size_t limit)
{
    double n = (double)tails->errors[part];
    return n > 0 ? (double)tails->beyond[part][limit] / n : 1;
}

/* Errors beyond a limit in the parts that are asked, and all errors there. */
static double calmest(const struct tp_tails *tails, size_t limit, double *all)
{
    size_t order[TP_TAILS_PARTS];
    double beyond = 0;
    for (size_t i = 0; i < TP_TAILS_PARTS; i++) {
        size_t k = i;
        for (; k > START && i >= START &&
               share(tails, order[k - 1], limit) > share(tails, i, limit);
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    *all = 0;
    for (size_t i = 0; i < START + CALM; i++) {
        beyond += (double)tails->beyond[order[i]][limit];
        *all += (double)tails->errors[order[i]];
    }
    return beyond;
}

/* No more than expected and two deviations of a Poisson count; one is always
 * let pass. */
static bool is_expected(const struct tp_tails *tails, size_t limit,
                        const struct kind *kind)
{
    double all, beyond = calmest(tails, limit, &all);
    double expected = kind->beyond[limit] * all;
    return beyond <= expected + 2 * sqrt(expected) + 1;
}

static bool agrees(const struct tp_tails *tails, const struct kind *kind)
{
    bool yes = true;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++)
        yes &= is_expected(tails, i, kind);
    return yes;
}

bool tp_tails_agree(const struct tp_tails *tails, int freedom)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].freedom == freedom)
            return agrees(tails, &kinds[i]);
    }
    return false;
}

/* What was counted beyond the first limit and a deviation more must be
 * expected: a little heavier than it is, rather than lighter. */
int tp_tails_freedom(const struct tp_tails *tails)
{
    double all, beyond = calmest(tails, 0, &all);
    double most = beyond + sqrt(beyond) + 1;
    if (all < TOLD)
        return TP_TAILS_HEAVY;
    for (size_t i = 0; i < KINDS; i++) {
        if (most <= kinds[i].beyond[0] * all && agrees(tails, &kinds[i]))
            return kinds[i].freedom;
    }
    return TP_TAILS_HEAVY;
}
