/* SPDX-License-Identifier: MIT */
/*
 * A table of mistakes, each made in a copy of the arguments and computed: the
 * first whose result is what was dumped is named. Those that change one thing
 * exactly come first, then what hits a part only, then fewer bits, whose bounds
 * are the widest. A mistake counts only if all elements fit, within rounding of
 * every step to the tensors' own dtype, which the right arguments did not.
 * Alternative: to compare shapes of errors, which another mistake of the same
 * shape fools. Cost: some twenty runs of the kernel, of wrong results only.
 */
#include "replay/replay_explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage/damage_shape.h"
#include "replay/op_family.h"
#include "replay/replay_condition.h"
#include "replay/sum_terms.h"

const char *const tp_explain_words[TP_EXPLAIN_IDS] = {
    "nothing", "kept",    "stale",       "no_bias", "transposed",
    "eps",     "formula", "scale",       "lost",    "region",
    "steps",   "unlike",  "cancellation"};

/* How far back other calls of an API are looked at. */
enum { CALLS_BACK = 8 };

struct tries {
    const struct tp_dump *dump;
    size_t place, index;
    const struct tp_replay_verdict *verdict;
    bool strict; /* fewer bits explain it: this has to be better            */
    struct tp_replay_call call;
    struct tp_array *dumped; /* [count]: results of the dump                */
    size_t count;
    struct tp_explain *explain;
};

/* --- whether it fits ------------------------------------------------------ */

/* Runs the call as it now is; whether it gives what was dumped. */
static bool fits(struct tries *t)
{
    struct tp_error err = {0};
    double worst = 0;
    tp_replay_outputs_clear(&t->call);
    if (tp_replay_run(&t->call, t->verdict->operator, & err) != TP_OK ||
        t->call.output_count != t->count)
        return false;
    for (size_t i = 0; i < t->count; i++) {
        if (t->call.outputs[i].count != t->dumped[i].count)
            return false;
        if (!t->call.outputs[i].loose)
            worst = fmax(worst,
                         tp_replay_excess(&t->call.outputs[i], &t->dumped[i]));
    }
    return worst <= 1;
}

#define SAY(t, ...) \
    snprintf((t)->explain->words, sizeof(t)->explain->words, __VA_ARGS__)

/* The item of an argument's tensor; call.count: none. */
static size_t item_of(const struct tries *t, const char *name)
{
    const struct tp_array *array = tp_arg_array(&t->call, name);
    return array ? (size_t)(array - t->call.arrays) : t->call.call->count;
}

/* Tries other values in the place of a tensor; they are put back. */
static bool fits_with(struct tries *t, size_t item, const double *values)
{
    struct tp_array *array = &t->call.arrays[item];
    double *const kept = array->value;
    const size_t size = (size_t)array->count * sizeof *kept;
    if (!memcmp(kept, values, size))
        return false; /* that is what was computed                          */
    double *copy = malloc(size + 1);
    if (!copy)
        return false;
    memcpy(copy, values, size);
    array->value = copy;
    const bool fit = fits(t);
    array->value = kept;
    free(copy);
    return fit;
}

/* --- single mistakes ------------------------------------------------------ */

static bool try_bias(struct tries *t)
{
    const size_t item = item_of(t, "bias");
    if (item == t->call.call->count)
        return false;
    double *zero = calloc((size_t)t->call.arrays[item].count + 1, sizeof *zero);
    const bool fit = zero && fits_with(t, item, zero);
    free(zero);
    if (fit)
        SAY(t, "its bias was left out");
    return fit;
}

/* The last two axes in memory as if they were the other way round. */
static void read_across(const struct tp_array *array, double *values)
{
    const int64_t rows = array->shape[array->dims - 2];
    const int64_t columns = array->shape[array->dims - 1];
    for (int64_t i = 0; i < array->count; i++) {
        const int64_t block = i / (rows * columns), k = i % (rows * columns);
        const int64_t row = k / columns, column = k % columns;
        values[i] = array->value[block * rows * columns + column * rows + row];
    }
}

