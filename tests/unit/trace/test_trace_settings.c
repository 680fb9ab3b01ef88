/* SPDX-License-Identifier: MIT */
/*
 * How a run was set up, from training steps that are written event by event:
 * of each setting the case that shows it, and those that look like it but do
 * not.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/testdata.h"
#include "trace/trace_run.h"
#include "trace/trace_settings.h"

enum { STEPS = 3, UNKNOWN = -1 };

#define SINGLE "_SingleProcessDataLoaderIter.__next__"
#define MULTI "_MultiProcessingDataLoaderIter.__next__"
#define PINNED "Memcpy HtoD (Pinned -> Device)"
#define PAGEABLE "Memcpy HtoD (Pageable -> Device)"
#define FLOAT "volta_sgemm_64x64_nn"
#define HALF "ampere_fp16_s16816gemm_fp16_64x64"

/* Steps of a training run; what is NULL or 0 does not happen. */
struct recipe {
    const char *iterator, *other_iterator; /* of the last step             */
    const char *between;   /* operator between batch and copy              */
    const char *copy;      /* the batch's                                  */
    int copied, first, last, loss; /* first axes                           */
    int losses;
    int short_last;        /* `first`, .. of the last step                 */
    const char *begins;    /* an operator before the first layer           */
    const char *layer;     /* the first; NULL: conv2d                      */
    const char *axes;      /* behind its first; NULL: those of conv2d      */
    const char *cast;      /* in that layer                                */
    const char *kernel, *cast_kernel; /* of that layer                     */
    const char *extra;     /* operator of the step                         */
    const char *metadata;  /* members of the root                          */
};

struct maker {
    struct tp_text json;
    double now;
    int correlation;
};

static void add(struct maker *m, const char *category, const char *name,
                double from, double to, const char *args)
{
    const bool gpu = !strcmp(category, "kernel") ||
                     !strcmp(category, "gpu_memcpy");
    tp_text_add(&m->json,
                ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", "
                "\"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, "
                "\"args\": {%s}}",
                category, name, gpu ? 0 : 1, gpu ? 7 : 1, from, to - from,
                args);
}

/* A call and what it starts. */
static void add_call(struct maker *m, const char *category, const char *work)
{
    char args[80];
    snprintf(args, sizeof args,
             "\"device\": 0, \"stream\": 7, \"correlation\": %d",
             ++m->correlation);
    add(m, "cuda_runtime",
        strcmp(category, "kernel") ? "cudaMemcpyAsync" : "cudaLaunchKernel",
        m->now, m->now + 2, args);
    m->now += 3;
    add(m, category, work, m->now, m->now + 1, args);
}

static void add_op(struct maker *m, const char *name, double from,
                   const char *dims)
{
    char args[160];
    snprintf(args, sizeof args, "\"Input Dims\": [%s]", dims);
    m->now += 1;
    add(m, "cpu_op", name, from, m->now, args);
}

static void add_copy(struct maker *m, const char *copy, int size)
{
    char dims[80];
    const double from = m->now;
    snprintf(dims, sizeof dims, "[%d, 3, 8, 8], [%d, 3, 8, 8], []", size,
             size);
    m->now += 1;
    add_call(m, "gpu_memcpy", copy);
    add_op(m, "aten::copy_", from + 0.5, dims);
    add_op(m, "aten::to", from, "[]");
    m->now += 1;
}

static void add_layer(struct maker *m, const struct recipe *how, int size)
{
    const char *layer = how->layer ? how->layer : "aten::conv2d";
    char dims[80];
    const double from = m->now;
    snprintf(dims, sizeof dims, "[%d%s], [16, 3, 3, 3]", size,
             how->axes ? how->axes : ", 3, 8, 8");
    m->now += 1;
    if (how->cast) {
        const double begin = m->now;
        m->now += 1;
        add_call(m, "kernel", how->cast_kernel);
        add_op(m, "aten::_to_copy", begin + 0.5, "[]");
        add_op(m, how->cast, begin, "[]");
        m->now += 1;
    }
    add_call(m, "kernel", how->kernel ? how->kernel : FLOAT);
    add_op(m, layer, from, dims);
    m->now += 1;
}

