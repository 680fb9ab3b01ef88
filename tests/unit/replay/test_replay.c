/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "base/limits.h"
#include "replay/replay.h"
#include "tests/unit/support/dump_data.h"

static void read_calls(struct tp_dump *dump)
{
    char path[4096];
    testdata_path("replay", path, sizeof path);
    cr_assert(dump_data_read(path, dump));
    cr_assert_eq(dump->place_count, 4);
}

/* What torch computed is what the replay explains: for every operator, without
 * one that is not replayed. */
Test(replay, explains_what_torch_computes)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    size_t calls = 0;
    read_calls(&dump);
    for (size_t p = 0; p < dump.place_count; p++)
        for (size_t i = 0; i < dump.places[p].call_count; i++) {
            const struct tp_dump_call *call = &dump.places[p].calls[i];
            struct tp_replay_verdict verdict;
            cr_assert_eq(tp_replay_judge(&dump.places[p], call, &verdict, &err),
                         TP_OK);
            cr_assert_eq(verdict.state, TP_REPLAY_JUDGED, "%s: %s", call->key,
                         verdict.reason);
            cr_expect_neq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED,
                          "%s: %g times, %g is %g", call->key, verdict.excess,
                          verdict.computed, verdict.dumped);
            calls++;
        }
    cr_assert_geq(calls, 180);
    tp_dump_clear(&dump);
}

static struct tp_dump_item *result_of(struct tp_dump_place *place, size_t call)
{
    for (size_t i = 0; i < place->calls[call].count; i++) {
        struct tp_dump_item *item = &place->items[place->calls[call].first + i];
        if (item->place == TP_MSPROBE_OUTPUT && item->kind == TP_DUMP_TENSOR)
            return item;
    }
    return NULL;
}

static bool alike(const struct tp_dump_item *a, const struct tp_dump_item *b)
{
    bool same =
        a && b && a->element == b->element && a->dims == b->dims && a->dims > 0;
    for (int i = 0; same && i < a->dims; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* Whether two results have a number that differs by more than 4 roundings. */
static bool are_far(const struct tp_dump_item *a, const struct tp_dump_item *b)
{
    struct tp_array x = {.dims = 0}, y = {.dims = 0};
    struct tp_error err = {0};
    bool far = false;
    cr_assert_eq(tp_array_read(a, &x, &err), TP_OK);
    cr_assert_eq(tp_array_read(b, &y, &err), TP_OK);
    for (int64_t i = 0; i < x.count; i++)
        far |= fabs(x.value[i] - y.value[i]) > 0.5;
    tp_array_clear(&x);
    tp_array_clear(&y);
    return far;
}

/* A call that has the result of another one is found. */
Test(replay, finds_results_that_are_another_calls)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    size_t found = 0;
    read_calls(&dump);
    for (size_t p = 0; p < dump.place_count; p++) {
        struct tp_dump_place *place = &dump.places[p];
        for (size_t i = 1; i < place->call_count; i++) {
            struct tp_dump_item *item = result_of(place, i);
            const struct tp_dump_item *other = result_of(place, i - 1);
            struct tp_replay_verdict verdict;
            if (!alike(item, other) || !are_far(item, other))
                continue;
            struct tp_found *own = item->file;
            item->file = other->file;
            cr_assert_eq(
                tp_replay_judge(place, &place->calls[i], &verdict, &err),
                TP_OK);
            item->file = own;
            cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED,
                         "%s", place->calls[i].key);
            cr_expect_gt(verdict.relative, 0);
            found++;
        }
    }
    cr_assert_geq(found, 30);
    tp_dump_clear(&dump);
}

Test(replay, says_why_a_call_is_not_judged)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    read_calls(&dump);
    struct tp_dump_place *place = &dump.places[0];
    struct tp_dump_call call = place->calls[0];
    struct tp_dump_item *item = &place->items[call.first];
    item->file = NULL;
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_UNREADABLE);
    cr_assert_str_eq(verdict.reason, "no file has a tensor of it");
    call.name.path = (struct tp_msprobe_part){"dropout", 7};
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_RANDOM);
    call.name.path = (struct tp_msprobe_part){"fused_mystery", 13};
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_UNSUPPORTED);
    call.name.direction = TP_BACKWARD;
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_UNSUPPORTED);
    call.name.path = (struct tp_msprobe_part){"eq", 2};
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_UNSUPPORTED);
    cr_assert_str_eq(verdict.reason,
                     "no gradients of this operator are replayed");
    call.name.path = (struct tp_msprobe_part){"relu", 4};
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_UNREADABLE);
    call.name.kind = TP_MSPROBE_MODULE;
    cr_assert_eq(tp_replay_judge(place, &call, &verdict, &err), TP_OK);
    cr_assert_eq(verdict.state, TP_REPLAY_OTHER);
    tp_dump_clear(&dump);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/* One thing about an item that a damaged dump could say. */
