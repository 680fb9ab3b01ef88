/* SPDX-License-Identifier: MIT */
/*
 * The limit of an element: with v the replay's value, b its bound (operators.h)
 * and u the rounding of the result's dtype,
 *
 *     |dumped - v| <= b + u (|v| + b) + underflow
 *
 * as the device rounds what is within b of v. fp64 results are no truth of
 * themselves: device and replay may each be off, so all counts twice. Infinity
 * is right where v and the limit reach beyond the largest number. One pass over
 * results; the tensors of one call are in memory at a time.
 */
#include "replay/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/dtype_round.h"
#include "replay/op_family.h"
#include "replay/point_math.h"
#include "replay/replay_repeat.h"
#include "replay/sum_terms.h"

const char *const tp_replay_state_words[TP_REPLAY_STATES] = {
    "judged", "random", "unset", "unsupported", "unreadable", "other"};

static bool is_type(const struct tp_dump_call *call, const char *word)
{
    const struct tp_msprobe_part *type = &call->name.type;
    return type->length == strlen(word) &&
           !memcmp(type->at, word, type->length);
}

static bool calls_operator(const struct tp_dump_call *call,
                           enum tp_direction direction)
{
    return call->known && call->name.kind == TP_MSPROBE_API &&
           call->name.direction == direction && !is_type(call, "Distributed");
}

/* "Layer", "L" and its number: of tensor_saver's files (saved_calls.h). */
static bool is_layer(const struct tp_dump_call *call)
{
    const struct tp_msprobe_part *type = &call->name.type;
    return is_type(call, "Layer") ||
           (type->length > 1 && *type->at == 'L' &&
            tp_digits_value(type->at + 1, type->length - 1) >= 0);
}

/* The row of a call's name; what becomes of its forward call. */
static const struct tp_operator *row_of(const struct tp_dump_call *call,
                                        enum tp_replay_state *state)
{
    const bool ours =
        is_type(call, "Functional") || is_type(call, "Tensor") ||
        is_type(call, "VF") || is_type(call, "NPU") ||
        (is_type(call, "Torch") && tp_operator_is_ordered(call->name.path));
    const struct tp_operator *row = is_layer(call)
                                        ? tp_saved_operator_of(call->name.path)
                                    : ours ? tp_operator_of(call->name.path)
                                           : NULL;
    *state = !row              ? TP_REPLAY_UNSUPPORTED
             : row->run        ? TP_REPLAY_JUDGED
             : *row->signature ? TP_REPLAY_RANDOM
                               : TP_REPLAY_UNSET;
    return row;
}

const struct tp_operator *tp_replay_operator(const struct tp_dump_call *call,
                                             enum tp_replay_state *state)
{
    *state = TP_REPLAY_OTHER;
    return calls_operator(call, TP_FORWARD) ? row_of(call, state) : NULL;
}

const struct tp_operator *tp_replay_backward_operator(
    const struct tp_dump_call *call, enum tp_replay_state *state)
{
    *state = TP_REPLAY_OTHER;
    if (!calls_operator(call, TP_BACKWARD))
        return NULL;
    const struct tp_operator *row = row_of(call, state);
    if (row && (row->back || *state == TP_REPLAY_JUDGED))
        *state = row->back ? TP_REPLAY_JUDGED : TP_REPLAY_UNSUPPORTED;
    return row;
}

enum tp_status tp_replay_run(struct tp_replay_call *replay,
                             const struct tp_operator *row,
                             struct tp_error *err)
{
    const struct tp_replay_call *forward =
        replay->forward ? replay->forward : replay;
    enum tp_status status = tp_args_recorded(forward, err);
    if (status == TP_OK)
        status = tp_args_fit(forward, err);
    if (status == TP_OK && replay->forward)
        status = tp_args_fit(replay, err);
    if (status != TP_OK)
        return status;
    status = replay->forward ? tp_backward_run(replay, row, err)
                             : row->run(replay, row, err);
    for (size_t i = 0; i < replay->output_count && status == TP_OK; i++)
        if (replay->outputs[i].lost)
            status = tp_fail_memory(err);
    return status;
}

/* --- judging -------------------------------------------------------------- */

