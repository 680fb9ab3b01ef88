/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_NOISY_RUN_H
#define TP_TESTS_NOISY_RUN_H

#include "tests/unit/support/noise.h"
#include "tests/unit/support/stages.h"

/*
 * Whole runs of noise: one rank with three layers of five tensors each, saved
 * in every iteration. All numbers of a tensor have noise of one kind, each its
 * own; shares are small enough to be no loss. 15 tensors and the gradient's
 * norms make some 110 series that have a baseline.
 */
struct noisy_run {
    enum noise_kind noise;
    size_t iterations;
    uint64_t seed;
    /* a fault: from `from` on, for `length` iterations, magnitudes of tensor
     * `first` and those that an iteration comes to after it are multiplied */
    size_t from, length, first;
    double factor; /* 0: none                                             */
    /* iterations, as a share, in which a tensor is zero as a whole; and from
     * which one on tensor `first` is so for good                          */
    double zeros;
    size_t layers;    /* 0: NOISY_LAYERS                                     */
    size_t dead_from; /* 0: it is not                                      */
};

enum { NOISY_LAYERS = 3, NOISY_TENSORS = 5 };

static const struct {
    const char *operation, *phase, *name;
} noisy_tensors[NOISY_TENSORS] = {{"forward", "pre", "input"},
                                  {"forward", "pre", "weight"},
                                  {"forward", "post", "output"},
                                  {"backward", "pre", "input"},
                                  {"backward", "post", "output"}};

/* What a number of a tensor is, which decides on its noise. */
enum noisy_number { NOISY_MAGNITUDE, NOISY_MEAN, NOISY_SHARE };

/* A mean is a sum of many values, and so its noise is normal or, where the
 * run's has tails or a memory, that of its logarithm. Shares have a noise of
 * shares, and magnitudes none. */
static inline double noisy_value(enum noise_kind noise,
                                 enum noisy_number number, double value)
{
    if (number == NOISY_SHARE)
        return noise_is_share(noise) ? value : 1e-5 * value;
    if (number == NOISY_MAGNITUDE)
        return value;
    return noise == NOISE_STUDENT || noise == NOISE_AR ? 1 + log2(value)
                                                       : value;
}

static inline enum noise_kind noisy_kind(enum noise_kind noise,
                                         enum noisy_number number)
{
    bool own = number == NOISY_SHARE ||
               (number == NOISY_MAGNITUDE && !noise_is_share(noise)) ||
               noise == NOISE_STUDENT || noise == NOISE_AR;
    return own ? noise : NOISE_NORMAL;
}

static inline double *noisy_values(const struct noisy_run *made,
                                   struct dice *dice, enum noisy_number number)
{
    double *value = calloc(made->iterations, sizeof *value);
    double level =
        number == NOISY_SHARE ? 1 : exp2(floor(6 * dice_even(dice)) - 3);
    cr_assert_not_null(value);
    noise_fill(dice, noisy_kind(made->noise, number), made->iterations, value);
    for (size_t i = 0; i < made->iterations; i++)
        value[i] = level * noisy_value(made->noise, number, value[i]);
    return value;
}

static inline void noisy_set(struct tp_row *row, double *const value[],
                             size_t i, double factor)
{
    struct tp_numbers *n = &row->numbers;
    n->l2_norm = factor * value[0][i];
    n->abs_max = factor * value[1][i];
    n->std = factor * value[2][i];
    n->mean = factor * value[3][i];
    n->total_overflow_ratio = value[4][i];
    n->underflow_ratio = value[5][i];
    row->counts.zero =
        (uint64_t)llround((double)row->counts.values * value[6][i]);
}

/* All of a tensor's elements are zero. */
static inline void noisy_set_zero(struct tp_row *row)
{
    row->numbers = (struct tp_numbers){0};
    row->counts.zero = row->counts.values;
}

/* A distribution, which drift is measured with: two binades, or zero. */
static inline void noisy_pack(struct tp_run *run, struct dice *dice,
                              struct tp_row *row)
{
    static struct tp_summary sum;
    bool zero = row->counts.zero == row->counts.values;
    memset(&sum, 0, sizeof sum);
    sum.counts = row->counts;
    sum.moments.n = row->counts.values;
    double part = 0.5 + 0.01 * dice_normal(dice);
    if (!zero) {
        uint64_t low = (uint64_t)((double)sum.moments.n * part);
        sum.counts.zero = 0;
        sum.bins[tp_summary_bin(1)] = low;
        sum.bins[tp_summary_bin(2)] = sum.moments.n - low;
    }
    row->packed = tp_summary_pack(&sum, &run->arena);
    cr_assert_not_null(row->packed);
}

static inline void noisy_add_tensor(const struct noisy_run *made,
                                    struct tp_run *run, struct dice *dice,
                                    size_t number)
{
    static const enum noisy_number numbers[] = {
        NOISY_MAGNITUDE, NOISY_MAGNITUDE, NOISY_MAGNITUDE, NOISY_MEAN,
        NOISY_SHARE,     NOISY_SHARE,     NOISY_SHARE};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    double *value[NUMBERS];
    size_t kind = number % NOISY_TENSORS, layer = number / NOISY_TENSORS;
    for (size_t k = 0; k < NUMBERS; k++)
        value[k] = noisy_values(made, dice, numbers[k]);
    for (size_t i = 0; i < made->iterations; i++) {
        struct tp_row *row = add_row(run, "f");
        row->label.operation = noisy_tensors[kind].operation;
        row->label.phase = noisy_tensors[kind].phase;
        row->label.tensor_name = noisy_tensors[kind].name;
        row->label.layer_idx = (int64_t)layer;
        row->label.iteration = (int64_t)i;
        row->label.rank = 0;
        row->label.counter = (int64_t)number;
        row->dtype = TP_FLOAT32;
        row->counts.numel = row->counts.values =
            noise_is_share(made->noise) ? 4096 : 1 << 24;
        tp_label_classify(&row->label);
        bool off = made->factor > 0 && number >= made->first &&
                   i >= made->from && i < made->from + made->length;
        noisy_set(row, value, i, off ? made->factor : 1);
        bool dead = made->dead_from > 0 && number == made->first &&
                    i >= made->dead_from;
        if (made->zeros > 0 && (dice_even(dice) < made->zeros || dead))
            noisy_set_zero(row);
        if (made->zeros > 0)
            noisy_pack(run, dice, row);
    }
    for (size_t k = 0; k < NUMBERS; k++)
        free(value[k]);
}

/* The rows of a run. */
static inline void noisy_fill(const struct noisy_run *made, struct tp_run *run)
{
    struct dice dice = dice_of(made->seed);
    size_t layers = made->layers ? made->layers : NOISY_LAYERS;
    for (size_t i = 0; i < layers * NOISY_TENSORS; i++)
        noisy_add_tensor(made, run, &dice, i);
}

/* All stages of it; the caller clears both. */
static inline void noisy_judge(const struct noisy_run *made,
                               const struct tp_baseline_options *options,
                               struct stages *stages,
                               struct tp_findings *findings)
{
    noisy_fill(made, &stages->run);
    stages_watch(stages, options);
    stages_judge(stages, findings);
}

#endif
