/* SPDX-License-Identifier: MIT */
/*
 * How heavy the tails of errors are. Errors beyond 3, 5 and 8 spreads are
 * counted, by side and by eighth of the run, and compared with what Student's
 * t of 30, 20, 14, 10, 7 and 5 degrees of freedom has there: the lightest that
 * the counts do not exceed, but for chance, is taken. Counts add up, so many
 * series of one kind tell together what one has too few points for.
 *
 * Kurtosis, or a fit by maximum likelihood, would be ruled by the very faults
 * that are looked for; of counts, the parts of a run that have most are left
 * out. Cost: O(1) an error, 448 bytes a kind and metric.
 */
#include "series/baseline_tails.h"

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
    {30, {5.0076e-3, 2.0305e-5, 5.1236e-9}},
    {20, {6.4107e-3, 5.8129e-5, 9.3118e-8}},
    {14, {8.4350e-3, 1.6038e-4, 1.0757e-6}},
    {10, {1.1482e-2, 4.3348e-4, 9.1311e-6}},
    {7, {1.6689e-2, 1.2380e-3, 6.9944e-5}},
    {5, {2.4575e-2, 3.1979e-3, 3.7545e-4}},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

void tp_tails_count(struct tp_tails *tails, size_t at, size_t count,
                    double spreads)
{
    size_t part = at * TP_TAILS_PARTS / count;
    tails->errors[part]++;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++)
        tails->beyond[part][spreads > 0][i] += fabs(spreads) > limits[i];
}

void tp_tails_merge(struct tp_tails *into, const struct tp_tails *from)
{
    for (size_t part = 0; part < TP_TAILS_PARTS; part++) {
        into->errors[part] += from->errors[part];
        for (size_t i = 0; i < TP_TAILS_LIMITS; i++) {
            into->beyond[part][0][i] += from->beyond[part][0][i];
            into->beyond[part][1][i] += from->beyond[part][1][i];
        }
    }
}

static double share(const struct tp_tails *tails, size_t part, int side,
                    size_t limit)
{
    double n = (double)tails->errors[part];
    return n > 0 ? (double)tails->beyond[part][side][limit] / n : 1;
}

/* Errors of a side beyond a limit in the parts that are asked, and all errors
 * there. */
static double calmest(const struct tp_tails *tails, int side, size_t limit,
                      double *all)
{
    size_t order[TP_TAILS_PARTS];
    double beyond = 0;
    for (size_t i = 0; i < TP_TAILS_PARTS; i++) {
        size_t k = i;
        for (; k > START && i >= START &&
               share(tails, order[k - 1], side, limit) >
                   share(tails, i, side, limit);
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    *all = 0;
    for (size_t i = 0; i < START + CALM; i++) {
        beyond += (double)tails->beyond[order[i]][side][limit];
        *all += (double)tails->errors[order[i]];
    }
    return beyond;
}

/* The same of both sides; where one is clearly heavier, as if both were. */
static double of_both(const struct tp_tails *tails, size_t limit, double *all)
{
    double errors[2], below = calmest(tails, 0, limit, &errors[0]),
                      above = calmest(tails, 1, limit, &errors[1]);
    double sum = below + above;
    *all = above > below ? errors[1] : errors[0];
    bool lopsided = fabs(above - below) > 2 * sqrt(sum) + 1;
    return lopsided ? 2 * fmax(below, above) : sum;
}

/* No more than expected and two deviations of a Poisson count; one is always
 * let pass. */
static bool is_expected(const struct tp_tails *tails, size_t limit,
                        const struct kind *kind)
{
    double all, beyond = of_both(tails, limit, &all);
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
    double all, beyond = of_both(tails, 0, &all);
    double most = beyond + sqrt(beyond) + 1;
    if (all < TOLD)
        return TP_TAILS_HEAVY;
    for (size_t i = 0; i < KINDS; i++) {
        if (most <= kinds[i].beyond[0] * all && agrees(tails, &kinds[i]))
            return kinds[i].freedom;
    }
    return TP_TAILS_HEAVY;
}