static bool try_transposed(struct tries *t)
{
    static const char *const names[] = {"weight", "other",  "mat2", "batch2",
                                        "mat1",   "batch1", "input"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t item = item_of(t, names[i]);
        const struct tp_array *array = &t->call.arrays[item];
        if (item == t->call.call->count || array->dims < 2 || array->count == 0)
            continue;
        double *values = malloc((size_t)array->count * sizeof *values);
        if (values)
            read_across(array, values);
        const bool fit = values && fits_with(t, item, values);
        free(values);
        if (fit) {
            SAY(t, "its argument %s was read along the other axis", names[i]);
            return true;
        }
    }
    return false;
}

/* Whether the operator knows an argument. */
static bool takes(const struct tries *t, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = t->call.signature; (at = strstr(at, name)); at++)
        if ((at == t->call.signature || at[-1] == ',') &&
            strchr(",=", at[length]))
            return true;
    return false;
}

static bool fits_setting(struct tries *t, const char *name,
                         const struct tp_json *value)
{
    t->call.override_name = name;
    t->call.override_value = value;
    const bool fit = fits(t);
    t->call.override_name = NULL;
    return fit;
}

static bool try_eps(struct tries *t)
{
    static const double others[] = {0,    1e-12, 1e-8, 1e-7, 1e-6,
                                    1e-5, 1e-4,  1e-3, 1e-2};
    if (!takes(t, "eps"))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct tp_json value = {.kind = TP_JSON_REAL, .real = others[i]};
        if (others[i] != tp_arg_real(&t->call, "eps", 1e-5) &&
            fits_setting(t, "eps", &value)) {
            SAY(t, "its eps was %g", others[i]);
            return true;
        }
    }
    return false;
}

static bool try_formula(struct tries *t)
{
    const bool tanh = !strcmp(tp_arg_text(&t->call, "approximate", ""), "tanh");
    const bool trains = tp_arg_integer(&t->call, "training", 0) != 0;
    const struct tp_json other = {.kind = TP_JSON_STRING,
                                  .text = tanh ? "none" : "tanh"};
    const struct tp_json mode = {.kind = TP_JSON_BOOL, .integer = !trains};
    if (t->verdict->operator->run == tp_run_gelu &&
        fits_setting(t, "approximate", &other)) {
        SAY(t, "it was computed with approximate=%s", other.text);
        return true;
    }
    if (takes(t, "training") && fits_setting(t, "training", &mode)) {
        SAY(t, "it was computed as %s training", trains ? "outside of" : "in");
        return true;
    }
    return false;
}

/* --- what is from another call -------------------------------------------- */

static bool same_api(const struct tp_msprobe_name *a,
                     const struct tp_msprobe_name *b)
{
    return a->direction == b->direction && a->type.length == b->type.length &&
           a->path.length == b->path.length &&
           !memcmp(a->type.at, b->type.at, a->type.length) &&
           !memcmp(a->path.at, b->path.at, a->path.length);
}

/* A call that a kernel may have had in its memory. */
struct other {
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
};

/* Calls of the API before this one, nearest first; then the same one of the
 * step before. */
static size_t find_others(const struct tries *t, struct other *others)
{
    const struct tp_dump_place *place = &t->dump->places[t->place];
    const struct tp_dump_call *own = &place->calls[t->index];
    size_t count = 0;
    for (size_t i = t->index; i-- > 0 && count < CALLS_BACK;)
        if (place->calls[i].known &&
            same_api(&place->calls[i].name, &own->name))
            others[count++] = (struct other){place, &place->calls[i]};
    for (size_t p = t->place; p-- > 0;) {
        const struct tp_dump_place *before = &t->dump->places[p];
        const struct tp_dump_call *call = tp_dump_call_of(before, own->key);
        if (before->rank == place->rank && call) {
            others[count++] = (struct other){before, call};
            break;
        }
    }
    return count;
}

