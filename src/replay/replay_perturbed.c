/* SPDX-License-Identifier: MIT */
/*
 * A call is computed once as it is and once for each mode that changes a value;
 * what float32 instead of half precision gives is the same replay rounded to
 * float32, as the values that go in are the same. The amplification is that of
 * turning the last bit of every floating argument at once: the relative change
 * of the results over that of the arguments, both by L2 norms, a lower bound of
 * the condition number in the direction of a rounding. Before results are
 * rounded, so that steps of their dtype do not hide it. Cost: a run of the
 * kernel for each mode.
 */
#include "replay/replay_perturbed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"

/* The results of one run, taken out of the call. */
struct results {
    struct tp_array *arrays;
    size_t count;
};

static void results_clear(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        tp_array_clear(&results->arrays[i]);
    free(results->arrays);
    *results = (struct results){NULL, 0};
}

/* Runs the call; the results are the caller's also after a failure. */
static enum tp_status run(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct results * results, struct tp_error *err)
{
    enum tp_status status = tp_replay_run(replay, operator, err);
    *results = (struct results){replay->outputs, replay->output_count};
    replay->outputs = NULL;
    replay->output_count = replay->output_capacity = 0;
    return status;
}

/* What all modes of a call share. */
struct perturber {
    struct tp_replay_call *replay;
    enum tp_perturb_compat compat;
    const struct tp_operator *operator;
    struct results own, dumped; /* as it is; what the dump has            */
    struct tp_perturbed *perturbed;
    struct tp_error *err;
};

static bool floats(enum tp_dtype dtype)
{
    return tp_dtype_info(dtype)->kind == TP_CLASS_FLOAT;
}

static bool is_half(enum tp_dtype dtype)
{
    return dtype == TP_FLOAT16 || dtype == TP_BFLOAT16;
}

/* A single result counts if it floats; a list if one of it does, and then all
 * that is no bool. */
static bool is_compared(const struct results *results, size_t i)
{
    bool any = false;
    for (size_t k = 0; k < results->count; k++)
        any |= floats(results->arrays[k].dtype);
    return any && results->arrays[i].dtype != TP_BOOL;
}

/* Whether the call says itself which dtype it gives. */
static bool chooses_dtype(const struct perturber *p)
{
    static const char *const names[] = {"to", "half", "bfloat16", "type"};
    const struct tp_msprobe_part name = p->replay->call->name.path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name.length == strlen(names[i]) &&
            !memcmp(name.at, names[i], name.length))
            return true;
    return tp_arg(p->replay, "dtype") || tp_arg_is_hidden(p->replay, "dtype");
}

/* --- the modes ------------------------------------------------------------ */

static enum tp_status add_flag(struct perturber *p,
                               const struct tp_perturbed_flag *flag)
{
    struct tp_perturbed *to = p->perturbed;
    enum tp_status status =
        tp_grow(&to->flags, &to->flag_capacity, to->flag_count + 1,
                sizeof *to->flags, p->err);
    if (status == TP_OK)
        to->flags[to->flag_count++] = *flag;
    return status;
}

/* Notes how far a result went, and that it is inconsistent. */
static enum tp_status note(struct perturber *p,
                           const struct tp_perturbed_flag *flag,
                           bool consistent)
{
    double *worst = &p->perturbed->worst[flag->mode];
    if (flag->kind == TP_PERTURBED_RATIO)
        *worst = fmax(*worst, flag->max_rel);
    else if (flag->kind != TP_PERTURBED_UNKNOWN)
        *worst = INFINITY;
    return consistent ? TP_OK : add_flag(p, flag);
}

/* --- msprobe's rules ------------------------------------------------------ */

static struct tp_benchmark_ratio ratio_of(const struct perturber *p,
                                          enum tp_perturb_mode mode,
                                          struct tp_benchmark_side original,
                                          struct tp_benchmark_side perturbed,
                                          int64_t count)
{
    const struct tp_benchmark_rule rule = {
        .limit = mode == TP_PERTURB_NO_CHANGE
                     ? 1
                     : tp_benchmark_limit(original.dtype),
        .first = p->compat == TP_COMPAT_MSPROBE_CHUNK
                     ? tp_benchmark_last_chunk(perturbed.dtype, count)
                     : 0,
        .tolerance = p->replay->forward ? TP_BENCHMARK_BACKWARD_TOLERANCE : 0};
    return tp_benchmark_ratio_of(original, perturbed, count, &rule);
}