/* Sums of squares of a call's results. */
struct sums {
    double error, limit, size;   /* where there is a limit                 */
    double dumped, product, all; /* of all finite elements, and the product */
    double ulps, rounded, steps; /* errors, those of one rounding; ulps     */
    bool unbounded; /* an element has no limit                             */
    uint64_t nonfinite, nans;
    uint64_t beyond; /* where a step may have left the range of the dtype   */
    uint64_t count;  /* of finite elements                                  */
};

/* Magnitudes, but for zero, of all that goes into a call; and whether some is
 * zero. */
struct range {
    double least, most, terms;
    double longest; /* of all axes                                          */
    bool zero;
};

static void add_range(const struct tp_replay_call *replay, bool all,
                      struct range *range)
{
    double given = 1, made = 1;
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_array *array = &replay->arrays[i];
        for (int64_t k = 0; array->value && k < array->count; k++) {
            const double size = fabs(array->value[k]);
            range->zero |= size == 0;
            if (size > range->most && size < INFINITY)
                range->most = size;
            if (size < range->least && size > 0)
                range->least = size;
        }
        if (array->value)
            given = fmax(given, (double)array->count);
        for (int k = 0; array->value && k < array->dims; k++)
            range->longest = fmax(range->longest, (double)array->shape[k]);
    }
    for (size_t i = 0; i < replay->output_count; i++)
        made = fmax(made, (double)replay->outputs[i].count);
    range->terms = fmax(range->terms, given / made);
    if (replay->forward && all)
        add_range(replay->forward, all, range);
}

/* How what lies between arguments and results may be too large for a dtype: by
 * quotients, by squares and sums, or by sums that a bound knows. */
enum wild { TAME, SUMS, QUOTIENT, SQUARE };

static bool is_among(const struct tp_operator *row, tp_point_fn *const *points,
                     size_t count)
{
    for (size_t i = 0; row->point && i < count; i++)
        if (row->point == points[i])
            return true;
    return false;
}

/* Kernels that divide what goes in before they are done; of a quotient itself
 * only the gradients do. */
static bool has_quotients(const struct tp_operator *row, bool backward)
{
    tp_kernel_fn *const runs[] = {tp_run_normalize, tp_run_cosine};
    const bool differs =
        !strcmp(row->names, "mse_loss") || !strcmp(row->names, "l1_loss");
    tp_point_fn *const points[] = {tp_point_reversed_divide,
                                   tp_point_reciprocal, tp_point_power,
                                   tp_point_add_quotient, tp_point_atan2};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (row->run == runs[i])
            return true;
    return (row->run == tp_run_pair_loss && !differs) ||
           is_among(row, points, sizeof points / sizeof *points) ||
           (backward && (row->run == tp_run_divide || row->run == tp_run_norm ||
                         row->run == tp_run_variance));
}

/* Kernels that only add products, or move: no step is larger than what their
 * bounds are made of. */
static bool has_sums_only(const struct tp_operator *row, bool backward)
{
    tp_point_fn *const squares[] = {
        tp_point_acosh, tp_point_asinh, tp_point_atanh, tp_point_atan,
        tp_point_hypot, tp_point_rsqrt, tp_point_tan,   tp_point_log_add};
    const enum tp_op_family family = tp_op_family_of(row);
    if (has_quotients(row, backward) || row->run == tp_run_gelu ||
        row->run == tp_run_bilinear)
        return false;
    return row->run == tp_run_sum || row->run == tp_run_cumsum ||
           family == TP_OP_PRODUCT || family == TP_OP_POOL ||
           family == TP_OP_MOVE ||
           (family == TP_OP_POINT &&
            !(backward &&
              is_among(row, squares, sizeof squares / sizeof *squares)));
}

static bool is_of_classes(const struct tp_operator *row)
{
    return row->run == tp_run_cross_entropy || row->run == tp_run_nll;
}

/* Of softmax, of what it is given alone: a difference, or a sum of gradients;
 * and a sum of as many numbers up to 1. */
static enum wild wildness_of_shares(const struct tp_replay_call *replay,
                                    double largest)
{
    struct range range = {INFINITY, 0, 1, 1, false};
    add_range(replay, false, &range);
    return range.most * (replay->forward ? range.longest : 2) > largest ||
                   range.longest > largest
               ? SQUARE
               : TAME;
}