static void mutate(struct tp_dump_item *item, const struct tp_dump_item *other,
                   struct tp_json *number, int64_t *shape, uint64_t random)
{
    static const int64_t numbers[] = {0,    -1,         1,         2,        7,
                                      -100, 1000000007, INT64_MAX, INT64_MIN};
    static const char *const places[] = {"0",   "1",   "2.0",       "1.1",
                                         "dim", "eps", "999999999", ""};
    *number = (struct tp_json){.kind = TP_JSON_INTEGER,
                               .integer = numbers[random / 8 % 9],
                               .real = (double)numbers[random / 8 % 9]};
    switch (random % 8) {
    case 0:
        item->file = other->file;
        break;
    case 1:
        item->argument = places[random / 8 % 8];
        break;
    case 2:
        item->kind = TP_DUMP_NOTHING;
        break;
    case 3:
        item->kind = TP_DUMP_VALUE;
        item->type = "int";
        item->value = number;
        break;
    case 4:
        item->element = (enum tp_dtype)(random / 8 % TP_DTYPE_COUNT);
        break;
    case 5:
        if (item->dims == 0)
            break;
        memcpy(shape, item->shape, (size_t)item->dims * sizeof *shape);
        shape[random / 8 % (uint64_t)item->dims] = (int64_t)(random / 64 % 8);
        item->shape = shape;
        break;
    case 6:
        item->dims = item->dims ? item->dims - 1 : 0;
        break;
    default:
        item->value = number;
        break;
    }
}

/* Whatever the arguments are said to be, there is a verdict. */
Test(replay, survives_arguments_that_do_not_fit)
{
    struct tp_dump dump;
    struct tp_error err = {0};
    uint64_t state = 1;
    size_t states[TP_REPLAY_STATES] = {0};
    read_calls(&dump);
    for (int round = 0; round < 4; round++)
        for (size_t p = 0; p < dump.place_count; p++)
            for (size_t i = 0; i < dump.places[p].call_count; i++) {
                struct tp_dump_place *place = &dump.places[p];
                const struct tp_dump_call *call = &place->calls[i];
                struct tp_replay_verdict verdict;
                struct tp_json number;
                int64_t shape[TP_LIMIT_DIMS];
                struct tp_dump_item *item =
                    &place->items[call->first +
                                  next_random(&state) % call->count];
                const struct tp_dump_item own = *item;
                mutate(item,
                       &place->items[next_random(&state) % place->item_count],
                       &number, shape, next_random(&state));
                cr_assert_eq(tp_replay_judge(place, call, &verdict, &err),
                             TP_OK);
                states[verdict.state]++;
                *item = own;
            }
    cr_assert_geq(states[TP_REPLAY_JUDGED], 100);
    cr_assert_geq(states[TP_REPLAY_UNSUPPORTED], 100);
    tp_dump_clear(&dump);
}

/* The dumps of others: every call that is replayed is explained. */
static void check_dump(const char *name)
{
    char path[4096];
    struct tp_dump dump;
    struct tp_error err = {0};
    testdata_path(name, path, sizeof path);
    cr_assert(dump_data_read(path, &dump));
    for (size_t p = 0; p < dump.place_count; p++)
        for (size_t i = 0; i < dump.places[p].call_count; i++) {
            const struct tp_dump_call *call = &dump.places[p].calls[i];
            struct tp_replay_verdict verdict;
            cr_assert_eq(tp_replay_judge(&dump.places[p], call, &verdict, &err),
                         TP_OK);
            cr_expect_neq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED,
                          "%s", call->key);
        }
    tp_dump_clear(&dump);
}

/* With a logarithm of negative numbers: NaN is the right result of it. */
Test(replay, has_nan_where_the_arguments_give_it)
{
    check_dump("msprobe");
}

