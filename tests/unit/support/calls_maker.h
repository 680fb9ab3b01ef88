/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_CALLS_MAKER_H
#define TP_TESTS_CALLS_MAKER_H

/* Dumps of a few calls with small tensors, in steps of one rank: include it
 * first. */
#include "tests/unit/support/pt_maker.h"

#include "base/text.h"
#include "data/encode.h"
#include "replay/dtype_round.h"
#include "replay/replay_run.h"

struct calls_maker {
    struct maker maker;
    struct tp_text json;
    int step;
    const char *key;
    int items; /* of the list that is written                               */
    bool results;
};

/* Begins a step; its calls follow. */
static inline void calls_step(struct calls_maker *m, int step)
{
    m->step = step;
    tp_text_clear(&m->json);
    tp_text_add(&m->json,
                "{\"task\": \"tensor\", \"level\": \"L1\", \"data\": {");
}

static inline struct calls_maker calls_begin(void)
{
    struct calls_maker m = {.maker = maker_begin()};
    calls_step(&m, 0);
    return m;
}

/* Whether it is a backward call, which has neither positions nor names. */
static inline bool calls_is_backward(const struct calls_maker *m)
{
    return strstr(m->key, ".backward") != NULL;
}

/* Begins a call; its arguments follow. */
static inline void calls_call(struct calls_maker *m, const char *key)
{
    tp_text_add(&m->json, "%s\"%s\": {", m->key ? ", " : "", key);
    m->key = key;
    tp_text_add(&m->json, "\"%s\": [",
                calls_is_backward(m) ? "input" : "input_args");
    m->items = 0;
    m->results = false;
}

/* An argument as msprobe writes it, {"type": "float", "value": 0.5}. */
static inline void calls_value(struct calls_maker *m, const char *json)
{
    tp_text_add(&m->json, "%s%s", m->items++ ? ", " : "", json);
}

/* Elements as a file has them; values are rounded to the dtype. */
static inline void calls_file(const struct calls_maker *m, const char *path,
                              enum tp_dtype dtype, int dims,
                              const int64_t *shape, const double *values)
{
    int64_t count = 1;
    for (int i = 0; i < dims; i++)
        count *= shape[i];
    float *single = calloc((size_t)count + 1, sizeof *single);
    uint16_t *half = calloc((size_t)count + 1, sizeof *half);
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        single[i] = (float)tp_dtype_round(dtype, values[i]);
        memcpy(&bits, &single[i], sizeof bits);
        half[i] = dtype == TP_FLOAT16 ? (uint16_t)tp_number_encode(
                                            tp_number_by_dtype(TP_FLOAT16),
                                            TP_ROUND_DEFAULT, (double)single[i])
                                      : (uint16_t)(bits >> 16);
    }
    if (dtype == TP_BFLOAT16 || dtype == TP_FLOAT16)
        pt_put_shaped(&m->maker, path,
                      dtype == TP_FLOAT16 ? &pt_float16 : &pt_bfloat16, half,
                      shape, dims);
    else
        pt_put_shaped(&m->maker, path, &pt_float32, single, shape, dims);
    free(single);
    free(half);
}

/* A tensor of bf16, fp16 or float32: an argument, or a result. */
static inline void calls_tensor(struct calls_maker *m, enum tp_dtype dtype,
                                int dims, const int64_t *shape,
                                const double *values)
{
    char name[128], path[256];
    snprintf(name, sizeof name, "%s.%s.%d.pt", m->key,
             m->results ? "output" : "input", m->items);
    snprintf(path, sizeof path, "step%d/rank0/dump_tensor_data/%s", m->step,
             name);
    calls_file(m, path, dtype, dims, shape, values);
    tp_text_add(&m->json,
                "%s{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\", "
                "\"shape\": [",
                m->items++ ? ", " : "",
                dtype == TP_BFLOAT16  ? "bfloat16"
                : dtype == TP_FLOAT16 ? "float16"
                                      : "float32");
    for (int i = 0; i < dims; i++)
        tp_text_add(&m->json, "%s%lld", i ? ", " : "", (long long)shape[i]);
    tp_text_add(&m->json, "], \"data_name\": \"%s\"}", name);
}

/* Its results follow, after keywords as JSON members. */
static inline void calls_results(struct calls_maker *m, const char *keywords)
{
    if (calls_is_backward(m))
        tp_text_add(&m->json, "], \"output\": [");
    else
        tp_text_add(&m->json, "], \"input_kwargs\": {%s}, \"output\": [",
                    keywords);
    m->items = 0;
    m->results = true;
}

static inline void calls_done(struct calls_maker *m)
{
    tp_text_add(&m->json, "]}");
}

/* Ends a step. */
static inline void calls_write(struct calls_maker *m)
{
    char path[64];
    tp_text_add(&m->json, "}}");
    snprintf(path, sizeof path, "step%d/rank0/dump.json", m->step);
    maker_put(&m->maker, path, tp_text_get(&m->json));
    m->key = NULL;
}

/* Reads the dump and replays it in the modes of `options`, by one thread;
 * options->pool is the caller's to free. */
static inline void calls_replay(const struct calls_maker *m,
                                struct tp_replay_options *options,
                                struct tp_dump *dump,
                                struct tp_replay_results *results)
{
    struct tp_error err = {0};
    memset(results, 0, sizeof *results);
    cr_assert_eq(maker_read(&m->maker, "", false, dump), TP_OK);
    cr_assert_eq(tp_pool_new(1, &options->pool, &err), TP_OK);
    cr_assert_eq(tp_replay_dump(dump, options, results, &err), TP_OK, "%s",
                 err.message);
}

static inline void calls_end(struct calls_maker *m)
{
    tp_text_clear(&m->json);
    maker_end(&m->maker);
}

#endif