static bool same_shape(const struct tp_array *a, const struct tp_array *b)
{
    return a->dims == b->dims && a->dtype == b->dtype &&
           !memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape);
}

static bool same_values(const struct tp_array *a, const struct tp_array *b)
{
    return same_shape(a, b) && a->digest == b->digest &&
           !memcmp(a->value, b->value, (size_t)a->count * sizeof *a->value);
}

static void say_from(struct tries *t, const char *what,
                     const struct other *other)
{
    SAY(t, "%s %.120s", what, other->call->key);
    if (other->place != &t->dump->places[t->place]) {
        const size_t used = strlen(t->explain->words);
        snprintf(t->explain->words + used, sizeof t->explain->words - used,
                 " of step %" PRId64, other->place->step);
    }
}

/* Whether a result is that of an earlier call, of other arguments. */
static bool is_kept(const struct tries *t, const struct other *other)
{
    const struct tp_replay_call call = {.place = other->place,
                                        .call = other->call};
    bool any = false;
    for (size_t i = 0; i < t->count; i++) {
        struct tp_error err = {0};
        struct tp_array array = {.dims = 0};
        const struct tp_dump_item *item = tp_replay_result(&call, i);
        const bool same = item && tp_array_read(item, &array, &err) == TP_OK &&
                          same_values(&t->dumped[i], &array);
        tp_array_clear(&array);
        if (!same)
            return false;
        any = true;
    }
    return any;
}

static bool try_kept(struct tries *t)
{
    struct other others[CALLS_BACK + 1];
    const size_t count = find_others(t, others);
    for (size_t i = 0; i < count; i++)
        if (is_kept(t, &others[i])) {
            say_from(t, "it is the result of", &others[i]);
            return true;
        }
    return false;
}

/* The tensors of an earlier call in the place of this one's. */
static bool fits_other(struct tries *t, const struct other *other)
{
    struct tp_error err = {0};
    struct tp_replay_call call = {.place = other->place,
                                  .call = other->call,
                                  .signature = t->call.signature};
    bool fit = false;
    if (other->call->count != t->call.call->count ||
        tp_replay_call_load(&call, &err) != TP_OK)
        return false;
    for (size_t i = 0; i < t->call.call->count && !fit; i++) {
        const struct tp_array *own = &t->call.arrays[i];
        if (!own->value || !call.arrays[i].value ||
            !same_shape(own, &call.arrays[i]))
            continue;
        fit = fits_with(t, i, call.arrays[i].value);
        if (fit) {
            char what[80];
            snprintf(what, sizeof what, "its argument %.30s was that of",
                     t->call.place->items[t->call.call->first + i].argument);
            say_from(t, what, other);
        }
    }
    tp_replay_call_clear(&call);
    return fit;
}

static bool try_stale(struct tries *t)
{
    struct other others[CALLS_BACK + 1];
    const size_t count = find_others(t, others);
    for (size_t i = 0; i < count; i++)
        if (fits_other(t, &others[i]))
            return true;
    return false;
}

/* --- all of it, or a part ------------------------------------------------- */

/* The factor of the largest element, and whether it is that of all. */
static bool try_scale(struct tries *t)
{
    struct tp_array *made = &t->call.outputs[0];
    const struct tp_array *dumped = &t->dumped[0];
    double largest = 0, factor = 1;
    if (t->count != 1 || made->count < 4)
        return false;
    for (int64_t i = 0; i < made->count; i++)
        if (fabs(made->value[i]) > largest && isfinite(made->value[i])) {
            largest = fabs(made->value[i]);
            factor = dumped->value[i] / made->value[i];
        }
    if (!isfinite(factor) || factor == 0 || fabs(factor - 1) < 1e-3)
        return false;
    const double off = fabs(factor) * 2 * tp_dtype_rounding(made->dtype);
    int64_t distinct = 0;
    for (int64_t i = 0; i < made->count; i++) {
        const double v = made->value[i] * factor;
        const double b = made->bound ? made->bound[i] * fabs(factor) : 0;
        if (!(fabs(dumped->value[i] - v) <=
              2 * b + off * fabs(made->value[i]) +
                  tp_dtype_underflow(made->dtype)))
            return false;
        distinct += made->value[i] != made->value[0];
    }
    SAY(t, "all of it was multiplied by %.6g", factor);
    return distinct > 1;
}