static void add_step(struct maker *m, const struct recipe *how, int i)
{
    const bool last = i == STEPS - 1;
    const int minus = last && how->short_last ? how->first - how->short_last
                                              : 0;
    const char *iterator =
        last && how->other_iterator ? how->other_iterator : how->iterator;
    char name[80], dims[80];
    const double from = m->now;
    if (iterator) {
        snprintf(name, sizeof name, "enumerate(DataLoader)#%s", iterator);
        add(m, "user_annotation", name, m->now, m->now + 20, "");
        m->now += 21;
    }
    if (how->between)
        add_op(m, how->between, m->now, "[]");
    if (how->copy)
        add_copy(m, how->copy, how->copied - minus);
    if (how->begins)
        add_op(m, how->begins, m->now, "[100, 8], [64, 16]");
    if (how->first)
        add_layer(m, how, how->first - minus);
    snprintf(dims, sizeof dims, "[%d, 16], [10, 16], [10]", how->last - minus);
    if (how->last)
        add_op(m, "aten::linear", m->now, dims);
    snprintf(dims, sizeof dims, "[%d, 10], [%d], []", how->loss - minus,
             how->loss - minus);
    for (int k = 0; k < how->losses; k++) {
        const double begin = m->now;
        add_op(m, "aten::nll_loss", begin + 0.5, dims);
        add_op(m, "aten::cross_entropy_loss", begin, dims);
    }
    if (how->extra)
        add_op(m, how->extra, m->now, "[]");
    m->now += 1;
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    add(m, "user_annotation", name, from, m->now, "");
    m->now += 1;
}

static void expect(const struct recipe *how, enum tp_setting_id id,
                   int64_t value, const char *what)
{
    struct maker m = {.now = 1000};
    struct tp_trace_run run = {.trace_count = 0};
    struct tp_trace trace = {.path = "made.json", .worker = "", .span = -1};
    struct tp_error err = {0};
    struct tp_pool *pool;
    tp_text_add(&m.json,
                "{%s\"traceEvents\": [{\"ph\": \"M\", \"name\": \"x\"}",
                how->metadata ? how->metadata : "");
    for (int i = 0; i < STEPS; i++)
        add_step(&m, how, i);
    tp_text_add(&m.json, "]}");
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(tp_text_get(&m.json), m.json.length,
                                      pool, &trace.events, &err),
                 TP_OK, "%s", err.message);
    cr_assert_eq(tp_trace_analyse(&trace, &run.arena, &err), TP_OK);
    const struct tp_setting *got = &trace.settings[id];
    cr_expect_eq(got->known ? got->value : UNKNOWN, value,
                 "%s: %s is %" PRId64 ", not %" PRId64, what,
                 tp_setting_table[id].name, got->known ? got->value : UNKNOWN,
                 value);
    if (got->known)
        cr_expect_str_eq(got->source, how->metadata ? "metadata" : "trace");
    run.traces = calloc(1, sizeof trace);
    run.traces[run.trace_count++] = trace;
    tp_trace_run_clear(&run);
    tp_pool_free(pool);
    tp_text_clear(&m.json);
}

/* A training step as the demo's. */
static struct recipe training(void)
{
    return (struct recipe){.iterator = SINGLE, .copy = PINNED, .copied = 64,
                           .first = 64, .last = 64, .loss = 64, .losses = 1};
}