/* Compares one result and notes what comes out. */
static enum tp_status compare(struct perturber *p, enum tp_perturb_mode mode,
                              size_t result, struct tp_benchmark_side original,
                              struct tp_benchmark_side perturbed)
{
    const int64_t count = p->own.arrays[result].count;
    struct tp_perturbed_flag flag = {mode, result, TP_PERTURBED_UNKNOWN, 0};
    if (mode == TP_PERTURB_TO_CPU) {
        /* msprobe swaps the two for lists */
        const bool consistent =
            p->perturbed->lists
                ? tp_benchmark_single(perturbed, original, count)
                : tp_benchmark_single(original, perturbed, count);
        return note(p, &flag, consistent);
    }
    const struct tp_benchmark_ratio ratio =
        ratio_of(p, mode, original, perturbed, count);
    flag.kind = ratio.flipped ? TP_PERTURBED_FLIPPED : TP_PERTURBED_RATIO;
    flag.max_rel = ratio.ratio - 1;
    return note(p, &flag, ratio.consistent);
}

/* --- our own rules -------------------------------------------------------- */

/* What became of the elements that are no numbers. */
struct broken {
    int64_t before, after; /* how many                                     */
    bool moved;            /* one stands against a number                  */
};

/* The relative change of a result, by L2 norms of finite elements. NaN: there
 * is none. */
static double change_of(const struct tp_array *a, const struct tp_array *b,
                        struct broken *broken)
{
    double change = 0, size = 0;
    *broken = (struct broken){0, 0, false};
    for (int64_t k = 0; k < a->count; k++) {
        const double x = a->value[k], y = b->value[k];
        broken->before += !isfinite(x);
        broken->after += !isfinite(y);
        broken->moved |= isfinite(x) != isfinite(y);
        if (!isfinite(x) || !isfinite(y))
            continue;
        change += (y - x) * (y - x);
        size += x * x;
    }
    return size > 0 ? sqrt(change / size) : change > 0 ? INFINITY : NAN;
}

double tp_perturbed_limit(double rounding)
{
    return rounding > 0 ? 1 / sqrt(rounding) : INFINITY;
}

/* Whether the change of a result is more than the limit times that of the
 * arguments. */
static enum tp_status compare_change(struct perturber *p,
                                     enum tp_perturb_mode mode, size_t result,
                                     const struct tp_array *perturbed,
                                     double change)
{
    struct broken numbers;
    struct tp_perturbed_flag flag = {mode, result, TP_PERTURBED_RATIO, 0};
    flag.max_rel = change_of(&p->own.arrays[result], perturbed, &numbers);
    /* values that change places take theirs with them */
    const bool broken = mode == TP_PERTURB_CHANGE
                            ? numbers.after > numbers.before
                            : numbers.moved;
    flag.kind = broken ? TP_PERTURBED_NAN : TP_PERTURBED_RATIO;
    const double limit = change * tp_perturbed_limit(p->replay->own);
    return note(p, &flag, !broken && !(flag.max_rel > limit));
}

/* What was dumped against fp64, rounded once: more than that is what higher
 * precision would have given. */
static enum tp_status compare_error(struct perturber *p,
                                    enum tp_perturb_mode mode, size_t result)
{
    struct broken numbers;
    struct tp_perturbed_flag flag = {mode, result, TP_PERTURBED_RATIO, 0};
    const struct tp_array *own = &p->own.arrays[result];
    const struct tp_array *dumped = &p->dumped.arrays[result];
    const double excess = tp_replay_excess(own, dumped);
    flag.max_rel = change_of(own, dumped, &numbers);
    flag.kind =
        numbers.moved && isinf(excess) ? TP_PERTURBED_NAN : TP_PERTURBED_RATIO;
    return note(p, &flag, !(excess > 1));
}