static enum wild wildness(const struct tp_replay_call *replay,
                          const struct tp_operator *row, enum tp_dtype dtype)
{
    struct range range = {INFINITY, 1, 1, 1, false};
    const double largest = tp_dtype_largest(dtype);
    const bool backward = replay->forward != NULL, classes = is_of_classes(row);
    const bool weighted =
        tp_arg_array(backward ? replay->forward : replay, "weight") != NULL;
    const bool divides = classes ? weighted : has_quotients(row, backward);
    const bool each = replay->output_count > 0 && replay->outputs[0].dims > 0;
    if (dtype != TP_FLOAT16)
        return TAME; /* the others reach as far as float32                 */
    if (has_sums_only(row, backward))
        return SUMS;
    if (row->run == tp_run_softmax || row->run == tp_run_softmin ||
        row->run == tp_run_log_softmax || (classes && !weighted && each))
        return wildness_of_shares(replay, largest);
    add_range(replay, true, &range);
    return range.most * fmax(range.most, range.terms) > largest ? SQUARE
           : divides && (range.zero || range.most / range.least > largest)
               ? QUOTIENT
               : TAME;
}

/* Whether steps may have left the range of the dtype on the way to an element,
 * so that no number is left of it, or a zero of what squares divide. A bound is
 * a rounding of all that was added, at least. */
static bool may_be_beyond(const struct tp_replay_call *replay,
                          const struct tp_array *computed, enum wild wild,
                          int64_t i, double dumped)
{
    if (wild == TAME || !computed->bound)
        return false;
    const double added =
        computed->bound[i] / replay->unit + fabs(computed->value[i]);
    return wild == SUMS ? !isfinite(dumped) &&
                              2 * added > tp_dtype_largest(computed->dtype)
                        : !isfinite(dumped) || (dumped == 0 && wild == SQUARE);
}

/* Whether a result is one sum of a list. */
static bool is_listed(const struct tp_array *computed)
{
    return computed->addends && computed->addends->kind == TP_ADDENDS_LIST;
}

/* Whether an infinity may be what such a sum comes to in few bits, which is
 * tried. */
static bool overflows(const struct tp_array *computed, double dumped)
{
    const struct tp_addends *addends = computed->addends;
    double size = 0;
    for (int64_t i = 0; is_listed(computed) && i < addends->count; i++)
        size += fabs(addends->list[i]);
    return isinf(dumped) && size > tp_dtype_largest(computed->dtype);
}

static double limit_of(const struct tp_array *computed, int64_t i)
{
    const enum tp_dtype dtype = computed->dtype;
    const double u = tp_dtype_rounding(dtype);
    const double v = fabs(computed->value[i]);
    const double b = computed->bound ? computed->bound[i] : 0;
    const double off = b + u * (v + b);
    return u == 0 ? b
                  : (dtype == TP_FLOAT64 ? 2 * off : off) +
                        tp_dtype_underflow(dtype);
}

/* |dumped - computed| over the limit; values that are no numbers must agree. */
static double excess_of(enum tp_dtype dtype, double dumped, double computed,
                        double limit)
{
    if (isnan(computed))
        return isnan(dumped) || !isfinite(limit) ? 0 : INFINITY;
    if (!isfinite(limit))
        return isfinite(computed) || dumped == computed ? 0 : INFINITY;
    if (isnan(dumped))
        return INFINITY;
    if (isinf(dumped) || isinf(computed)) {
        const bool beyond = fabs(computed) + limit >= tp_dtype_largest(dtype);
        const bool full = fabs(dumped) >= tp_dtype_largest(dtype);
        return dumped == computed ||
                       (beyond && full && (dumped < 0) == (computed < 0))
                   ? 0
                   : INFINITY;
    }
    const double error = fabs(dumped - computed);
    return error == 0 ? 0 : limit == 0 ? INFINITY : error / limit;
}

static void add(struct sums *sums, double dumped, double computed, double limit)
{
    const double error = dumped - computed;
    sums->nonfinite += !isfinite(dumped) && !isfinite(computed);
    sums->nans += isnan(dumped) && !isfinite(computed);
    sums->unbounded |= !isfinite(limit) && isfinite(computed);
    if (!isfinite(error))
        return;
    sums->count++;
    sums->dumped += dumped * dumped;
    sums->product += dumped * computed;
    sums->all += computed * computed;
    if (!isfinite(limit))
        return;
    sums->error += error * error;
    sums->limit += limit * limit;
    sums->size += computed * computed;
}

