/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/pt_maker.h"

#include "base/text.h"
#include "dump/dump_flow.h"

/* Two calls, of which the second is given what the first gave: what is said
 * when that is changed on the way, by positions, sizes and dtypes. */

enum { NUMEL = 4000 };

/* A dump under construction: entries of dump.json and their files. */
struct flow_maker {
    struct maker maker;
    const struct pt_dtype *dtype;
    const char *dtype_name;
    size_t numel;
    int step;
    struct tp_text data[2];
};

static struct flow_maker flow_begin(void)
{
    return (struct flow_maker){.maker = maker_begin(),
                               .dtype = &pt_float32,
                               .dtype_name = "torch.float32",
                               .numel = NUMEL};
}

/* Pseudo-random bits that are finite numbers: those of float32 and bfloat16
 * between 2^-1 and 2, small whole numbers of int64. */
static void fill(const struct flow_maker *flow, uint64_t seed, void *to)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (size_t i = 0; i < flow->numel; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint32_t float32 = 0x3f000000u | (uint32_t)(state >> 40);
        const uint16_t bfloat16 = (uint16_t)(0x3f00u | (uint32_t)(state >> 56));
        const int64_t int64 = (int64_t)(state >> 40) + 1;
        if (flow->dtype->size == 4)
            memcpy((char *)to + 4 * i, &float32, 4);
        else if (flow->dtype->size == 2)
            memcpy((char *)to + 2 * i, &bfloat16, 2);
        else
            memcpy((char *)to + 8 * i, &int64, 8);
    }
}

/* The item of a tensor, and its file. */
static void put_item(struct flow_maker *flow, const char *name,
                     const void *bytes, struct tp_text *text)
{
    char path[256];
    tp_text_add(text,
                "{\"type\": \"torch.Tensor\", \"dtype\": \"%s\", \"shape\": "
                "[%zu], \"data_name\": \"%s.pt\"}",
                flow->dtype_name, flow->numel, name);
    snprintf(path, sizeof path, "step%d/rank0/dump_tensor_data/%s.pt",
             flow->step, name);
    pt_put(&flow->maker, path, flow->dtype, bytes, flow->numel);
}

/* Adds a call; NULL: it has no such tensor. */
static void put_call(struct flow_maker *flow, const char *call,
                     const void *input, const void *output)
{
    struct tp_text *text = &flow->data[flow->step];
    char name[128];
    tp_text_add(text, "%s\"%s\": {\"input_args\": [", text->length ? ", " : "",
                call);
    snprintf(name, sizeof name, "%s.input.0", call);
    if (input)
        put_item(flow, name, input, text);
    tp_text_add(text, "], \"input_kwargs\": {}, \"output\": [");
    snprintf(name, sizeof name, "%s.output.0", call);
    if (output)
        put_item(flow, name, output, text);
    tp_text_add(text, "]}");
}

/* What an audit of it finds. */
struct audited {
    struct tp_dump dump;
    struct tp_dump_flow flow;
    struct tp_dump_findings findings;
};

static void flow_end(struct flow_maker *flow, struct audited *audited)
{
    struct tp_pool *pool;
    *audited = (struct audited){.flow = {.count = 0}};
    for (int step = 0; step < 2; step++) {
        struct tp_text text = {0};
        char name[64];
        if (!flow->data[step].length)
            continue;
        tp_text_add(&text, "{\"task\": \"tensor\", \"data\": {%s}}",
                    tp_text_get(&flow->data[step]));
        snprintf(name, sizeof name, "step%d/rank0/dump.json", step);
        maker_put(&flow->maker, name, tp_text_get(&text));
        tp_text_clear(&text);
        tp_text_clear(&flow->data[step]);
    }
    cr_assert_eq(maker_read(&flow->maker, "", false, &audited->dump), TP_OK);
    cr_assert_eq(tp_pool_new(2, &pool, NULL), TP_OK);
    cr_assert_eq(tp_dump_flow_find(&audited->dump, pool, NULL, &audited->flow,
                                   &audited->findings, NULL),
                 TP_OK);
    tp_pool_free(pool);
    maker_end(&flow->maker);
}

static void clear(struct audited *audited)
{
    tp_dump_findings_clear(&audited->findings);
    tp_dump_flow_clear(&audited->flow);
    tp_dump_clear(&audited->dump);
}

/* --- changed ----------------------------------------------------------------
 */

