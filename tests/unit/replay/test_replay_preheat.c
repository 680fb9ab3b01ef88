/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "replay/replay_preheat.h"

/* A call, and what was found for it. */
struct seen {
    const char *api, *dtype;
    int64_t step;
    double ratio;
    bool good;
    double limit;
    uint64_t sample;
};

/* Made by the rules as a Python program of dictionaries, N = 4, most 2, random
 * calls (seed 4). */
static const struct seen run[] = {
    {"a", "h", 0, 3.0, true, INFINITY, 0},
    {"b", "f", 0, 1.0, true, INFINITY, 0},
    {"b", "h", 0, 1.3, false, INFINITY, 0},
    {"a", "h", 0, 1.01, true, INFINITY, 0},
    {"a", "h", 0, 1.0, true, INFINITY, 0},
    {"b", "h", 0, 1.1, true, INFINITY, 0},
    {"b", "h", 0, 1.1, true, INFINITY, 0},
    {"b", "f", 1, 3.0, true, 2.05, 1},
    {"b", "f", 1, 1.05, false, 3.0999999999999996, 0},
    {"b", "f", 1, 1.05, false, 3.0999999999999996, 0},
    {"b", "f", 1, 1.1, true, 3.0999999999999996, 0},
    {"b", "h", 1, 1.1, true, 2.05, 0},
    {"b", "f", 1, 3.0, true, 3.0999999999999996, 0},
    {"b", "h", 1, 1.01, true, 2.05, 0},
    {"a", "f", 2, 1.01, true, 2.05, 0},
    {"b", "h", 2, 3.0, true, 2.05, 0},
    {"b", "f", 2, 1.3, false, 3.0999999999999996, 2},
    {"a", "f", 2, 1.01, true, 2.05, 2},
    {"a", "h", 2, 2.5, false, 2.05, 0},
    {"b", "f", 2, 1.0, true, 1.3, 0},
    {"b", "h", 2, 1.1, true, 2.05, 0},
    {"b", "f", 3, 3.0, true, 1.3, 0},
    {"a", "h", 3, 3.0, true, 2.05, 0},
    {"b", "f", 3, 1.01, true, 1.3, 0},
    {"b", "f", 3, 3.0, true, 1.3, 3},
    {"a", "h", 3, 1.1, true, 2.05, 0},
    {"b", "f", 3, 1.01, true, 1.3, 0},
    {"b", "f", 3, 1.0, true, 1.3, 0},
    {"a", "f", 4, 1.01, true, 1.525, 0},
    {"a", "h", 4, 1.1, true, 2.05, 0},
    {"a", "f", 4, 2.5, false, 1.525, 0},
    {"b", "f", 4, 1.01, true, 1.3, 0},
    {"b", "h", 4, 1.01, true, 2.05, 0},
    {"b", "h", 4, 3.0, true, 2.05, 0},
    {"a", "h", 4, 1.0, true, 2.05, 0},
    {"b", "h", 5, 1.01, true, 2.05, 0},
    {"a", "h", 5, 1.3, false, 2.05, 0},
    {"b", "f", 5, 2.5, false, 1.3, 0},
    {"a", "h", 5, 1.05, false, 2.05, 0},
    {"a", "h", 5, 3.0, true, 2.05, 0},
    {"a", "f", 5, 3.0, true, 1.525, 0},
    {"b", "h", 5, 1.1, true, 2.05, 0},
};

enum { COUNT = sizeof run / sizeof *run };

static void fill(struct tp_preheat_call *calls)
{
    for (int i = 0; i < COUNT; i++)
        calls[i] = (struct tp_preheat_call){
            .api = run[i].api,
            .api_length = strlen(run[i].api),
            .dtype = run[i].dtype,
            .step = run[i].step,
            .compared = true,
            .ratio = run[i].ratio,
            .cpu_consistent = run[i].good,
            .least = *run[i].dtype == 'f' ? 1.0002 : 1.002};
}

Test(replay_preheat, finds_the_limits_that_msprobe_finds)
{
    struct tp_preheat_call calls[COUNT];
    struct tp_error err = {0};
    fill(calls);
    cr_assert_eq(tp_preheat(calls, COUNT, 4, 2, &err), TP_OK);
    for (int i = 0; i < COUNT; i++) {
        cr_expect(calls[i].limit == run[i].limit, "call %d: %.17g", i,
                  calls[i].limit);
        cr_expect_eq(calls[i].sample, run[i].sample, "call %d", i);
    }
}

/* Ranks have limits of their own, and what does not float counts nowhere. */
Test(replay_preheat, keeps_ranks_apart)
{
    struct tp_preheat_call calls[2 * COUNT];
    struct tp_error err = {0};
    fill(calls);
    fill(calls + COUNT);
    for (int i = 0; i < COUNT; i++)
        calls[COUNT + i].rank = 1;
    calls[0].compared = calls[COUNT].compared = false;
    cr_assert_eq(tp_preheat(calls, 2 * COUNT, 4, 2, &err), TP_OK);
    cr_expect(isinf(calls[0].limit));
    for (int i = 0; i < COUNT; i++) {
        cr_expect(calls[i].limit == calls[COUNT + i].limit);
        cr_expect_eq(calls[i].sample, calls[COUNT + i].sample);
        cr_expect_leq(calls[i].total, 4);
    }
}