/* Errors, and units in the last place of what was computed. */
static void add_ulps(struct sums *sums, enum tp_dtype dtype, double dumped,
                     double computed)
{
    const double step =
        tp_dtype_rounding(dtype) > 0 ? tp_dtype_step(dtype, computed) : 0;
    const double rounded = tp_dtype_round(dtype, computed) - computed;
    if (!(step > 0) || !isfinite(dumped))
        return;
    sums->ulps += (dumped - computed) * (dumped - computed);
    sums->rounded += isfinite(rounded) ? rounded * rounded : 0;
    sums->steps += step * step;
}

static void compare(const struct tp_replay_call *replay,
                    const struct tp_array *dumped, size_t result,
                    struct sums *sums, struct tp_replay_verdict *verdict)
{
    const struct tp_array *computed = &replay->outputs[result];
    const enum wild wild = wildness(replay, verdict->operator, computed->dtype);
    for (int64_t i = 0; i < computed->count; i++) {
        const double v = computed->value[i], d = dumped->value[i];
        const double limit = limit_of(computed, i);
        const double excess = excess_of(computed->dtype, d, v, limit);
        if (excess > 1 && may_be_beyond(replay, computed, wild, i, d) &&
            !(replay->unit < replay->own && overflows(computed, d))) {
            sums->beyond++;
            continue;
        }
        add(sums, d, v, limit);
        add_ulps(sums, computed->dtype, d, v);
        if (verdict->at >= 0 && !(excess > verdict->excess))
            continue;
        verdict->excess = excess;
        verdict->result = result;
        verdict->at = i;
        verdict->dumped = d;
        verdict->computed = v;
        verdict->limit = limit;
    }
}

double tp_replay_element_excess(const struct tp_array *computed,
                                const struct tp_array *dumped, int64_t i)
{
    return excess_of(computed->dtype, dumped->value[i], computed->value[i],
                     limit_of(computed, i));
}

double tp_replay_excess(const struct tp_array *computed,
                        const struct tp_array *dumped)
{
    double worst = 0;
    for (int64_t i = 0; i < computed->count; i++)
        worst = fmax(worst, tp_replay_element_excess(computed, dumped, i));
    return worst;
}

/* Whether all elements together are a multiple of what was computed, by more
 * than three roundings: each may be off as much, but no rounding knows of the
 * others. The factor is known by least squares, as closely as what it leaves
 * says; it has to leave less than half of the error. */
static bool is_scaled(const struct sums *sums, enum tp_dtype dtype)
{
    const double steps = fmax(3 * tp_dtype_rounding(dtype), 1e-3);
    const double off = fabs(sums->product / sums->all - 1);
    const double n = (double)sums->count;
    const double left =
        fmax(0, sums->dumped - sums->product / sums->all * sums->product);
    return sums->count >= 16 && sums->all > 0 && off > steps &&
           off * sqrt(sums->all / n) > 8 * tp_dtype_underflow(dtype) &&
           off > 8 * sqrt(left / n / sums->all) &&
           4 * left < off * off * sums->all;
}

/* Whether sums in float32 are far less off: beyond what they lose if each step
 * is cut, not rounded. It is asked of what is off by some roundings only. */
static bool is_no_float32(const struct tp_replay_call *replay,
                          const struct tp_replay_verdict *verdict,
                          const struct sums *sums,
                          const struct tp_array *dumped)
{
    enum { TIMES = 3 };
    const struct tp_sum sum = {replay, verdict->operator, & replay->outputs[0],
                               dumped};
    const double least =
        fmax(ldexp(1, -16), 4 * tp_dtype_rounding(dumped->dtype));
    return verdict->operator&& !replay->forward && !replay->cast &&
           dumped->dtype != TP_FLOAT64 && verdict->excess <= 1 &&
           sums->error> least * least * sums->size &&
           tp_sum_excess(&sum) > TIMES;
}