/* The floating dtype of tensors with a rounding. */
static enum tp_dtype dtype_of(double rounding)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT16, TP_BFLOAT16,
                                           TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2};
    size_t i = 0;
    while (i + 1 < sizeof dtypes / sizeof *dtypes &&
           tp_dtype_rounding(dtypes[i]) < rounding)
        i++;
    return dtypes[i];
}

static struct tp_sum sum_of(const struct tries *t)
{
    return (struct tp_sum){&t->call, t->verdict->operator, t->call.outputs,
                           t->dumped};
}

/* Whether it is what sums in fewer bits give (sum_terms.h). */
static bool sums_in(const struct tries *t, double rounding, bool exactly,
                    bool *known)
{
    const struct tp_sum sum = sum_of(t);
    *known = false;
    return t->count == 1 && t->call.output_count == 1 &&
           tp_sum_fits(&sum, dtype_of(rounding), exactly, known);
}

/* A sum in few bits stands still, too, as if the rest had been lost. */
static bool try_lost(struct tries *t)
{
    const struct tp_sum sum = sum_of(t);
    int64_t count;
    bool known;
    if (t->count != 1 || t->call.output_count != 1)
        return false;
    const int64_t lost = tp_sum_lost(&sum, &count);
    if (lost == 0 || sums_in(t, t->call.own, true, &known))
        return false;
    SAY(t,
        "the last %" PRId64 " of %" PRId64 " terms of each sum were left out",
        lost, count);
    return true;
}

/* Rounding is scattered. */
static bool has_shape(const struct tp_damage_shape *shape)
{
    return !shape->few && shape->where != TP_DAMAGE_SCATTERED &&
           shape->where != TP_DAMAGE_ELEMENT &&
           shape->inside == shape->damaged && shape->elements == shape->damaged;
}

/* Where the elements beyond their limits are, of the worst result. */
static bool try_region(struct tries *t)
{
    struct tp_array *made = &t->call.outputs[t->verdict->result];
    const struct tp_array *dumped = &t->dumped[t->verdict->result];
    const int64_t count = made->count;
    uint8_t *marks = calloc(2 * (size_t)count + 2, 1);
    int64_t bad = 0;
    struct tp_damage_view view;
    struct tp_damage_plan plan;
    struct tp_damage damage;
    struct tp_damage_shape shape;
    struct tp_text text = {0};
    if (!marks)
        return false;
    for (int64_t i = 0; i < count; i++)
        bad += marks[i] = tp_replay_element_excess(made, dumped, i) > 1;
    tp_damage_view_plain(made->dims, made->shape, &view);
    tp_damage_plan_make(TP_UINT8, 0, &view, &plan);
    int64_t *cells = calloc(plan.cells + 1, sizeof *cells);
    if (cells && bad > 0 && 2 * bad < count) {
        const struct tp_span pair[2] = {
            {TP_UINT8, marks + count, (size_t)count},
            {TP_UINT8, marks, (size_t)count}};
        memset(&damage, 0, sizeof damage);
        tp_damage_add_pair(&plan, pair, 0, &damage, cells);
        tp_damage_shape_find(&plan, &damage, cells, NULL, &shape);
        if (!t->strict || has_shape(&shape))
            tp_damage_tell_where(&plan, &shape, &text);
    }
    if (text.length) {
        SAY(t, "%" PRId64 " of its %" PRId64 " elements are wrong: %.150s", bad,
            count, tp_text_get(&text));
    }
    tp_text_clear(&text);
    free(cells);
    free(marks);
    return t->explain->words[0] != '\0';
}