#define EXPECT(id, value, what, ...)                          \
    do {                                                      \
        struct recipe how = training();                       \
        __VA_ARGS__;                                          \
        expect(&how, TP_SETTING_##id, value, what);           \
    } while (0)

Test(trace_settings, num_workers)
{
    EXPECT(NUM_WORKERS, 0, "no workers", (void)0);
    EXPECT(NUM_WORKERS, UNKNOWN, "workers, nobody says how many",
           how.iterator = MULTI);
    EXPECT(NUM_WORKERS, UNKNOWN, "two loaders", how.other_iterator = MULTI);
    EXPECT(NUM_WORKERS, UNKNOWN, "no loader", how.iterator = NULL);
    EXPECT(NUM_WORKERS, UNKNOWN, "a loader of somebody's own",
           how.iterator = "MyIter.__next__");
    EXPECT(NUM_WORKERS, 4, "metadata", how.iterator = MULTI,
           how.metadata = "\"num_workers\": 4, ");
}

Test(trace_settings, pin_memory)
{
    EXPECT(PIN_MEMORY, 1, "pinned", (void)0);
    EXPECT(PIN_MEMORY, 0, "pageable", how.copy = PAGEABLE);
    EXPECT(PIN_MEMORY, 1, "with workers", how.iterator = MULTI);
    EXPECT(PIN_MEMORY, UNKNOWN, "no loader", how.iterator = NULL);
    EXPECT(PIN_MEMORY, UNKNOWN, "a kind that is not said",
           how.copy = "Memcpy HtoD (Host -> Device)");
    EXPECT(PIN_MEMORY, UNKNOWN, "no copy", how.copy = NULL);
    EXPECT(PIN_MEMORY, UNKNOWN, "another direction",
           how.copy = "Memcpy DtoH (Device -> Pinned)");
    /* what is copied is not what the loader gave */
    EXPECT(PIN_MEMORY, UNKNOWN, "pinned by the program",
           how.between = "aten::pin_memory");
    EXPECT(PIN_MEMORY, UNKNOWN, "worked on by the program",
           how.between = "aten::div", how.copy = PAGEABLE);
    EXPECT(PIN_MEMORY, 0, "metadata", how.metadata = "\"pin_memory\": false, ");
}

Test(trace_settings, amp)
{
    EXPECT(AMP, 0, "float", (void)0);
    EXPECT(AMP, 1, "autocast", how.cast = "aten::to", how.cast_kernel = FLOAT,
           how.kernel = HALF);
    EXPECT(AMP, 1, "GradScaler",
           how.extra = "aten::_amp_foreach_non_finite_check_and_unscale_",
           how.kernel = HALF);
    EXPECT(AMP, UNKNOWN, "a model in half", how.kernel = HALF);
    EXPECT(AMP, UNKNOWN, "half outside of layers, casts of another kind",
           how.cast = "aten::to", how.cast_kernel = HALF);
    EXPECT(AMP, UNKNOWN, "casts, nothing in half", how.cast = "aten::to",
           how.cast_kernel = FLOAT);
    EXPECT(AMP, UNKNOWN, "compiled", how.kernel = "triton_poi_fused_0");
    EXPECT(AMP, UNKNOWN, "no layer", how.layer = "aten::add");
    EXPECT(AMP, 1, "metadata", how.metadata = "\"amp\": \"True\", ");
    EXPECT(AMP, 0, "metadata that says nothing", how.metadata = NULL);
}

Test(trace_settings, batch_size)
{
    EXPECT(BATCH_SIZE, 64, "training", (void)0);
    EXPECT(BATCH_SIZE, 64, "inference", how.losses = 0);
    EXPECT(BATCH_SIZE, 64, "a short last batch", how.short_last = 20);
    EXPECT(BATCH_SIZE, 64, "data made on the device", how.copy = NULL);
    EXPECT(BATCH_SIZE, 64, "linear layers", how.layer = "aten::linear",
           how.axes = ", 8");
    EXPECT(BATCH_SIZE, UNKNOWN, "no shapes", how.first = how.last = how.losses
                                             = 0);
    EXPECT(BATCH_SIZE, UNKNOWN, "one layer alone", how.losses = how.last = 0);
    EXPECT(BATCH_SIZE, UNKNOWN, "frames of a video", how.copied = 8);
    EXPECT(BATCH_SIZE, UNKNOWN, "frames, one answer each",
           how.last = how.loss = 8, how.copy = NULL);
    EXPECT(BATCH_SIZE, UNKNOWN, "two views of each sample",
           how.first = how.last = how.loss = 128);
    EXPECT(BATCH_SIZE, UNKNOWN, "pieces of a batch", how.first = how.last = 16,
           how.losses = 4, how.loss = 16);
    EXPECT(BATCH_SIZE, UNKNOWN, "tokens", how.begins = "aten::embedding");
    EXPECT(BATCH_SIZE, UNKNOWN, "a linear layer of three axes",
           how.layer = "aten::linear", how.axes = ", 12, 8");
    EXPECT(BATCH_SIZE, UNKNOWN, "linear layers alone, which may be of tokens",
           how.layer = "aten::linear", how.axes = ", 8", how.losses = 0,
           how.copy = NULL);
    EXPECT(BATCH_SIZE, UNKNOWN, "a convolution without a batch",
           how.axes = ", 8, 8");
    EXPECT(BATCH_SIZE, 32, "metadata", how.metadata = "\"batch_size\": 32, ");
    EXPECT(BATCH_SIZE, UNKNOWN, "metadata of nothing",
           how.first = how.last = 0,
           how.metadata = "\"batch_size\": 0, ");
}

/* What kineto's samples are called after, and do. */
Test(trace_settings, real)
{
    static const struct {
        const char *name;
        int64_t values[TP_SETTING_COUNT];
    } cases[] = {{"01_resnet50_nw0", {32, 0, 0, 0}},
                 {"02_resnet50_nw4", {32, UNKNOWN, 0, 0}},
                 {"03_resnet50_nw0_list", {32, 0, 0, 0}},
                 {"24_h100_timesformer", {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
                 {"15_bert_h100", {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4096];
        struct tp_error err = {0};
        struct tp_trace_run run = {.trace_count = 0};
        struct tp_pool *pool;
        if (!trace_data_there(cases[i].name))
            cr_skip("no trace of others: %s", cases[i].name);
        trace_data_path(cases[i].name, path, sizeof path);
        const char *const roots[] = {path};
        const struct tp_trace_options how = {.roots = roots, .root_count = 1};
        cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
        cr_assert_eq(tp_trace_collect(pool, &how, &run, &err), TP_OK);
        for (int k = 0; k < TP_SETTING_COUNT; k++) {
            const struct tp_setting got =
                tp_trace_run_setting(&run, (enum tp_setting_id)k);
            cr_expect_eq(got.known ? got.value : UNKNOWN, cases[i].values[k],
                         "%s: %s", cases[i].name, tp_setting_table[k].name);
        }
        tp_trace_run_clear(&run);
        tp_pool_free(pool);
    }
}