/* Compares a result that was made with what the dump has. */
static enum tp_status judge_result(struct tp_replay_call *replay, size_t result,
                                   struct sums *sums,
                                   struct tp_replay_verdict *verdict,
                                   struct tp_error *err)
{
    struct tp_array dumped = {.dims = 0};
    const struct tp_array *computed = &replay->outputs[result];
    const struct tp_dump_item *item = tp_replay_result(replay, result);
    if (computed->loose)
        return TP_OK;
    enum tp_status status = tp_array_read(item, &dumped, err);
    if (status == TP_OK && dumped.count != computed->count)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "the file of a result has another shape");
    if (status == TP_OK) {
        compare(replay, &dumped, result, sums, verdict);
        verdict->suspect = result == 0 && replay->output_count == 1 &&
                           tp_dtype_rounding(dumped.dtype) > 0 &&
                           (is_scaled(sums, dumped.dtype) ||
                            is_no_float32(replay, verdict, sums, &dumped));
    }
    verdict->made = verdict->made * 31 + dumped.digest;
    tp_array_clear(&dumped);
    return status;
}

static enum tp_status judge_results(struct tp_replay_call *replay,
                                    struct tp_replay_verdict *verdict,
                                    struct tp_error *err)
{
    struct sums sums = {0};
    enum tp_status status = TP_OK;
    if (replay->output_count == 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "it gives no tensor");
    for (size_t i = 0; i < replay->output_count && status == TP_OK; i++)
        status = judge_result(replay, i, &sums, verdict, err);
    verdict->relative = sqrt(sums.error / sums.size);
    verdict->bound = sqrt(sums.limit / sums.size);
    verdict->cosine = sums.product / sqrt(sums.dumped * sums.all);
    verdict->ulp = sqrt(sums.ulps / sums.steps);
    verdict->ulp_rounded = sqrt(sums.rounded / sums.steps);
    verdict->own_unbounded = sums.unbounded;
    verdict->nonfinite = sums.nonfinite;
    verdict->nans = sums.nans;
    verdict->beyond = sums.beyond;
    return status;
}

/* Long sums in few bits have no bound, but what is finite without rounding
 * does not become a NaN or an infinity by adding, unless it leaves the range
 * of the dtype. */
static bool is_no_sum(const struct tp_replay_call *replay,
                      const struct tp_replay_verdict *verdict,
                      const struct tp_replay_verdict *own)
{
    const bool sums = tp_op_family_of(verdict->operator) != TP_OP_POINT &&
                      has_sums_only(verdict->operator, replay->forward != NULL);
    const bool listed =
        verdict->counted && !overflows(&replay->outputs[0], verdict->dumped);
    return (sums || listed) && isinf(verdict->excess) &&
           !isfinite(verdict->dumped) && isfinite(verdict->computed) &&
           own->beyond == 0;
}

/* The same with every step rounded to the coarsest dtype. */
static enum tp_status judge_own(struct tp_replay_call *replay,
                                struct tp_replay_verdict *verdict,
                                struct tp_error *err)
{
    struct tp_replay_verdict own = {.at = -1, .operator= verdict->operator};
    tp_replay_outputs_clear(replay);
    replay->unit = replay->own;
    enum tp_status status = tp_replay_run(replay, verdict->operator, err);
    if (status == TP_OK)
        status = judge_results(replay, &own, err);
    verdict->excess_own = own.excess;
    verdict->own_unbounded = own.own_unbounded;
    if (is_no_sum(replay, verdict, &own))
        verdict->excess_own = INFINITY;
    return status;
}

/* Whether all that goes in is a number. */
static bool is_finite(const struct tp_replay_call *replay)
{
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        const struct tp_array *array = &replay->arrays[i];
        for (int64_t k = 0; array->value && k < array->count; k++)
            if (!isfinite(array->value[k]))
                return false;
        if (item->value && item->value->kind == TP_JSON_REAL &&
            !isfinite(item->value->real))
            return false;
    }
    return !replay->forward || is_finite(replay->forward);
}

/* TP_E_UNSUPPORTED: operands were quantised on the way in, to what the files
 * of a saver do not have, and that may be why the results do not fit. */