static struct tp_msprobe_part part(const char *text)
{
    return (struct tp_msprobe_part){text, strlen(text)};
}

/* The rows have the arguments of torch.nn.functional: of functions that have
 * others by the same name nothing is computed. */
Test(replay, leaves_functions_with_other_arguments)
{
    static const struct {
        const char *type, *name;
        enum tp_replay_state state;
    } calls[] = {{"Torch", "kl_div", TP_REPLAY_UNSUPPORTED},
                 {"Torch", "embedding", TP_REPLAY_UNSUPPORTED},
                 {"Torch", "softmax", TP_REPLAY_JUDGED},
                 {"Functional", "kl_div", TP_REPLAY_JUDGED},
                 {"NPU", "npu_swiglu", TP_REPLAY_JUDGED}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        enum tp_replay_state state;
        const struct tp_dump_call call = {.known = true,
                                          .name = {.kind = TP_MSPROBE_API,
                                                   .type = part(calls[i].type),
                                                   .path = part(calls[i].name),
                                                   .direction = TP_FORWARD}};
        tp_replay_operator(&call, &state);
        cr_expect_eq(state, calls[i].state, "%s.%s", calls[i].type,
                     calls[i].name);
    }
}

/* --- numbers beyond fp16 -------------------------------------------------- */

/* The level of a call of fp16 numbers, some of which the dump has as NaN. */
static enum tp_replay_level level_of(const char *key, const double *x,
                                     int64_t count, const double *made,
                                     int64_t results)
{
    const char *dim = "\"dim\": {\"type\": \"int\", \"value\": 0}";
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    calls_call(&m, key);
    calls_tensor(&m, TP_FLOAT16, 1, &count, x);
    calls_results(&m, strstr(key, "softmax") ? dim : "");
    calls_tensor(&m, TP_FLOAT16, results > 1, &results, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, &verdict, &err),
        TP_OK);
    cr_expect_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    tp_dump_clear(&dump);
    calls_end(&m);
    return tp_replay_level_of(&verdict);
}

/* A sum may leave the range of fp16 on the way; what is small, or moved, does
 * not, however far apart the numbers are. */
Test(replay, takes_nan_of_fp16_for_damage_unless_steps_reach_beyond)
{
    enum { COUNT = 16 };
    double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = tp_dtype_round(TP_FLOAT16, i % 2 ? 500.0 * i : 1e-4 * i);
        y[i] = i == 5 ? NAN : x[i];
    }
    const double nan = NAN, small[COUNT] = {300, -200, 1e-5};
    double large[COUNT] = {60000, 60000, -60000, -50000};
    cr_expect_eq(level_of("Functional.relu.0.forward", x, COUNT, x, COUNT),
                 TP_REPLAY_EXPLAINED);
    cr_expect_eq(level_of("Functional.relu.0.forward", x, COUNT, y, COUNT),
                 TP_REPLAY_UNEXPLAINED);
    cr_expect_eq(level_of("Torch.sum.0.forward", large, COUNT, &nan, 1),
                 TP_REPLAY_EXPLAINED);
    cr_expect_eq(level_of("Torch.sum.0.forward", small, COUNT, &nan, 1),
                 TP_REPLAY_UNEXPLAINED);
}

/* The logarithm of a softmax of numbers so far apart, one of which is NaN in
 * the dump. */
static enum tp_replay_level shares_with_nan(double step)
{
    enum { COUNT = 16 };
    double x[COUNT], y[COUNT], sum = 0;
    for (int i = 0; i < COUNT; i++) {
        x[i] = tp_dtype_round(TP_FLOAT16, step * (i - COUNT / 2));
        sum += exp(x[i] - step * (COUNT / 2 - 1));
    }
    for (int i = 0; i < COUNT; i++)
        y[i] = i == 5
                   ? NAN
                   : tp_dtype_round(TP_FLOAT16,
                                    x[i] - step * (COUNT / 2 - 1) - log(sum));
    return level_of("Functional.log_softmax.0.forward", x, COUNT, y, COUNT);
}

/* It takes differences, no squares. */
Test(replay, takes_nan_of_a_softmax_for_damage_unless_a_difference_is_beyond)
{
    cr_expect_eq(shares_with_nan(128), TP_REPLAY_UNEXPLAINED);
    cr_expect_eq(shares_with_nan(7000), TP_REPLAY_EXPLAINED);
}
