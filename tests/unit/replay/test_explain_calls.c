/* SPDX-License-Identifier: MIT */
/* A wrong result that is that of an earlier call: kept, if this one was asked
 * something else; the same question gives the same, right or wrong. */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "replay/replay_explain.h"

enum { N = 16 };

/* The cause of the second of two products, whose results are equal: garbage of
 * that size, or with 0 what is right for the first. */
static enum tp_explain_id cause_of(bool same_arguments, double garbage,
                                   struct tp_explain *explain)
{
    const int64_t shape[] = {N};
    double x[2][N], y[N], made[N];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < N; i++) {
        x[0][i] = sin(3 * i) + 2;
        x[1][i] = same_arguments ? x[0][i] : cos(i * i) + 3;
        y[i] = 1 + i % 3;
        made[i] =
            garbage != 0 ? garbage * sin(i * i * i) : (float)x[0][i] * y[i];
    }
    for (int call = 0; call < 2; call++) {
        calls_call(&m,
                   call ? "Torch.mul.1.forward" : "Torch.mul.0.forward");
        calls_tensor(&m, TP_FLOAT32, 1, shape, x[call]);
        calls_tensor(&m, TP_FLOAT32, 1, shape, y);
        calls_results(&m, "");
        calls_tensor(&m, TP_FLOAT32, 1, shape, made);
        calls_done(&m);
    }
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(tp_replay_judge(place, &place->calls[1], &verdict, &err),
                 TP_OK);
    cr_assert_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED);
    cr_assert_eq(tp_replay_explain(&dump, 0, 1, &verdict, explain, &err),
                 TP_OK);
    tp_dump_clear(&dump);
    calls_end(&m);
    return explain->id;
}

Test(explain_calls, tells_a_kept_result_from_the_same_mistake_again)
{
    struct tp_explain explain;
    cr_expect_eq(cause_of(false, 0, &explain), TP_EXPLAIN_KEPT);
    cr_expect_str_eq(explain.words,
                     "it is the result of Torch.mul.0.forward");
    cr_expect_eq(cause_of(false, 100, &explain), TP_EXPLAIN_KEPT);
    cr_expect_eq(cause_of(true, 100, &explain), TP_EXPLAIN_NOTHING, "%s",
                 explain.words);
    cr_expect_eq(cause_of(false, NAN, &explain), TP_EXPLAIN_NOTHING, "%s",
                 explain.words);
}

enum { CALLS = 24 };

/* The last of so many products, its first argument that of the call `stale`;
 * itself: it is right. */
static bool is_wrong_after(int stale, struct tp_explain *explain)
{
    const int64_t shape[] = {N};
    double x[CALLS][N], y[N], made[N];
    char keys[CALLS][40];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int call = 0; call < CALLS; call++) {
        const int from = call == CALLS - 1 ? stale : call;
        snprintf(keys[call], sizeof *keys, "Torch.mul.%d.forward", call);
        calls_call(&m, keys[call]);
        for (int i = 0; i < N; i++) {
            x[call][i] = (float)(sin(3 * i + call * call) + 2);
            y[i] = 1 + i % 3 + call;
            made[i] = x[from][i] * y[i];
        }
        calls_tensor(&m, TP_FLOAT32, 1, shape, x[call]);
        calls_tensor(&m, TP_FLOAT32, 1, shape, y);
        calls_results(&m, "");
        calls_tensor(&m, TP_FLOAT32, 1, shape, made);
        calls_done(&m);
    }
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(
        tp_replay_judge(place, &place->calls[CALLS - 1], &verdict, &err),
        TP_OK);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(&verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(
            tp_replay_explain(&dump, 0, CALLS - 1, &verdict, explain, &err),
            TP_OK);
    const bool wrong = tp_replay_is_wrong(&verdict, explain);
    tp_dump_clear(&dump);
    calls_end(&m);
    return wrong;
}

Test(explain_calls, finds_what_is_stale_by_many_calls)
{
    struct tp_explain explain;
    cr_expect(is_wrong_after(2, &explain));
    cr_expect_eq(explain.id, TP_EXPLAIN_STALE, "%s", explain.words);
    cr_expect_str_eq(explain.words, "its argument 0 was that of "
                                    "Torch.mul.2.forward");
    cr_expect_not(is_wrong_after(CALLS - 1, &explain), "%s", explain.words);
}

/* --- settings ------------------------------------------------------------- */

/* Sums of rows so far, which are those of the columns of the call before: of
 * the same tensor, or of another one. */
static enum tp_explain_id cause_along(bool same, struct tp_explain *explain)
{
    enum { SIDE = 4 };
    static const char *const keys[] = {"Torch.cumsum.0.forward",
                                       "Torch.cumsum.1.forward"};
    const int64_t shape[] = {SIDE, SIDE};
    double x[2][SIDE * SIDE], made[SIDE * SIDE];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    for (int i = 0; i < SIDE * SIDE; i++) {
        x[0][i] = i * i % 7 + 1;
        x[1][i] = same ? x[0][i] : i * i % 5 + 2;
        made[i] = x[0][i] + (i < SIDE ? 0 : made[i - SIDE]);
    }
    for (int call = 0; call < 2; call++) {
        calls_call(&m, keys[call]);
        calls_tensor(&m, TP_FLOAT32, 2, shape, x[call]);
        if (call)
            calls_value(&m, "{\"type\": \"int\", \"value\": 1}");
        calls_results(&m, call ? ""
                               : "\"dim\": {\"type\": \"int\", \"value\": 0}");
        calls_tensor(&m, TP_FLOAT32, 2, shape, made);
        calls_done(&m);
    }
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(tp_replay_judge(place, &place->calls[1], &verdict, &err),
                 TP_OK);
    cr_assert_eq(tp_replay_explain(&dump, 0, 1, &verdict, explain, &err),
                 TP_OK);
    tp_dump_clear(&dump);
    calls_end(&m);
    return explain->id;
}

Test(explain_calls, names_the_setting_where_only_that_was_another)
{
    struct tp_explain explain;
    cr_expect_eq(cause_along(true, &explain), TP_EXPLAIN_DIM, "%s",
                 explain.words);
    cr_expect_eq(cause_along(false, &explain), TP_EXPLAIN_KEPT, "%s",
                 explain.words);
}
