/* SPDX-License-Identifier: MIT */
/*
 * Pairs of runs made here, call by call, of float32 vectors that count up from
 * a number: what is said to be the cause, and what to follow from it.
 */
#include "tests/unit/support/pt_maker.h"

#include "base/text.h"
#include "replay/divergence.h"

enum { LONGEST = 8 };

struct runs {
    struct maker maker;
    struct tp_text json[2];
    struct tp_dump dumps[2];
    struct tp_call_pairs pairs;
    struct tp_divergence found;
};

/* A vector in each run. */
struct vectors {
    size_t count[2];
    float first[2];
};

static void begin(struct runs *runs)
{
    *runs = (struct runs){.maker = maker_begin()};
}

/* Writes the file of a vector, and its item of dump.json. */
static void put_vector(struct runs *runs, int run, const char *name,
                       const struct vectors *vectors)
{
    const size_t count = vectors->count[run];
    float values[LONGEST];
    char path[256];
    cr_assert_leq(count, LONGEST);
    for (size_t i = 0; i < count; i++)
        values[i] = vectors->first[run] + (float)i;
    snprintf(path, sizeof path, "%c/dump_tensor_data/%s.pt", "ab"[run], name);
    pt_put(&runs->maker, path, &pt_float32, values, count);
    tp_text_add(&runs->json[run],
                "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
                "\"shape\": [%zu], \"data_name\": \"%s.pt\"}",
                count, name);
}

/* A call of one argument and one result; `weight` may be NULL: it is no module
 * with a parameter. */
static void put_call(struct runs *runs, const char *key,
                     const struct vectors *in, const struct vectors *weight,
                     const struct vectors *out)
{
    char name[128];
    for (int run = 0; run < 2; run++) {
        struct tp_text *json = &runs->json[run];
        tp_text_add(json, "%s\"%s\": {\"input_args\": [",
                    json->length ? ", " : "", key);
        snprintf(name, sizeof name, "%s.input.0", key);
        put_vector(runs, run, name, in);
        tp_text_add(json, "], \"input_kwargs\": {}, ");
        if (weight) {
            tp_text_add(json, "\"parameters\": {\"weight\": ");
            snprintf(name, sizeof name, "%s.parameters.weight", key);
            put_vector(runs, run, name, weight);
            tp_text_add(json, "}, ");
        }
        tp_text_add(json, "\"output\": [");
        snprintf(name, sizeof name, "%s.output.0", key);
        put_vector(runs, run, name, out);
        tp_text_add(json, "]}");
    }
}

/* An element that is not negative is its own relu. */
static void put_relu(struct runs *runs, const char *key,
                     const struct vectors *in)
{
    put_call(runs, key, in, NULL, in);
}

static void put_gradient(struct runs *runs, const char *key,
                         const struct vectors *weight)
{
    char name[128];
    for (int run = 0; run < 2; run++) {
        struct tp_text *json = &runs->json[run];
        tp_text_add(json, "%s\"%s\": {\"weight\": [", json->length ? ", " : "",
                    key);
        snprintf(name, sizeof name, "%s.weight", key);
        put_vector(runs, run, name, weight);
        tp_text_add(json, "]}");
    }
}

static void compare(struct runs *runs)
{
    const struct tp_divergence_options options = {.all = false};
    struct tp_error err = {0};
    for (int run = 0; run < 2; run++) {
        struct tp_text json = {0};
        char name[32];
        tp_text_add(&json,
                    "{\"task\": \"tensor\", \"level\": \"mix\", "
                    "\"data\": {%s}}",
                    tp_text_get(&runs->json[run]));
        snprintf(name, sizeof name, "%c/dump.json", "ab"[run]);
        maker_put(&runs->maker, name, tp_text_get(&json));
        tp_text_clear(&json);
        name[1] = '\0';
        cr_assert_eq(maker_read(&runs->maker, name, false, &runs->dumps[run]),
                     TP_OK);
        cr_assert_eq(runs->dumps[run].place_count, 1);
    }
    const struct tp_dump_place *a = runs->dumps[0].places;
    const struct tp_dump_place *b = runs->dumps[1].places;
    cr_assert_eq(tp_call_match(a, b, &runs->pairs, &err), TP_OK);
    cr_assert_eq(
        tp_divergence_find(a, b, &runs->pairs, &options, &runs->found, &err),
        TP_OK);
}

static void expect_verdict(const struct runs *runs, size_t row,
                           enum tp_divergence_verdict verdict)
{
    cr_assert_lt(row, runs->found.count);
    cr_expect_eq(runs->found.rows[row].verdict, verdict, "%s: %s, %s",
                 runs->found.rows[row].api_name,
                 tp_divergence_words[runs->found.rows[row].verdict],
                 runs->found.rows[row].evidence);
}

