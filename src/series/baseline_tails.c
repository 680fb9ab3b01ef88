/* SPDX-License-Identifier: MIT */
/*
 * How heavy the tails of errors are. Errors beyond 2, 3, 5 and 8 spreads are
 * counted, by side and by eighth of the run, and compared with what Student's
 * t of 30, 20, 14, 10, 7 and 5 degrees of freedom has there: the lightest that
 * the counts do not exceed, but for chance, is taken, where they make it
 * clearly likelier than the heaviest. Counts add up, so many series of one kind
 * tell together what one has too few points for.
 *
 * Each side is judged by itself where they differ: the logarithm of a
 * magnitude has a heavy lower side, which says nothing of the upper one.
 *
 * Kurtosis, or a fit by maximum likelihood, would be ruled by the very faults
 * that are looked for; of counts, the parts of a run that have most are left
 * out. Cost: O(1) an error, 576 bytes a kind and metric.
 */
#include "series/baseline_tails.h"

#include <math.h>

enum {
    START = 1, /* part that is always asked                         */
    CALM = 4,  /* and of the others the calmest                     */
    TAIL = 1   /* limits from this one on are of the tail, not the body */
};

/* log of how much likelier than heavy tails lighter ones must be: of 500 normal
 * errors that is the rule. */
static const double SURE = 8.5;

/* Deviations of chance that sides differ by, at most, to be alike. A heavy side
 * and an empty one together would seem light. */
static const double ALIKE = 2.5;

static const double limits[TP_TAILS_LIMITS] = {2, 3, 5, 8};

/*
 * P(|T| > limit * f), where f makes the spread of T, measured as a run's is by
 * the 30 % quantile of |T|, that of normal noise.
 */
static const struct kind {
    int freedom;
    double beyond[TP_TAILS_LIMITS];
} kinds[] = {
    {30, {5.2451e-2, 5.0076e-3, 2.0305e-5, 5.1236e-9}},
    {20, {5.5960e-2, 6.4107e-3, 5.8129e-5, 9.3118e-8}},
    {14, {6.0485e-2, 8.4350e-3, 1.6038e-4, 1.0757e-6}},
    {10, {6.6531e-2, 1.1482e-2, 4.3348e-4, 9.1311e-6}},
    {7, {7.5594e-2, 1.6689e-2, 1.2380e-3, 6.9944e-5}},
    {5, {8.7604e-2, 2.4575e-2, 3.1979e-3, 3.7545e-4}},
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

/* What is known of a side: errors that are asked, and how many of them are
 * beyond each limit. */
struct seen {
    double all, beyond[TP_TAILS_LIMITS];
};

/* Adds what the parts show that are asked of a side and limit: the first, and
 * the calmest of the others. */
static void add_calmest(const struct tp_tails *tails, int side, size_t limit,
                        struct seen *seen)
{
    size_t order[TP_TAILS_PARTS];
    for (size_t i = 0; i < TP_TAILS_PARTS; i++) {
        size_t k = i;
        for (; k > START && i >= START &&
               share(tails, order[k - 1], side, limit) >
                   share(tails, i, side, limit);
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    seen->all = 0;
    for (size_t i = 0; i < START + CALM; i++) {
        seen->beyond[limit] += (double)tails->beyond[order[i]][side][limit];
        seen->all += (double)tails->errors[order[i]];
    }
}

/* One side, with its half of the errors that are expected of two. */
static struct seen look_at(const struct tp_tails *tails, int side)
{
    struct seen seen = {.all = 0};
    for (size_t limit = 0; limit < TP_TAILS_LIMITS; limit++)
        add_calmest(tails, side, limit, &seen);
    seen.all /= 2;
    return seen;
}

static struct seen look_at_both(const struct tp_tails *tails)
{
    struct seen both = look_at(tails, 0), above = look_at(tails, 1);
    both.all += above.all;
    for (size_t limit = 0; limit < TP_TAILS_LIMITS; limit++)
        both.beyond[limit] += above.beyond[limit];
    return both;
}

/* All of a side that is beyond a limit. */
static double count_beyond(const struct tp_tails *tails, int side, size_t limit)
{
    uint64_t sum = 0;
    for (size_t part = 0; part < TP_TAILS_PARTS; part++)
        sum += tails->beyond[part][side][limit];
    return (double)sum;
}

/* Whether sides are alike, but for chance: of few errors the calm parts of both
 * have none, so all parts are asked. */
static bool are_alike(const struct tp_tails *tails)
{
    bool yes = true;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++) {
        double below = count_beyond(tails, 0, i);
        double above = count_beyond(tails, 1, i);
        yes &= fabs(above - below) <= ALIKE * sqrt(above + below);
    }
    return yes;
}

/* No more than expected and two deviations of a Poisson count; one is always
 * let pass. */
static bool agrees(const struct seen *seen, const struct kind *kind)
{
    bool yes = true;
    for (size_t i = TAIL; i < TP_TAILS_LIMITS; i++) {
        double expected = kind->beyond[i] * seen->all;
        yes &= seen->beyond[i] <= expected + 2 * sqrt(expected) + 1;
    }
    return yes;
}

bool tp_tails_agree(const struct tp_tails *tails, int side,
                    struct tp_freedom freedom)
{
    bool alike = freedom.side[0] == freedom.side[1];
    const struct seen seen = alike ? look_at_both(tails) : look_at(tails, side);
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].freedom == freedom.side[side])
            return agrees(&seen, &kinds[i]);
    }
    return false;
}

/* log of how much likelier a kind makes the counts than heavy tails do: those
 * between each limit and the next are Poisson's. */
static double log_ratio(const struct seen *seen, const struct kind *kind)
{
    const struct kind *heavy = &kinds[KINDS - 1];
    double sum = 0;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++) {
        bool last = i + 1 == TP_TAILS_LIMITS;
        double its = kind->beyond[i] - (last ? 0 : kind->beyond[i + 1]);
        double other = heavy->beyond[i] - (last ? 0 : heavy->beyond[i + 1]);
        double count = seen->beyond[i] - (last ? 0 : seen->beyond[i + 1]);
        sum += (other - its) * seen->all + count * log(its / other);
    }
    return sum;
}

/* What was counted beyond a limit and a deviation more must be expected: a
 * little heavier than it is, rather than lighter. */
static int lightest(struct seen seen, double own)
{
    seen.all *= own;
    for (size_t i = 0; i < TP_TAILS_LIMITS; i++)
        seen.beyond[i] *= own;
    double beyond = seen.beyond[TAIL], most = beyond + sqrt(beyond) + 1;
    for (size_t i = 0; i < KINDS; i++) {
        if (most <= kinds[i].beyond[TAIL] * seen.all &&
            agrees(&seen, &kinds[i]) && log_ratio(&seen, &kinds[i]) > SURE)
            return kinds[i].freedom;
    }
    return TP_TAILS_HEAVY;
}

/* Both sides together tell more, where they are alike. */
struct tp_freedom tp_tails_freedom(const struct tp_tails *tails, double own)
{
    struct tp_freedom freedom = {{0}};
    int both = are_alike(tails) ? lightest(look_at_both(tails), own) : 0;
    for (int side = 0; side < 2; side++) {
        int one = lightest(look_at(tails, side), own);
        freedom.side[side] = one > both ? one : both;
    }
    return freedom;
}