/* Whether an error is that of fewer bits: of sums as they come out, else by a
 * few roundings of what goes in. */
static bool fits_fewer(struct tries *t, double unit)
{
    enum { ROUNDINGS = 8 };
    /* Of 4096 random terms, of which a bound says nothing any more. */
    enum { UNKNOWN_ROUNDINGS = 64 };
    bool known;
    return sums_in(t, unit, false, &known) ||
           t->verdict->relative <= (known ? ROUNDINGS : UNKNOWN_ROUNDINGS) *
                                       (unit + t->verdict->bound);
}

/* Fewer bits between the steps than the tensors have. */
static bool try_steps(struct tries *t)
{
    static const struct {
        int bits;
        const char *words;
    } steps[] = {{-11, "fp16 or TF32"}, {-8, "bf16"}};
    const double unit = t->call.unit;
    bool fit = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !fit; i++) {
        t->call.unit = ldexp(1, steps[i].bits);
        fit = t->call.unit > unit && fits(t) && fits_fewer(t, t->call.unit);
        if (fit)
            SAY(t, "every step was rounded to %s", steps[i].words);
    }
    t->call.unit = unit;
    return fit;
}

/* Roundings that a result may be off by norms, of sums that are not known: of
 * attention and norms, whose sums are not what is off, and of products. Others,
 * and gradients, may cancel. */
static double roundings_of(const struct tries *t)
{
    const enum tp_op_family family = tp_op_family_of(t->verdict->operator);
    return t->call.forward                                     ? INFINITY
           : family == TP_OP_ATTENTION || family == TP_OP_NORM ? 6
           : family == TP_OP_PRODUCT                           ? 64
                                                               : INFINITY;
}