static enum tp_status check_quantised(const struct tp_replay_call *replay,
                                      const struct tp_replay_verdict *verdict,
                                      struct tp_error *err)
{
    static const char *const dtypes[] = {"", "bf16", "fp16", "fp32"};
    const char *word = tp_arg_text(replay, "quant_type", "");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (verdict->excess <= 1 || !strcmp(word, dtypes[i]))
            return TP_OK;
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "rounding does not explain its results; its operands may "
                   "have been quantised to %s, which was not saved",
                   word);
}

static enum tp_status load_and_judge(struct tp_replay_call *replay,
                                     struct tp_replay_verdict *verdict,
                                     struct tp_error *err)
{
    enum tp_status status = tp_replay_call_load(replay, err);
    if (status == TP_OK)
        status = tp_replay_run(replay, verdict->operator, err);
    if (status == TP_OK)
        status = judge_results(replay, verdict, err);
    verdict->counted = status == TP_OK && is_listed(&replay->outputs[0]);
    verdict->excess_own = verdict->excess;
    verdict->cast = replay->cast || (replay->forward && replay->forward->cast);
    if (status == TP_OK)
        status = check_quantised(replay, verdict, err);
    if (status == TP_OK)
        verdict->given = tp_repeat_given(replay);
    if (status == TP_OK && verdict->nonfinite && !is_finite(replay))
        verdict->nonfinite = 0;
    return status == TP_OK && verdict->excess > 1 && replay->own > replay->unit
               ? judge_own(replay, verdict, err)
               : status;
}

enum tp_replay_level tp_replay_level_of(const struct tp_replay_verdict *verdict)
{
    const bool elsewhere = verdict->own_unbounded && verdict->cosine < 0.5;
    const bool own = !(verdict->excess_own > 1) && !elsewhere;
    if (own && verdict->cast)
        return TP_REPLAY_EXPLAINED;
    const double steps = own && !verdict->counted ? TP_REPLAY_STEPS : 1;
    return !(verdict->excess > steps)
               ? verdict->suspect ? TP_REPLAY_SUSPECT : TP_REPLAY_EXPLAINED
           : own ? TP_REPLAY_LOW_PRECISION
                 : TP_REPLAY_UNEXPLAINED;
}

enum tp_status tp_replay_judge(const struct tp_dump_place *place,
                               const struct tp_dump_call *call,
                               struct tp_replay_verdict *verdict,
                               struct tp_error *err)
{
    static const char *const reasons[TP_REPLAY_STATES] = {
        [TP_REPLAY_RANDOM] = "its result is random",
        [TP_REPLAY_UNSET] = "its result is memory that nobody has set",
        [TP_REPLAY_UNSUPPORTED] = "no operator of this name is replayed",
        [TP_REPLAY_OTHER] = "it is no call of an operator"};
    struct tp_error own = {0};
    *verdict = (struct tp_replay_verdict){.at = -1,
                                          .relative = NAN,
                                          .bound = NAN,
                                          .cosine = NAN,
                                          .ulp = NAN,
                                          .ulp_rounded = NAN};
    const bool backward = call->known && call->name.direction == TP_BACKWARD;
    verdict->operator= backward
        ? tp_replay_backward_operator(call, &verdict->state)
        : tp_replay_operator(call, &verdict->state);
    if (verdict->state != TP_REPLAY_JUDGED) {
        const bool known =
            verdict->operator&& verdict->state == TP_REPLAY_UNSUPPORTED;
        snprintf(verdict->reason, sizeof verdict->reason, "%s",
                 known ? "no gradients of this operator are replayed"
                       : reasons[verdict->state]);
        return TP_OK;
    }
    bool lost = false;
    struct tp_replay_call replay = {.place = place,
                                    .call = call,
                                    .signature = verdict->operator->signature,
                                    .lost = &lost };
    enum tp_status status = load_and_judge(&replay, verdict, &own);
    tp_replay_call_clear(&replay);
    if (status == TP_E_MEMORY || lost)
        return tp_fail_memory(err);
    if (status == TP_OK)
        return TP_OK;
    verdict->state = status == TP_E_UNSUPPORTED ? TP_REPLAY_UNSUPPORTED
                                                : TP_REPLAY_UNREADABLE;
    snprintf(verdict->reason, sizeof verdict->reason, "%.399s", own.message);
    return TP_OK;
}