static void end(struct runs *runs)
{
    tp_divergence_clear(&runs->found);
    tp_call_pairs_clear(&runs->pairs);
    for (int run = 0; run < 2; run++) {
        tp_dump_clear(&runs->dumps[run]);
        tp_text_clear(&runs->json[run]);
    }
    maker_end(&runs->maker);
}

/* --- shapes --------------------------------------------------------------- */

static const struct vectors equal = {{4, 4}, {1, 1}};
static const struct vectors other = {{4, 4}, {1, 2}};
static const struct vectors longer = {{2, 3}, {1, 2}};

/* Which rows are selected is a matter of values: where these differ, shapes
 * behind them do, and no one is accused of it. */
Test(divergence_made, shapes_are_inherited)
{
    struct runs runs;
    begin(&runs);
    put_relu(&runs, "Torch.relu.0.forward", &other);
    put_call(&runs, "Tensor.__getitem__.0.forward", &other, NULL, &longer);
    put_relu(&runs, "Torch.relu.1.forward", &longer);
    compare(&runs);
    expect_verdict(&runs, 0, TP_DIVERGENCE_DATA);
    expect_verdict(&runs, 1, TP_DIVERGENCE_INHERITED);
    expect_verdict(&runs, 2, TP_DIVERGENCE_INHERITED);
    cr_expect_eq(runs.found.first, 0);
    end(&runs);
}

/* From equal arguments there is nothing to inherit; what is made of the result
 * inherits its shape. */
Test(divergence_made, a_result_of_another_shape)
{
    struct runs runs;
    begin(&runs);
    put_call(&runs, "Tensor.__getitem__.0.forward", &equal, NULL, &longer);
    put_relu(&runs, "Torch.relu.1.forward", &longer);
    compare(&runs);
    expect_verdict(&runs, 0, TP_DIVERGENCE_ARGUMENTS);
    cr_expect_str_eq(runs.found.rows[0].evidence,
                     "result 0 has shape [2] in A, [3] in B");
    expect_verdict(&runs, 1, TP_DIVERGENCE_INHERITED);
    end(&runs);
}

Test(divergence_made, an_argument_of_another_shape)
{
    struct runs runs;
    begin(&runs);
    put_relu(&runs, "Torch.relu.0.forward", &longer);
    compare(&runs);
    expect_verdict(&runs, 0, TP_DIVERGENCE_ARGUMENTS);
    cr_expect_str_eq(runs.found.rows[0].evidence,
                     "argument 0 has shape [2] in A, [3] in B");
    end(&runs);
}

/* --- parameters ----------------------------------------------------------- */

/* Behind a difference a weight that differs is another one; its gradient is
 * what the backward pass made of the difference. */
Test(divergence_made, gradients_of_parameters_are_no_data)
{
    static const struct vectors weight = {{3, 3}, {20, 30}};
    static const struct vectors gradient = {{3, 3}, {40, 50}};
    static const struct vectors out = {{4, 4}, {60, 70}};
    struct runs runs;
    begin(&runs);
    put_relu(&runs, "Torch.relu.0.forward", &other);
    put_call(&runs, "Module.a.Linear.forward.0", &other, &weight, &out);
    put_gradient(&runs, "Module.a.Linear.parameters_grad.0", &gradient);
    compare(&runs);
    expect_verdict(&runs, 0, TP_DIVERGENCE_DATA);
    expect_verdict(&runs, 1, TP_DIVERGENCE_DATA);
    cr_expect_not_null(
        strstr(runs.found.rows[1].evidence, "parameter weight differs by"),
        "%s", runs.found.rows[1].evidence);
    expect_verdict(&runs, 2, TP_DIVERGENCE_INHERITED);
    end(&runs);
}

/* A weight that an earlier call made, in either run, is no data. */
Test(divergence_made, weights_that_a_call_made)
{
    static const char *const keys[] = {"Module.a.Linear.forward.0",
                                       "Module.b.Linear.forward.0",
                                       "Module.c.Linear.forward.0"};
    static const struct vectors weights[] = {
        {{4, 4}, {1, 2}}, {{4, 4}, {1, 20}}, {{4, 4}, {20, 2}}};
    static const struct vectors out = {{4, 4}, {60, 70}};
    struct runs runs;
    begin(&runs);
    put_relu(&runs, "Torch.relu.0.forward", &other);
    for (size_t i = 0; i < 3; i++)
        put_call(&runs, keys[i], &other, &weights[i], &out);
    compare(&runs);
    for (size_t i = 0; i < 3; i++)
        expect_verdict(&runs, 1 + i, TP_DIVERGENCE_INHERITED);
    end(&runs);
}
