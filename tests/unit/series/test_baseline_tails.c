/* SPDX-License-Identifier: MIT */
#include "series/baseline_tails.h"

#include <criterion/criterion.h>
#include <math.h>

#include "series/baseline_chance.h"

static struct tp_freedom both(int freedom)
{
    return (struct tp_freedom){{freedom, freedom}};
}

/* Counts of ten million errors, exactly as Student's t has them, agree with its
 * own freedom and smaller ones; a tenth more do not. */
Test(baseline_tails, tails_are_those_of_student)
{
    static const int freedoms[] = {30, 20, 14, 10, 7, 5};
    static const double limits[] = {2, 3, 5, 8};
    for (size_t i = 0; i < 6; i++) {
        /* spreads are measured by the 30 % quantile, as of normal noise */
        double unit = 2.5955 * tp_chance_limit(freedoms[i], log(0.7));
        struct tp_tails tails;
        for (size_t part = 0; part < TP_TAILS_PARTS; part++) {
            tails.errors[part] = 10000000;
            for (size_t k = 0; k < TP_TAILS_LIMITS; k++)
                tails.beyond[part][0][k] = tails.beyond[part][1][k] =
                    (uint64_t)llround(
                        5e6 *
                        exp(tp_chance_log(freedoms[i], limits[k] * unit)));
        }
        const struct tp_freedom its = {{freedoms[i], freedoms[i]}};
        for (size_t k = 0; k < 6; k++)
            cr_expect_eq(tp_tails_agree(&tails, 0, both(freedoms[k])), k >= i,
                         "%d %d", freedoms[i], freedoms[k]);
        struct tp_tails twice = tails;
        tp_tails_merge(&twice, &tails);
        cr_expect(tp_tails_agree(&twice, 0, its), "%d", freedoms[i]);
        cr_expect_not(tp_tails_agree(&twice, 0, both(99)));
        for (size_t part = 0; part < TP_TAILS_PARTS; part++)
            tails.beyond[part][1][1] += tails.beyond[part][1][1] / 10;
        cr_expect_not(tp_tails_agree(&tails, 1, its));
        cr_expect_not(tp_tails_agree(&tails, 0, its));
        /* what one side has says nothing of the other */
        const struct tp_freedom sides = {{freedoms[i], 4}};
        cr_expect(tp_tails_agree(&tails, 0, sides));
    }
}