/* Reads what the dump has of the results, once. */
static enum tp_status read_dumped(struct perturber *p)
{
    enum tp_status status = TP_OK;
    if (p->dumped.count == p->own.count)
        return TP_OK;
    p->dumped.arrays = calloc(p->own.count + 1, sizeof *p->dumped.arrays);
    if (!p->dumped.arrays)
        return tp_fail_memory(p->err);
    p->dumped.count = p->own.count;
    for (size_t i = 0; i < p->own.count && status == TP_OK; i++) {
        status = tp_array_read(tp_replay_result(p->replay, i),
                               &p->dumped.arrays[i], p->err);
        if (status == TP_OK &&
            p->dumped.arrays[i].count != p->own.arrays[i].count)
            status = tp_fail(p->err, TP_E_DAMAGED, -1,
                             "the file of a result has another shape");
    }
    return status;
}

/* Of gradients msprobe looks at first how far the perturbed ones are from those
 * of the run. */
static bool is_near_dumped(const struct perturber *p, enum tp_perturb_mode mode,
                           size_t result, const struct tp_array *perturbed)
{
    if (!p->replay->forward)
        return false;
    const struct tp_array *dumped = &p->dumped.arrays[result];
    return ratio_of(
               p, mode,
               (struct tp_benchmark_side){dumped->value, dumped->dtype},
               (struct tp_benchmark_side){perturbed->value, perturbed->dtype},
               dumped->count)
        .consistent;
}

/* Against the replay without the change. */
static enum tp_status compare_own(struct perturber *p,
                                  enum tp_perturb_mode mode,
                                  const struct results *results, double change)
{
    const bool gradients = p->compat != TP_COMPAT_NONE && p->replay->forward;
    enum tp_status status = gradients ? read_dumped(p) : TP_OK;
    for (size_t i = 0;
         i < results->count && i < p->own.count && status == TP_OK; i++) {
        const struct tp_array *a = &p->own.arrays[i], *b = &results->arrays[i];
        if (a->count != b->count)
            continue;
        if (p->compat == TP_COMPAT_NONE && floats(a->dtype))
            status = compare_change(p, mode, i, b, change);
        else if (p->compat != TP_COMPAT_NONE && is_compared(results, i) &&
                 !is_near_dumped(p, mode, i, b))
            status = compare(p, mode, i,
                             (struct tp_benchmark_side){a->value, a->dtype},
                             (struct tp_benchmark_side){b->value, b->dtype});
    }
    return status;
}

/* The replay in float32 against the dump. */
static enum tp_status compare_dumped(struct perturber *p,
                                     enum tp_perturb_mode mode)
{
    const bool chosen = chooses_dtype(p);
    enum tp_status status = read_dumped(p);
    for (size_t i = 0; i < p->own.count && status == TP_OK; i++) {
        const struct tp_array *own = &p->own.arrays[i];
        const struct tp_array *dumped = &p->dumped.arrays[i];
        const enum tp_dtype dtype =
            is_half(own->dtype) && !chosen ? TP_FLOAT32 : own->dtype;
        if (!is_compared(&p->own, i) || own->loose)
            continue;
        if (p->compat == TP_COMPAT_NONE && floats(own->dtype))
            status = compare_error(p, mode, i);
        else if (p->compat != TP_COMPAT_NONE)
            status = compare(
                p, mode, i,
                (struct tp_benchmark_side){dumped->value, dumped->dtype},
                (struct tp_benchmark_side){own->value, dtype});
    }
    return status;
}

static enum tp_status run_changed(struct perturber *p,
                                  enum tp_perturb_mode mode, double change)
{
    struct results results;
    enum tp_status status = run(p->replay, p->operator, & results, p->err);
    if (status == TP_OK)
        status = compare_own(p, mode, &results, change);
    results_clear(&results);
    return status;
}