static const struct change {
    const char *name;
    const struct pt_dtype *dtype;
    const char *dtype_name;
    size_t numel, first, count, every; /* elements                         */
    bool found;
} changes[] = {
    {"nothing", &pt_float32, "torch.float32", NUMEL, 0, 0, 1, false},
    {"one element", &pt_float32, "torch.float32", NUMEL, 1234, 1, 1, true},
    {"the first", &pt_float32, "torch.float32", NUMEL, 0, 1, 1, true},
    {"the last", &pt_float32, "torch.float32", NUMEL, NUMEL - 1, 1, 1, true},
    {"the beginning", &pt_float32, "torch.float32", NUMEL, 0, 400, 1, true},
    {"the middle", &pt_float32, "torch.float32", NUMEL, 1900, 300, 1, true},
    {"the end", &pt_float32, "torch.float32", NUMEL, 3600, 400, 1, true},
    {"a page", &pt_float32, "torch.float32", 16384, 2048, 1024, 1, true},
    {"a column", &pt_float32, "torch.float32", NUMEL, 7, 200, 20, true},
    {"of bfloat16", &pt_bfloat16, "torch.bfloat16", NUMEL, 128, 128, 1, true},
    {"of int64", &pt_int64, "torch.int64", NUMEL, 10, 16, 1, true},
    {"of a small one", &pt_float32, "torch.float32", 32, 5, 3, 1, true},
    {"more than a tenth", &pt_float32, "torch.float32", NUMEL, 0, 401, 1,
     false},
    {"all", &pt_float32, "torch.float32", NUMEL, 0, NUMEL, 1, false},
};

/* Inverts the lowest bits of elements. */
static void damage(const struct change *change, unsigned char *bytes)
{
    for (size_t i = 0; i < change->count; i++)
        bytes[(change->first + i * change->every) * change->dtype->size] ^=
            0x55;
}

static void expect_change(const struct change *change,
                          const struct audited *audited)
{
    const size_t last = change->first + (change->count - 1) * change->every;
    const size_t size = change->dtype->size;
    const struct tp_dump_flow_row *row = audited->flow.rows;
    cr_assert_eq(audited->flow.count, change->found, "%s: %zu", change->name,
                 audited->flow.count);
    cr_assert_eq(audited->findings.count, change->found, "%s", change->name);
    if (!change->found)
        return;
    cr_expect_str_eq(row->kind, "changed", "%s", change->name);
    cr_expect_str_eq(row->producer, "Torch.add.0.forward.output.0");
    cr_expect_str_eq(row->consumer, "Functional.gelu.0.forward.input.0");
    cr_expect_eq(row->differing, (int64_t)change->count, "%s", change->name);
    cr_expect_eq(row->first, (int64_t)change->first, "%s", change->name);
    cr_expect_eq(row->last, (int64_t)last, "%s", change->name);
    cr_expect_eq(row->first_byte, (int64_t)(change->first * size));
    cr_expect_eq(row->last_byte, (int64_t)((last + 1) * size - 1));
    cr_expect_eq(audited->findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_expect_eq(audited->findings.rows[0].order, 1);
}

Test(dump_flow, changed)
{
    static unsigned char made[16384 * 8], used[16384 * 8];
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct flow_maker flow = flow_begin();
        struct audited audited;
        flow.dtype = changes[i].dtype;
        flow.dtype_name = changes[i].dtype_name;
        flow.numel = changes[i].numel;
        fill(&flow, 7, made);
        memcpy(used, made, sizeof used);
        damage(&changes[i], used);
        put_call(&flow, "Torch.add.0.forward", NULL, made);
        put_call(&flow, "Functional.gelu.0.forward", used, NULL);
        flow_end(&flow, &audited);
        expect_change(&changes[i], &audited);
        clear(&audited);
    }
}

/* --- what explains a change --------------------------------------------------
 */

static float base[NUMEL], changed[NUMEL], result[NUMEL];

/* An audit of a call that gives `base`, one between that is called `between`
 * and given `input`, and one that is given `changed`. */
static size_t count_between(const char *between, const float *input,
                            size_t numel, enum tp_severity *level)
{
    struct flow_maker flow = flow_begin();
    struct audited audited;
    put_call(&flow, "Torch.add.0.forward", NULL, base);
    flow.numel = numel;
    if (between)
        put_call(&flow, between, input, NULL);
    flow.numel = NUMEL;
    put_call(&flow, "Functional.gelu.0.forward", changed, NULL);
    flow_end(&flow, &audited);
    size_t count = audited.flow.count;
    if (level && count)
        *level = audited.findings.rows[0].level;
    clear(&audited);
    return count;
}

static void prepare(void)
{
    const struct flow_maker flow = {.dtype = &pt_float32, .numel = NUMEL};
    fill(&flow, 3, base);
    memcpy(changed, base, sizeof changed);
    for (int i = 0; i < 100; i++)
        changed[500 + i] = -base[500 + i];
}

