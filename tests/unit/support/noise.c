/* SPDX-License-Identifier: MIT */
/*
 * Noise of healthy runs. Normal numbers by Box and Muller, of whose two the
 * second is thrown away, which keeps the state a single number; Student's t as
 * a normal number over the root of a chi-square one; Poisson and binomial
 * numbers by the waits between successes, exponential and geometric, exact and
 * cheap where few are expected. Dice of neighbouring numbers are told apart by
 * the finaliser of splitmix64, since xorshift alone would start alike.
 *
 * Cost: a logarithm and a cosine a normal number.
 */
#include "tests/unit/support/noise.h"

#include <math.h>

#include "tests/unit/support/xorshift.h"

static const double TWO_PI = 6.28318530717958648;

const char *noise_name(enum noise_kind kind)
{
    static const char *const names[NOISE_KINDS] = {
        [NOISE_NORMAL] = "normal",
        [NOISE_LOGNORMAL] = "lognormal 0.3",
        [NOISE_LOGNORMAL_WIDE] = "lognormal 1",
        [NOISE_STUDENT] = "Student's t, 5",
        [NOISE_AR] = "AR(1) 0.9",
        [NOISE_DECAY] = "1/sqrt(t)",
        [NOISE_STEPS] = "learning-rate steps",
        [NOISE_COUNTS] = "small counts",
        [NOISE_QUANTISED] = "quantised",
        [NOISE_ZEROS] = "half zeros"};
    return names[kind];
}

bool noise_is_share(enum noise_kind kind)
{
    return kind == NOISE_COUNTS;
}

struct dice dice_of(uint64_t number)
{
    uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (struct dice){z ? z : 1};
}

double dice_even(struct dice *dice)
{
    return ((double)(xorshift(&dice->state) >> 12) + 0.5) * 0x1p-52;
}

double dice_normal(struct dice *dice)
{
    double radius = sqrt(-2 * log(dice_even(dice)));
    return radius * cos(TWO_PI * dice_even(dice));
}

double dice_student(struct dice *dice, int freedom)
{
    double sum = 0;
    for (int i = 0; i < freedom; i++) {
        double x = dice_normal(dice);
        sum += x * x;
    }
    return dice_normal(dice) / sqrt(sum / (freedom - 2));
}

uint64_t dice_poisson(struct dice *dice, double mean)
{
    uint64_t count = 0;
    for (double wait = -log(dice_even(dice)); wait < mean;
         wait -= log(dice_even(dice)))
        count++;
    return count;
}

uint64_t dice_binomial(struct dice *dice, uint64_t n, double p)
{
    uint64_t count = 0;
    double failure = log1p(-p), tried = 0;
    while (p > 0 &&
           (tried += floor(log(dice_even(dice)) / failure) + 1) <= (double)n)
        count++;
    return count;
}

/* What a series is made from, point by point. */
struct maker {
    struct dice *dice;
    size_t count;
    double state; /* of AR: the point before; of steps: the level */
};

static double draw_ar(struct maker *m, size_t i)
{
    double fresh = dice_normal(m->dice), rho = i > 0 ? 0.9 : 0;
    m->state = rho * m->state + sqrt(1 - rho * rho) * fresh;
    return exp2(0.2 * m->state);
}

static double draw_step(struct maker *m, size_t i)
{
    size_t third = m->count / 3 + 1;
    m->state += 0.3 / (double)third * pow(10, -(double)(i / third));
    return (1 + m->state) * (1 + 0.01 * dice_normal(m->dice));
}

static double draw(struct maker *m, enum noise_kind kind, size_t i)
{
    struct dice *dice = m->dice;
    switch (kind) {
    case NOISE_NORMAL:
        return fmax(2.1 + 0.5 * dice_normal(dice), 0.3) / 2.1;
    case NOISE_LOGNORMAL:
        return exp(0.3 * dice_normal(dice));
    case NOISE_LOGNORMAL_WIDE:
        return exp(dice_normal(dice));
    case NOISE_STUDENT:
        return exp2(0.1 * dice_student(dice, 5));
    case NOISE_AR:
        return draw_ar(m, i);
    case NOISE_DECAY:
        return exp(0.05 * dice_normal(dice)) / sqrt((double)i + 1);
    case NOISE_STEPS:
        return draw_step(m, i);
    case NOISE_COUNTS:
        return (double)dice_poisson(dice, 2) / 4096;
    case NOISE_QUANTISED:
        return fmax(rint(8 + 0.5 * dice_normal(dice)), 0) / 8;
    default:
        return dice_even(dice) < 0.5 ? 0 : exp(0.3 * dice_normal(dice));
    }
}

void noise_fill(struct dice *dice, enum noise_kind kind, size_t count,
                double *value)
{
    struct maker maker = {.dice = dice, .count = count};
    for (size_t i = 0; i < count; i++)
        value[i] = draw(&maker, kind, i);
}
