/* SPDX-License-Identifier: MIT */
/*
 * What retro baselines find and what they accuse, by simulation: the table of
 * the manual. Runs of LAYERS series of one kind, with noise of each kind of
 * tests/unit/support/noise.h, of its own in every layer or nearly the same in
 * all. Prints, for lengths of 40 to 1000, how many of ROUNDS healthy runs
 * alarm, and how many spreads a spike or a lasting shift takes, in one layer
 * or in all, to be found in 90 % of the runs, to the iteration.
 *
 *     power [ROUNDS [LAYERS]]
 */
#include <stdio.h>

#include "tests/unit/support/simulated.h"

static const double sizes[] = {1.5, 2,  2.5, 3,  3.5, 4,   5,   6,  7,
                               8,   9,  10,  11, 12,  13,  15,  18, 22,
                               28,  36, 50,  70, 90,  120, 200, 400};

enum { SIZES = sizeof sizes / sizeof *sizes, FAULTS = 4 };

/* Runs, of so many, that have an alarm; of ill ones in the right place. */
static size_t count(struct simulated it, size_t rounds, bool spike)
{
    size_t found = 0;
    for (size_t i = 0; i < rounds; i++) {
        struct simulated_alarms alarms;
        it.from = it.points / 2 + i * (it.points / 2 - 9) / rounds;
        it.to = spike ? it.from + 1 : it.points;
        if (!simulated_judge(&it, i, &alarms))
            exit(EXIT_FAILURE);
        found += it.hit ? alarms.exact : alarms.tensors + alarms.shared > 0;
    }
    return found;
}

/* The least size that is found in nine of ten, by bisection. */
static void print_size(struct simulated it, size_t rounds, bool spike)
{
    size_t low = 0, high = SIZES;
    while (low < high) {
        size_t middle = (low + high) / 2;
        it.off = sizes[middle];
        if (10 * count(it, rounds, spike) >= 9 * rounds)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == SIZES)
        printf("%8s", "-");
    else
        printf("%8.3g", sizes[low]);
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {40, 120, 310, 1000};
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    size_t layers = argc > 2 ? strtoul(argv[2], NULL, 10) : 12;
    printf("%-20s%9s%8s%8s%8s%8s%8s%8s\n", "noise", "together", "points",
           "alarms", "spike 1", "all", "shift 1", "all");
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        for (size_t k = 0; k < 8; k++) {
            struct simulated it = {.noise = (enum noise_kind)noise,
                                   .layers = layers,
                                   .points = lengths[k % 4],
                                   .together = k < 4 ? 0 : 0.9};
            printf("%-20s%9g%8zu", noise_name(it.noise), it.together,
                   it.points);
            printf("%8zu", count(it, 10 * rounds, false));
            for (size_t fault = 0; fault < FAULTS; fault++) {
                it.hit = fault % 2 ? layers : 1;
                print_size(it, rounds, fault < 2);
            }
            printf("\n");
            fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}
