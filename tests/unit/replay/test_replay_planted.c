/* SPDX-License-Identifier: MIT */
/*
 * Wrong results, planted in what torch computed (testdata/replay) one at a
 * time: each has to be found, as what it is. The dump as it is has none. What
 * needs long sums is planted in calls that are made here.
 */
#include "tests/unit/support/calls_maker.h"

#include <math.h>

#include "data/encode.h"
#include "replay/replay_explain.h"
#include "tests/unit/support/dump_data.h"

enum mistake {
    TILE,    /* some elements in a row are garbage                          */
    NO_BIAS, /* zeros for it                                                */
    ACROSS,  /* a matrix read along its other axis                          */
    EPS,     /* 1e-2 of it                                                  */
    KEPT,    /* what the call before gave                                   */
    DOUBLE,  /* all of it twice                                             */
    FORMULA, /* the other approximation, or training or not                 */
    AXIS,    /* along the first axis                                        */
    SMOOTH,  /* with labels that are smoothed                               */
    OPEN,    /* no causal mask                                              */
    CAUSAL,  /* one too many                                                */
    UNMASKED, /* no mask that is added                                      */
    UNSCALED /* logits as they are                                          */
};

static const struct {
    int step;
    const char *key, *argument;
    enum mistake mistake;
    enum tp_explain_id expected;
} plants[] = {
    /* norms */
    {0, "Functional.layer_norm.0", "", EPS, TP_EXPLAIN_EPS},
    {0, "Functional.layer_norm.1", "", EPS, TP_EXPLAIN_EPS},
    {0, "Functional.layer_norm.0", "bias", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {0, "Functional.group_norm.0", "", EPS, TP_EXPLAIN_EPS},
    {0, "Functional.group_norm.0", "bias", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {0, "Functional.batch_norm.0", "", EPS, TP_EXPLAIN_EPS},
    {0, "Functional.batch_norm.1", "", EPS, TP_EXPLAIN_EPS},
    {0, "Functional.batch_norm.1", "", FORMULA, TP_EXPLAIN_FORMULA},
    {0, "Functional.batch_norm.0", "bias", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    /* softmax and losses */
    {0, "Functional.softmax.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.softmax.0", "", AXIS, TP_EXPLAIN_DIM},
    {0, "Functional.cross_entropy.2", "", SMOOTH, TP_EXPLAIN_FORMULA},
    {0, "Torch.softmax.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.log_softmax.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.cross_entropy.1", "", KEPT, TP_EXPLAIN_KEPT},
    {0, "Functional.cross_entropy.2", "", DOUBLE, TP_EXPLAIN_SCALE},
    {0, "Functional.nll_loss.0", "", DOUBLE, TP_EXPLAIN_NOTHING},
    {0, "Functional.mse_loss.0", "", DOUBLE, TP_EXPLAIN_NOTHING},
    {0, "Functional.l1_loss.0", "", DOUBLE, TP_EXPLAIN_NOTHING},
    /* movement */
    {0, "Tensor.reshape.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Tensor.transpose.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.permute.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Tensor.expand.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Tensor.repeat.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.cat.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.stack.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.split.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.tril.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.index_select.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Torch.gather.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.embedding.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.max_pool2d.0", "", TILE, TP_EXPLAIN_REGION},
    {0, "Functional.adaptive_avg_pool2d.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    /* elementwise, bf16 */
    {1, "Torch.add.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.sub.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.mul.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {1, "Torch.div.1", "", KEPT, TP_EXPLAIN_KEPT},
    {1, "Torch.pow.1", "", KEPT, TP_EXPLAIN_KEPT},
    {1, "Torch.maximum.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.lerp.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.addcmul.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.addcdiv.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.where.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.exp.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {1, "Torch.tanh.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.sigmoid.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.rsqrt.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Torch.log.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Functional.relu.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Functional.silu.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Tensor.add_.0", "", TILE, TP_EXPLAIN_REGION},
    {1, "Tensor.mul_.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    /* products, fp16 */
    {2, "Functional.linear.0", "bias", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {2, "Functional.linear.0", "weight", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Functional.linear.1", "weight", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.matmul.0", "other", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.mm.0", "other", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.bmm.0", "other", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.addmm.0", "mat2", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.baddbmm.0", "batch2", ACROSS, TP_EXPLAIN_TRANSPOSED},
    {2, "Torch.addmm.0", "input", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {2, "Torch.baddbmm.0", "input", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {2, "Functional.conv1d.0", "bias", NO_BIAS, TP_EXPLAIN_NO_BIAS},
    {2, "Functional.conv2d.0", "", TILE, TP_EXPLAIN_REGION},
    {2, "Functional.scaled_dot_product_attention.0", "", TILE,
     TP_EXPLAIN_REGION},
    {2, "Functional.scaled_dot_product_attention.0", "", OPEN, TP_EXPLAIN_MASK},
    {2, "Functional.scaled_dot_product_attention.1", "attn_mask", UNMASKED,
     TP_EXPLAIN_MASK},
    {2, "Functional.scaled_dot_product_attention.2", "", CAUSAL,
     TP_EXPLAIN_MASK},
    {2, "Functional.scaled_dot_product_attention.0", "", UNSCALED,
     TP_EXPLAIN_FORMULA},
    {2, "Functional.scaled_dot_product_attention.1", "", UNSCALED,
     TP_EXPLAIN_FORMULA},
    /* reductions, fp64 */
    {3, "Torch.sum.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {3, "Torch.mean.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {3, "Torch.var.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {3, "Torch.std.0", "", DOUBLE, TP_EXPLAIN_SCALE},
    {3, "Torch.cumsum.0", "", TILE, TP_EXPLAIN_REGION},
};

enum { PLANTS = sizeof plants / sizeof *plants };

/* --- files ---------------------------------------------------------------- */

static void encode(enum tp_dtype dtype, double value, unsigned char *code)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const float single = (float)value;
    uint64_t bits = 0;
    if (dtype == TP_FLOAT64)
        memcpy(&bits, &value, sizeof value);
    else if (dtype == TP_FLOAT32)
        memcpy(&bits, &single, sizeof single);
    else
        bits = tp_number_encode(tp_number_by_dtype(dtype), TP_ROUND_DEFAULT,
                                value);
    memcpy(code, &bits, size);
}

/* Writes the values as the file of an item. */
static void replace(const struct maker *maker, int number,
                    struct tp_dump_item *item, const struct tp_array *array)
{
    static const struct {
        enum tp_dtype dtype;
        struct pt_dtype file;
    } files[] = {{TP_FLOAT32, {"FloatStorage", 4}},
                 {TP_BFLOAT16, {"BFloat16Storage", 2}},
                 {TP_FLOAT16, {"HalfStorage", 2}},
                 {TP_FLOAT64, {"DoubleStorage", 8}}};
    static char paths[PLANTS][256];
    static struct tp_found planted[PLANTS];
    size_t k = 0;
    while (files[k].dtype != array->dtype)
        cr_assert_lt(++k, sizeof files / sizeof *files);
    unsigned char *codes = calloc((size_t)array->count + 1, 8);
    for (int64_t i = 0; i < array->count; i++)
        encode(array->dtype, array->value[i],
               codes + (size_t)i * files[k].file.size);
    char name[64];
    snprintf(name, sizeof name, "planted%d.pt", number);
    pt_put_shaped(maker, name, &files[k].file, codes, array->shape,
                  array->dims);
    maker_path(maker, name, paths[number], sizeof paths[number]);
    planted[number] = (struct tp_found){.path = paths[number]};
    item->file = &planted[number];
    item->tensor = 0;
    free(codes);
}

/* --- mistakes ------------------------------------------------------------- */

static void run(struct tp_replay_call *call)
{
    struct tp_error err = {0};
    enum tp_replay_state state;
    cr_assert_eq(
        tp_replay_run(call, tp_replay_operator(call->call, &state), &err),
        TP_OK, "%s: %s", call->call->key, err.message);
}

static void read_across(struct tp_array *array)
{
    const int64_t rows = array->shape[array->dims - 2],
                  columns = array->shape[array->dims - 1];
    double *values = calloc((size_t)array->count, sizeof *values);
    for (int64_t b = 0; b < array->count; b += rows * columns)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < columns; k++)
                values[b + i * columns + k] = array->value[b + k * rows + i];
    memcpy(array->value, values, (size_t)array->count * sizeof *values);
    free(values);
}

static void put_tile(struct tp_array *array)
{
    const int64_t size = array->count > 16 ? array->count / 8 : 1;
    double most = 1;
    for (int64_t i = 0; i < array->count; i++)
        if (isfinite(array->value[i]))
            most = fmax(most, fabs(array->value[i]));
    for (int64_t i = 0; i < size; i++)
        array->value[array->count / 3 + i] = 3 * most + (double)i;
}

/* The number of a call, one less; "" if it is the first. */
static void key_before(const char *key, char *before, size_t size)
{
    const char *number = strrchr(key, '.') + 1;
    snprintf(before, size, "%.*s%d.forward", (int)(number - key), key,
             atoi(number) - 1);
}

/* Mistakes that are another value of a setting. */
static const struct {
    enum mistake mistake;
    const char *name;
    struct tp_json value;
} settings[] = {
    {EPS, "eps", {.kind = TP_JSON_REAL, .real = 1e-2}},
    {AXIS, "dim", {.kind = TP_JSON_INTEGER}},
    {SMOOTH, "label_smoothing", {.kind = TP_JSON_REAL, .real = 0.1}},
    {OPEN, "is_causal", {.kind = TP_JSON_BOOL}},
    {CAUSAL, "is_causal", {.kind = TP_JSON_BOOL, .integer = 1}},
    {UNSCALED, "scale", {.kind = TP_JSON_REAL, .real = 1}},
};

/* What a mistake gives, in call->outputs[0]. */
static void make(struct tp_replay_call *call, const char *argument,
                 enum mistake mistake, const char *key)
{
    static const struct tp_json tanh = {.kind = TP_JSON_STRING, .text = "tanh"};
    const bool norm = strstr(key, "batch_norm") != NULL;
    const struct tp_json mode = {
        .kind = TP_JSON_BOOL, .integer = !tp_arg_integer(call, "training", 0)};
    struct tp_array *array = tp_arg_array(call, argument);
    if (mistake == NO_BIAS || mistake == UNMASKED)
        for (int64_t i = 0; i < array->count; i++)
            array->value[i] = array->dtype == TP_BOOL;
    if (mistake == ACROSS)
        read_across(array);
    if (mistake == FORMULA) {
        call->override_name = norm ? "training" : "approximate";
        call->override_value = norm ? &mode : &tanh;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].mistake == mistake) {
            call->override_name = settings[i].name;
            call->override_value = &settings[i].value;
        }
    run(call);
    if (mistake == TILE)
        put_tile(&call->outputs[0]);
    for (int64_t i = 0; mistake == DOUBLE && i < call->outputs[0].count; i++)
        call->outputs[0].value[i] *= 2;
    if (mistake == KEPT) {
        char before[128];
        struct tp_error err = {0};
        key_before(key, before, sizeof before);
        const struct tp_replay_call other = {
            .place = call->place, .call = tp_dump_call_of(call->place, before)};
        cr_assert_not_null(other.call, "no %s", before);
        tp_array_clear(&call->outputs[0]);
        cr_assert_eq(
            tp_array_read(tp_replay_result(&other, 0), &call->outputs[0], &err),
            TP_OK);
    }
}

static struct tp_dump_item *result_item(struct tp_dump_place *place,
                                        const struct tp_dump_call *call)
{
    const struct tp_replay_call replay = {.place = place, .call = call};
    return &place->items[tp_replay_result(&replay, 0) - place->items];
}

static void plant(struct tp_dump *dump, const struct maker *maker, int number)
{
    struct tp_dump_place *place = &dump->places[plants[number].step];
    char key[128];
    struct tp_error err = {0};
    struct tp_replay_verdict verdict;
    struct tp_explain explain;
    enum tp_replay_state state;
    snprintf(key, sizeof key, "%s.forward", plants[number].key);
    const struct tp_dump_call *call = tp_dump_call_of(place, key);
    cr_assert_not_null(call, "no %s", key);
    struct tp_replay_call replay = {
        .place = place,
        .call = call,
        .signature = tp_replay_operator(call, &state)->signature};
    cr_assert_eq(tp_replay_call_load(&replay, &err), TP_OK);
    make(&replay, plants[number].argument, plants[number].mistake,
         plants[number].key);
    struct tp_dump_item *item = result_item(place, call);
    const struct tp_dump_item kept = *item;
    replace(maker, number, item, &replay.outputs[0]);
    tp_replay_call_clear(&replay);
    cr_assert_eq(tp_replay_judge(place, call, &verdict, &err), TP_OK);
    cr_expect_eq(verdict.state, TP_REPLAY_JUDGED, "%s", verdict.reason);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED,
                 "%s: excess %g, own %g", key, verdict.excess,
                 verdict.excess_own);
    cr_assert_eq(tp_replay_explain(dump, (size_t)plants[number].step,
                                   (size_t)(call - place->calls), &verdict,
                                   &explain, &err),
                 TP_OK);
    cr_expect_eq(explain.id, plants[number].expected, "%s: %s (%s)", key,
                 tp_explain_words[explain.id], explain.words);
    cr_expect_eq(explain.id == TP_EXPLAIN_NOTHING, explain.words[0] == '\0');
    *item = kept;
}

Test(replay_planted, finds_each_and_says_what_it_is)
{
    struct tp_dump dump;
    char path[4096];
    const struct maker maker = maker_begin();
    testdata_path("replay", path, sizeof path);
    cr_assert(dump_data_read(path, &dump));
    for (int i = 0; i < PLANTS; i++)
        plant(&dump, &maker, i);
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(replay_planted, finds_none_where_none_is)
{
    struct tp_dump dump;
    char path[4096];
    size_t judged = 0;
    testdata_path("replay", path, sizeof path);
    cr_assert(dump_data_read(path, &dump));
    for (size_t p = 0; p < dump.place_count; p++)
        for (size_t i = 0; i < dump.places[p].call_count; i++) {
            struct tp_replay_verdict verdict;
            struct tp_error err = {0};
            cr_assert_eq(tp_replay_judge(&dump.places[p],
                                         &dump.places[p].calls[i], &verdict,
                                         &err),
                         TP_OK);
            judged += verdict.state == TP_REPLAY_JUDGED;
            cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_EXPLAINED,
                         "%s", dump.places[p].calls[i].key);
        }
    cr_expect_gt(judged, 200);
    tp_dump_clear(&dump);
}

/* --- long sums ------------------------------------------------------------ */

enum { LONG = 512, ROWS = 4 };

/* Positive numbers: a sum of them outgrows its addends. */
static void fill(double *values, int count, double phase)
{
    for (int i = 0; i < count; i++)
        values[i] = tp_dtype_round(TP_BFLOAT16, 1 + 0.5 * sin(phase + i));
}

/* x W^T, each sum kept in a dtype. */
static void multiply(const double *x, const double *w, enum tp_dtype sums,
                     double *made)
{
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++) {
            double sum = 0;
            for (int j = 0; j < LONG; j++)
                sum = tp_dtype_round(sums,
                                     sum + x[i * LONG + j] * w[k * LONG + j]);
            made[i * ROWS + k] = sum;
        }
}

/* Two linears of a dtype; the second takes, wrongly, the input of the first
 * (`stale`), or has its sums in a dtype. */
static void judge_second(enum tp_dtype dtype, enum tp_dtype sums, bool stale,
                         struct tp_replay_verdict *verdict,
                         struct tp_explain *explain)
{
    static double x[2][ROWS * LONG], w[ROWS * LONG];
    const int64_t in[] = {ROWS, LONG}, out[] = {ROWS, ROWS};
    double made[2][ROWS * ROWS];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    fill(x[0], ROWS * LONG, 0);
    fill(x[1], ROWS * LONG, 1);
    fill(w, ROWS * LONG, 2);
    multiply(x[0], w, TP_FLOAT64, made[0]);
    multiply(x[stale ? 0 : 1], w, sums, made[1]);
    for (int i = 0; stale && i < ROWS * ROWS; i++) /* by another kernel */
        made[1][i] = nextafterf((float)made[1][i], 0);
    for (int i = 0; i < 2; i++) {
        calls_call(&m, i ? "Functional.linear.1.forward"
                         : "Functional.linear.0.forward");
        calls_tensor(&m, dtype, 2, in, x[i]);
        calls_tensor(&m, dtype, 2, in, w);
        calls_results(&m, "");
        calls_tensor(&m, dtype, 2, out, made[i]);
        calls_done(&m);
    }
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(tp_replay_judge(place, &place->calls[1], verdict, &err),
                 TP_OK);
    memset(explain, 0, sizeof *explain);
    if (tp_replay_level_of(verdict) != TP_REPLAY_EXPLAINED)
        cr_assert_eq(tp_replay_explain(&dump, 0, 1, verdict, explain, &err),
                     TP_OK);
    tp_dump_clear(&dump);
    calls_end(&m);
}

Test(replay_planted, tells_sums_in_bf16_from_those_in_float32)
{
    struct tp_replay_verdict verdict;
    struct tp_explain explain;
    judge_second(TP_BFLOAT16, TP_BFLOAT16, false, &verdict, &explain);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_LOW_PRECISION,
                 "excess %g, own %g", verdict.excess, verdict.excess_own);
    cr_expect_not(tp_replay_is_wrong(&verdict, &explain), "%s", explain.words);
    judge_second(TP_BFLOAT16, TP_FLOAT32, false, &verdict, &explain);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_EXPLAINED);
}

Test(replay_planted, knows_sums_in_fp16_of_float32)
{
    struct tp_replay_verdict verdict;
    struct tp_explain explain;
    judge_second(TP_FLOAT32, TP_FLOAT16, false, &verdict, &explain);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED);
    cr_expect_eq(explain.id, TP_EXPLAIN_STEPS, "%s", explain.words);
    judge_second(TP_FLOAT32, TP_FLOAT32, false, &verdict, &explain);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_EXPLAINED);
}

/* Under autocast the dump has operands in float32, which the call casts to the
 * dtype of its result: that is no matter of its steps. Results in float32 of
 * such operands are. */
Test(replay_planted, takes_operands_as_autocast_casts_them)
{
    static double x[ROWS * LONG], w[ROWS * LONG], cast[2][ROWS * LONG];
    const int64_t in[] = {ROWS, LONG}, out[] = {ROWS, ROWS};
    double made[ROWS * ROWS];
    for (int i = 0; i < ROWS * LONG; i++) {
        x[i] = (float)sin(0.7 * i);
        w[i] = (float)cos(1.3 * i);
        cast[0][i] = tp_dtype_round(TP_BFLOAT16, x[i]);
        cast[1][i] = tp_dtype_round(TP_BFLOAT16, w[i]);
    }
    multiply(cast[0], cast[1], TP_FLOAT32, made);
    for (int wide = 0; wide <= 1; wide++) {
        const enum tp_dtype dtype = wide ? TP_FLOAT32 : TP_BFLOAT16;
        struct calls_maker m = calls_begin();
        struct tp_dump dump;
        struct tp_error err = {0};
        struct tp_replay_verdict verdict;
        calls_call(&m, "Functional.linear.0.forward");
        calls_tensor(&m, TP_FLOAT32, 2, in, x);
        calls_tensor(&m, TP_FLOAT32, 2, in, w);
        calls_results(&m, "");
        calls_tensor(&m, dtype, 2, out, made);
        calls_done(&m);
        calls_write(&m);
        cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
        cr_assert_eq(tp_replay_judge(&dump.places[0], dump.places[0].calls,
                                     &verdict, &err),
                     TP_OK);
        cr_expect(verdict.excess > 1, "%g", verdict.excess);
        cr_expect_eq(tp_replay_level_of(&verdict),
                     wide ? TP_REPLAY_UNEXPLAINED : TP_REPLAY_EXPLAINED);
        tp_dump_clear(&dump);
        calls_end(&m);
    }
}

Test(replay_planted, knows_the_input_of_another_call)
{
    struct tp_replay_verdict verdict;
    struct tp_explain explain;
    judge_second(TP_FLOAT32, TP_FLOAT32, true, &verdict, &explain);
    cr_expect_eq(tp_replay_level_of(&verdict), TP_REPLAY_UNEXPLAINED);
    cr_expect_eq(explain.id, TP_EXPLAIN_STALE, "%s", explain.words);
    cr_expect_str_eq(explain.words, "its argument 0 was that of "
                                    "Functional.linear.0.forward");
    /* sums in bf16 have no bound at this length, and yet are no excuse */
    judge_second(TP_BFLOAT16, TP_FLOAT32, true, &verdict, &explain);
    cr_expect_eq(explain.id, TP_EXPLAIN_KEPT, "%s", explain.words);
    cr_expect(tp_replay_is_wrong(&verdict, &explain));
}

/* --- sums in few bits, and what their bounds would hide --------------------
 */

enum plant { SUMS, CHUNKS, QUARTER, SCALED, HOLE };

/* Results of x W^T in bf16, as they are with a mistake. */
static void make_planted(const double *x, const double *w, enum plant plant,
                         double *made)
{
    enum { CHUNK = 128 };
    const int count = plant == QUARTER ? LONG - LONG / 4 : LONG;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++) {
            double sum = 0, part = 0;
            for (int j = 0; j < count; j++) {
                const double term = x[i * LONG + j] * w[k * LONG + j];
                if (plant == SUMS)
                    sum = tp_dtype_round(TP_BFLOAT16, sum + term);
                else
                    part = plant == CHUNKS
                               ? tp_dtype_round(TP_BFLOAT16, part + term)
                               : part + term;
                if (plant == CHUNKS && j % CHUNK == CHUNK - 1) {
                    sum = tp_dtype_round(TP_BFLOAT16, sum + part);
                    part = 0;
                }
            }
            if (plant != SUMS && plant != CHUNKS)
                sum = part * (plant == SCALED ? 1.05 : 1);
            made[i * ROWS + k] = tp_dtype_round(TP_BFLOAT16, sum);
        }
    if (plant == HOLE)
        made[ROWS + 1] = NAN;
}

static void judge_planted(bool positive, enum plant plant,
                          struct tp_replay_verdict *verdict,
                          struct tp_explain *explain)
{
    static double x[ROWS * LONG], w[ROWS * LONG];
    const int64_t in[] = {ROWS, LONG}, out[] = {ROWS, ROWS};
    double made[ROWS * ROWS];
    struct calls_maker m = calls_begin();
    struct tp_dump dump;
    struct tp_error err = {0};
    fill(x, ROWS * LONG, 0);
    fill(w, ROWS * LONG, 2);
    for (int i = 0; !positive && i < ROWS * LONG; i++)
        x[i] = tp_dtype_round(TP_BFLOAT16, sin(0.37 * i * i));
    make_planted(x, w, plant, made);
    calls_call(&m, "Functional.linear.0.forward");
    calls_tensor(&m, TP_BFLOAT16, 2, in, x);
    calls_tensor(&m, TP_BFLOAT16, 2, in, w);
    calls_results(&m, "");
    calls_tensor(&m, TP_BFLOAT16, 2, out, made);
    calls_done(&m);
    calls_write(&m);
    cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
    cr_assert_eq(
        tp_replay_judge(&dump.places[0], dump.places[0].calls, verdict, &err),
        TP_OK);
    cr_assert_eq(tp_replay_explain(&dump, 0, 0, verdict, explain, &err), TP_OK);
    tp_dump_clear(&dump);
    calls_end(&m);
}

Test(replay_planted, tells_what_is_lost_from_what_sums_in_bf16_lose)
{
    static const struct {
        enum plant plant;
        bool wrong;
        enum tp_explain_id id;
    } cases[] = {{SUMS, false, TP_EXPLAIN_NOTHING},
                 {CHUNKS, false, TP_EXPLAIN_NOTHING},
                 {QUARTER, true, TP_EXPLAIN_LOST},
                 {SCALED, true, TP_EXPLAIN_SCALE},
                 {HOLE, true, TP_EXPLAIN_REGION}};
    for (int positive = 0; positive <= 1; positive++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct tp_replay_verdict verdict;
            struct tp_explain explain;
            judge_planted(positive, cases[i].plant, &verdict, &explain);
            cr_expect_neq(tp_replay_level_of(&verdict), TP_REPLAY_EXPLAINED,
                          "%zu, %d: %g", i, positive, verdict.excess);
            cr_expect_eq(tp_replay_is_wrong(&verdict, &explain), cases[i].wrong,
                         "%zu, %d: %s", i, positive, explain.words);
            cr_expect_eq(explain.id, cases[i].id, "%zu, %d: %s", i, positive,
                         explain.words);
        }
}

/* A gradient that is zero but for rounding is no multiple of what it should
 * be; the same call off by more than a rounding of its arguments makes is. */
Test(replay_planted, takes_what_cancels_for_what_it_is)
{
    for (int far = 0; far <= 1; far++) {
        enum { N = 8 };
        const int64_t shape[] = {N};
        double x[N], y[N], made[N];
        struct calls_maker m = calls_begin();
        struct tp_dump dump;
        struct tp_error err = {0};
        struct tp_replay_verdict verdict;
        struct tp_explain explain = {.id = TP_EXPLAIN_NOTHING};
        for (int i = 0; i < N; i++) {
            x[i] = tp_dtype_round(TP_BFLOAT16, 1 + 0.1 * i);
            y[i] = x[i] * (1 + ldexp(i % 2 ? 1 : -1, -12));
            y[i] = (float)y[i];
            made[i] = (far ? 60 : 1) * (i % 3 ? 4e-3 : -4e-3);
        }
        calls_call(&m, "Torch.sub.0.forward");
        calls_tensor(&m, TP_BFLOAT16, 1, shape, x);
        calls_tensor(&m, TP_FLOAT32, 1, shape, y);
        calls_results(&m, "");
        calls_tensor(&m, TP_FLOAT32, 1, shape, made);
        calls_done(&m);
        calls_write(&m);
        cr_assert_eq(maker_read(&m.maker, "", false, &dump), TP_OK);
        cr_assert_eq(tp_replay_judge(&dump.places[0], dump.places[0].calls,
                                     &verdict, &err),
                     TP_OK);
        cr_assert_eq(tp_replay_explain(&dump, 0, 0, &verdict, &explain, &err),
                     TP_OK);
        cr_expect_eq(explain.id == TP_EXPLAIN_CANCELLED, !far, "%s",
                     explain.words);
        cr_expect_eq(tp_replay_is_wrong(&verdict, &explain), far == 1, "%s",
                     explain.words);
        tp_dump_clear(&dump);
        calls_end(&m);
    }
}