Test(dump_flow, a_call_that_writes_in_place_explains_it)
{
    prepare();
    cr_expect_eq(count_between(NULL, NULL, NUMEL, NULL), 1);
    cr_expect_eq(
        count_between("Tensor.__setitem__.0.forward", base, NUMEL, NULL), 0);
    cr_expect_eq(count_between("Tensor.mul.0.forward", base, NUMEL, NULL), 1);
    cr_expect_eq(count_between("Tensor.mul_.0.forward", base, NUMEL, NULL), 0);
}

/* A view of it may be what was written: then it is a note. */
Test(dump_flow, a_part_that_is_written_in_place_may_explain_it)
{
    enum tp_severity level = TP_SEVERITY_HIGH;
    prepare();
    cr_expect_eq(
        count_between("Tensor.neg_.0.forward", base + 500, 100, &level), 1);
    cr_expect_eq(level, TP_SEVERITY_LOW);
    cr_expect_eq(count_between("Tensor.neg_.0.forward", base + 500, 99, &level),
                 1);
    cr_expect_eq(level, TP_SEVERITY_MEDIUM);
}

Test(dump_flow, a_clamp_explains_it)
{
    prepare();
    for (int i = 0; i < NUMEL; i++)
        changed[i] = base[i] > 1.9F ? 1.9F : base[i];
    cr_expect_eq(count_between(NULL, NULL, NUMEL, NULL), 0);
    changed[17] = 1.9F; /* of one below the limit */
    base[17] = 0.6F;
    cr_expect_eq(count_between(NULL, NULL, NUMEL, NULL), 1);
}

/* Masks and the like are equal for the most part by chance. */
Test(dump_flow, contents_of_few_values_tell_nothing)
{
    for (int i = 0; i < NUMEL; i++)
        base[i] = changed[i] = (float)(i % 3);
    changed[5] = 7;
    cr_expect_eq(count_between(NULL, NULL, NUMEL, NULL), 0);
}

/* --- stale -------------------------------------------------------------------
 */

/* Two steps of a producer and a consumer. */
static void two_steps(const char *producer, const float *made[2],
                      const float *used[2], struct audited *audited)
{
    struct flow_maker flow = flow_begin();
    for (flow.step = 0; flow.step < 2; flow.step++) {
        put_call(&flow, producer, NULL, made[flow.step]);
        put_call(&flow, "Functional.gelu.0.forward", used[flow.step], NULL);
    }
    flow_end(&flow, audited);
}

Test(dump_flow, stale)
{
    const struct flow_maker flow = {.dtype = &pt_float32, .numel = NUMEL};
    struct audited audited;
    fill(&flow, 1, base);
    fill(&flow, 2, changed);
    fill(&flow, 3, result);
    two_steps("Torch.add.0.forward", (const float *[]){base, changed},
              (const float *[]){base, base}, &audited);
    cr_assert_eq(audited.flow.count, 1);
    cr_expect_str_eq(audited.flow.rows[0].kind, "stale");
    cr_expect_eq(audited.flow.rows[0].step, 1);
    cr_expect_str_eq(audited.flow.rows[0].consumer,
                     "Functional.gelu.0.forward.input.0");
    clear(&audited);
    two_steps("Torch.add.0.forward", (const float *[]){base, changed},
              (const float *[]){base, changed}, &audited);
    cr_expect_eq(audited.flow.count, 0);
    clear(&audited);
    /* a constant that was never the producer's */
    two_steps("Torch.add.0.forward", (const float *[]){base, changed},
              (const float *[]){result, result}, &audited);
    cr_expect_eq(audited.flow.count, 0);
    clear(&audited);
}

/* --- repeated
 * ----------------------------------------------------------------- */

/* Two calls of an API within a step, and what they give. */
static size_t count_repeated(const char *api, const float *first,
                             const float *second, const float *gives)
{
    struct flow_maker flow = flow_begin();
    struct audited audited;
    char name[64];
    snprintf(name, sizeof name, "%s.0.forward", api);
    put_call(&flow, name, first, gives);
    snprintf(name, sizeof name, "%s.1.forward", api);
    put_call(&flow, name, second, gives);
    flow_end(&flow, &audited);
    size_t count = audited.flow.count;
    cr_expect(!count || !strcmp(audited.flow.rows[0].kind, "repeated"));
    clear(&audited);
    return count;
}

Test(dump_flow, repeated)
{
    const struct flow_maker flow = {.dtype = &pt_float32, .numel = NUMEL};
    fill(&flow, 1, base);
    fill(&flow, 2, changed);
    fill(&flow, 3, result);
    cr_expect_eq(count_repeated("Torch.matmul", base, changed, result), 1);
    cr_expect_eq(count_repeated("Torch.matmul", base, base, result), 0);
    /* what may well give the same for other inputs */
    cr_expect_eq(count_repeated("Torch.relu", base, changed, result), 0);
    memcpy(changed, base, sizeof changed);
    changed[0] = 1.5F; /* hardly another input */
    cr_expect_eq(count_repeated("Torch.matmul", base, changed, result), 0);
}