/* Beyond what steps in the tensors' own dtype truly lose. */
static bool try_unlike(struct tries *t)
{
    bool known;
    if (!t->strict || sums_in(t, t->call.own, false, &known))
        return false;
    if (!known && !(t->verdict->relative >
                    roundings_of(t) * t->call.own + t->verdict->bound))
        return false;
    SAY(t, "its steps in %s would be less off, or elsewhere",
        tp_dtype_info(dtype_of(t->call.own))->name);
    return true;
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status read_dumped(struct tries *t, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    t->dumped = calloc(t->call.output_count + 1, sizeof *t->dumped);
    if (!t->dumped)
        return tp_fail_memory(err);
    t->count = t->call.output_count;
    for (size_t i = 0; i < t->count && status == TP_OK; i++)
        status =
            tp_array_read(tp_replay_result(&t->call, i), &t->dumped[i], err);
    return status;
}

/* Whether a result is nearly nothing beside what a rounding of the arguments
 * makes of it, and off by no more than a few of these. */
static bool is_cancelled(struct tries *t)
{
    enum { ROUNDINGS = 4 };
    double off = 0, size = 0;
    for (size_t i = 0; i < t->count; i++)
        for (int64_t k = 0; k < t->dumped[i].count; k++) {
            const double v = t->call.outputs[i].value[k];
            const double d = t->dumped[i].value[k] - v;
            off += d * d;
            size += isfinite(v) ? v * v : 0;
        }
    const double change = tp_condition_change(&t->call, t->verdict->operator);
    if (!(sqrt(off) <= ROUNDINGS * change) ||
        !(sqrt(size) <= ROUNDINGS * change))
        return false;
    SAY(t,
        "its terms cancel: it is %.2g by norms, a rounding of its "
        "arguments changes it by %.2g, and it is off by %.2g",
        sqrt(size), change, sqrt(off));
    return true;
}

/* First with accumulation in float32, then with every step in the tensors' own
 * dtype, whose bounds tell less. */
static void try_all(struct tries *t)
{
    static const struct {
        enum tp_explain_id id;
        bool (*holds)(struct tries *t);
    } mistakes[] = {{TP_EXPLAIN_KEPT, try_kept},
                    {TP_EXPLAIN_STALE, try_stale},
                    {TP_EXPLAIN_NO_BIAS, try_bias},
                    {TP_EXPLAIN_TRANSPOSED, try_transposed},
                    {TP_EXPLAIN_EPS, try_eps},
                    {TP_EXPLAIN_FORMULA, try_formula},
                    {TP_EXPLAIN_LOST, try_lost},
                    {TP_EXPLAIN_SCALE, try_scale},
                    {TP_EXPLAIN_REGION, try_region},
                    {TP_EXPLAIN_STEPS, try_steps},
                    {TP_EXPLAIN_UNLIKE, try_unlike}};
    const size_t count = sizeof mistakes / sizeof *mistakes;
    if (is_cancelled(t)) {
        t->explain->id = TP_EXPLAIN_CANCELLED;
        return;
    }
    bool known;
    fits(t);
    if (t->strict && sums_in(t, t->call.own, true, &known))
        return; /* to the last bit                                          */
    for (int pass = t->strict; pass < 2; pass++) {
        /* of long sums in few bits nothing bounds a NaN, either */
        if (pass == 1 && !t->strict && isfinite(t->verdict->dumped))
            t->call.unit = fmax(t->call.unit, t->call.own);
        for (size_t i = 0; i < count; i++) {
            const enum tp_explain_id id = mistakes[i].id;
            t->explain->words[0] = '\0';
            fits(t); /* the results as they should be                       */
            if (t->call.output_count == t->count &&
                !(t->strict && id == TP_EXPLAIN_STEPS) &&
                !(pass == 0 && id >= TP_EXPLAIN_REGION) &&
                mistakes[i].holds(t)) {
                t->explain->id = id;
                return;
            }
        }
    }
    t->explain->words[0] = '\0';
}

enum tp_status tp_replay_explain(const struct tp_dump *dump, size_t place,
                                 size_t call,
                                 const struct tp_replay_verdict *verdict,
                                 struct tp_explain *explain,
                                 struct tp_error *err)
{
    struct tp_error own = {0};
    struct tries t = {.dump = dump,
                      .place = place,
                      .index = call,
                      .verdict = verdict,
                      .strict = tp_replay_level_of(verdict) ==
                                TP_REPLAY_LOW_PRECISION,
                      .call = {.place = &dump->places[place],
                               .call = &dump->places[place].calls[call],
                               .signature = verdict->operator->signature},
                      .explain = explain};
    memset(explain, 0, sizeof *explain);
    enum tp_status status = tp_replay_call_load(&t.call, &own);
    if (status == TP_OK)
        status = tp_replay_run(&t.call, verdict->operator, & own);
    if (status == TP_OK)
        status = read_dumped(&t, &own);
    if (status == TP_OK)
        try_all(&t);
    for (size_t i = 0; i < t.count; i++)
        tp_array_clear(&t.dumped[i]);
    free(t.dumped);
    tp_replay_call_clear(&t.call);
    return status == TP_E_MEMORY ? tp_fail_memory(err) : TP_OK;
}

bool tp_replay_is_wrong(const struct tp_replay_verdict *verdict,
                        const struct tp_explain *explain)
{
    const enum tp_replay_level level = tp_replay_level_of(verdict);
    return verdict->state == TP_REPLAY_JUDGED &&
           explain->id != TP_EXPLAIN_CANCELLED &&
           (level == TP_REPLAY_UNEXPLAINED ||
            (level == TP_REPLAY_LOW_PRECISION && explain->id));
}

const char *tp_replay_judgement(const struct tp_replay_verdict *verdict,
                                const struct tp_explain *explain)
{
    return tp_replay_is_wrong(verdict, explain) ? "wrong"
           : tp_replay_level_of(verdict) == TP_REPLAY_LOW_PRECISION &&
                   explain->id != TP_EXPLAIN_CANCELLED
               ? "narrow"
               : "explained";
}