static enum tp_status run_mode(struct perturber *p, enum tp_perturb_mode mode)
{
    struct tp_perturbation change;
    enum tp_status status =
        tp_perturb_begin(p->replay, mode, p->compat, &change, p->err);
    const bool applied = change.outcome == TP_PERTURB_APPLIED;
    p->perturbed->outcomes[mode] = change.outcome;
    p->perturbed->reasons[mode] = change.reason;
    p->perturbed->ran[mode] = applied || change.outcome == TP_PERTURB_CANCELLED;
    if (status == TP_OK && applied && tp_perturb_improves(mode))
        status = compare_dumped(p, mode);
    else if (status == TP_OK && applied && mode != TP_PERTURB_NO_CHANGE)
        status = run_changed(p, mode, change.relative);
    else if (status == TP_OK && p->perturbed->ran[mode]) /* the same again */
        status = compare_own(p, mode, &p->own, 0);
    tp_perturb_end(&change);
    return status;
}

/* --- amplification -------------------------------------------------------- */

/* The relative change of all floating results together. */
static double change_of_all(const struct results *a, const struct results *b)
{
    double change = 0, size = 0;
    for (size_t i = 0; i < a->count; i++)
        for (int64_t k = 0;
             floats(a->arrays[i].dtype) && k < a->arrays[i].count; k++) {
            const double x = a->arrays[i].value[k], y = b->arrays[i].value[k];
            if (!isfinite(x) || !isfinite(y))
                continue;
            change += (y - x) * (y - x);
            size += x * x;
        }
    return size > 0 ? sqrt(change / size) : NAN;
}

static enum tp_status amplify(struct perturber *p)
{
    struct results results = {NULL, 0};
    struct tp_perturbation turned;
    enum tp_status status =
        tp_perturb_bits(p->replay, SIZE_MAX, &turned, p->err);
    if (status == TP_OK && turned.relative > 0) {
        status = run(p->replay, p->operator, & results, p->err);
        if (status == TP_OK && results.count == p->own.count)
            p->perturbed->amplification =
                change_of_all(&p->own, &results) / turned.relative;
    }
    tp_perturb_end(&turned);
    results_clear(&results);
    return status;
}

/* --- overflow ------------------------------------------------------------- */

/* Elements that only the dtype of the result makes infinite. */
static void count_overflows(struct perturber *p)
{
    for (size_t i = 0; i < p->own.count; i++) {
        const struct tp_array *array = &p->own.arrays[i];
        for (int64_t k = 0; floats(array->dtype) && k < array->count; k++) {
            const double x = array->value[k];
            if (!isfinite(x) || isfinite(tp_dtype_round(array->dtype, x)))
                continue;
            p->perturbed->overflows++;
            p->perturbed->largest = fmax(p->perturbed->largest, fabs(x));
        }
    }
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status run_modes(struct perturber *p,
                                const bool modes[TP_PERTURB_MODES])
{
    enum tp_status status = run(p->replay, p->operator, & p->own, p->err);
    p->perturbed->lists = p->own.count > 1 || p->operator->run == tp_run_split;
    if (status == TP_OK)
        count_overflows(p);
    for (int mode = 0; mode < TP_PERTURB_MODES && status == TP_OK; mode++)
        if (modes[mode])
            status = run_mode(p, (enum tp_perturb_mode)mode);
    return status == TP_OK ? amplify(p) : status;
}

enum tp_status tp_perturbed_run(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                const struct tp_operator *operator,
                                const struct tp_perturb_wish * wish,
                                struct tp_perturbed *perturbed,
                                struct tp_error *err)
{
    struct tp_replay_call replay = {
        .place = place, .call = call, .signature = operator->signature };
    struct perturber p = {.replay = &replay,
                          .operator= operator,
                          .compat = wish->compat,
                          .perturbed = perturbed,
                          .err = err};
    *perturbed = (struct tp_perturbed){.amplification = NAN};
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        perturbed->worst[i] = NAN;
    enum tp_status status = tp_replay_call_load(&replay, err);
    /* with and without a change gradients start from the same results */
    replay.anew = true;
    if (status == TP_OK)
        status = run_modes(&p, wish->modes);
    results_clear(&p.own);
    results_clear(&p.dumped);
    tp_replay_call_clear(&replay);
    return status;
}

void tp_perturbed_clear(struct tp_perturbed *perturbed)
{
    free(perturbed->flags);
    memset(perturbed, 0, sizeof *perturbed);
}