/* Files that cannot be read are not known; nothing else is lost. */
Test(dump_flow, damaged_files_are_left_out)
{
    struct flow_maker flow = flow_begin();
    struct audited audited;
    prepare();
    put_call(&flow, "Torch.add.0.forward", NULL, base);
    put_call(&flow, "Functional.gelu.0.forward", changed, NULL);
    maker_put(&flow.maker,
              "step0/rank0/dump_tensor_data/Torch.add.0.forward.output.0.pt",
              "PK no archive");
    flow_end(&flow, &audited);
    cr_expect_eq(audited.flow.count, 0);
    cr_expect_eq(audited.flow.inputs, 1);
    clear(&audited);
}

/* --- weights ---------------------------------------------------------------
 */

/* Adds a call that reads a weight: a linear, or a module's parameter. */
static void put_reader(struct flow_maker *flow, const char *call,
                       const void *weight)
{
    const bool module = !strncmp(call, "Module", 6);
    struct tp_text *text = &flow->data[flow->step];
    char name[128];
    snprintf(name, sizeof name, "%s.%s", call,
             module ? "parameters.weight" : "input.1");
    tp_text_add(text, "%s\"%s\": {\"input_args\": [null",
                text->length ? ", " : "", call);
    tp_text_add(text, module ? "], \"parameters\": {\"weight\": " : ", ");
    put_item(flow, name, weight, text);
    tp_text_add(text, "%s, \"input_kwargs\": {}, \"output\": []}",
                module ? "}" : "]");
}

static const struct weight_case {
    const char *name, *readers[3];
    const char *between; /* a call before the last reader; NULL            */
    bool flipped, found;
} weight_cases[] = {
    {"by a function and its module",
     {"Functional.linear.0.forward", "Module.fc.Linear.forward.0", NULL},
     NULL,
     true,
     true},
    {"the same without a plant",
     {"Functional.linear.0.forward", "Module.fc.Linear.forward.0", NULL},
     NULL,
     false,
     false},
    {"by two functions",
     {"Functional.linear.0.forward", "Functional.linear.1.forward", NULL},
     NULL,
     true,
     true},
    {"two readings, then another",
     {"Functional.linear.0.forward", "Module.fc.Linear.forward.0",
      "Functional.linear.1.forward"},
     NULL,
     true,
     true},
    {"after a backward pass it may be another",
     {"Functional.linear.0.forward", "Functional.linear.1.forward", NULL},
     "Torch.sum.0.backward",
     true,
     false},
    {"what is no weight is no reading",
     {"Functional.pad.0.forward", "Functional.pad.1.forward", NULL},
     NULL,
     true,
     false},
};

Test(dump_flow, a_bit_of_a_weight_that_is_read_twice)
{
    for (size_t i = 0; i < sizeof weight_cases / sizeof *weight_cases; i++) {
        const struct weight_case *one = &weight_cases[i];
        struct flow_maker flow = flow_begin();
        struct audited audited;
        const char *before = "", *last = "";
        uint32_t code;
        prepare();
        memcpy(changed, base, sizeof changed);
        memcpy(&code, &changed[1234], sizeof code);
        code ^= one->flipped ? 1U << 20 : 0;
        memcpy(&changed[1234], &code, sizeof code);
        for (int k = 0; k < 3 && one->readers[k]; k++) {
            const bool ends = k == 2 || !one->readers[k + 1];
            if (ends && one->between)
                put_call(&flow, one->between, NULL, NULL);
            put_reader(&flow, one->readers[k], ends ? changed : base);
            before = last;
            last = one->readers[k];
        }
        flow_end(&flow, &audited);
        cr_assert_eq(audited.flow.count, one->found, "%s", one->name);
        cr_assert_eq(audited.findings.count, one->found, "%s", one->name);
        if (one->found) {
            const struct tp_dump_flow_row *row = audited.flow.rows;
            cr_expect_str_eq(row->kind, "changed");
            cr_expect_eq(strncmp(row->consumer, last, strlen(last)), 0);
            cr_expect_eq(strncmp(row->producer, before, strlen(before)), 0);
            cr_expect_eq(row->first, 1234);
            cr_expect_eq(row->differing, 1);
            cr_expect_not_null(strstr(audited.findings.rows[0].evidence,
                                      "element [1234]: 1 element, bit 20, of "
                                      "the mantissa, flipped"),
                               "%s", audited.findings.rows[0].evidence);
        }
        clear(&audited);
    }
}
