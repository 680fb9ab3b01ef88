/* SPDX-License-Identifier: MIT */
/*
 * All of a result, or a part: a factor by least squares, whose error shrinks
 * with the number of elements, so that it is known far more closely than any
 * element is; and where the elements beyond their limits are. Cost: a few
 * passes over the result.
 */
#include "replay/explain_tries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage/damage_shape.h"

/* The factor that fits best by least squares, of all finite elements. */
static double factor_of(const struct tp_array *made,
                        const struct tp_array *dumped)
{
    double product = 0, square = 0;
    for (int64_t i = 0; i < made->count; i++) {
        const double v = made->value[i], d = dumped->value[i];
        if (isfinite(v) && isfinite(d)) {
            product += v * d;
            square += v * v;
        }
    }
    return product / square;
}

/* Whether it is all of it times a number: each element within two roundings of
 * that, of what was right and of the product, and half of the error gone. */
bool tp_try_scale(struct tp_tries *t)
{
    const struct tp_array *made = &t->call.outputs[0];
    const struct tp_array *dumped = &t->dumped[0];
    const double u = tp_dtype_rounding(made->dtype);
    if (t->count != 1 || made->count < 4)
        return false;
    const double factor = factor_of(made, dumped), size = fabs(factor);
    double left = 0;
    int64_t distinct = 0;
    if (!isfinite(factor) || factor == 0 || fabs(factor - 1) < 1e-3)
        return false;
    for (int64_t i = 0; i < made->count; i++) {
        const double v = made->value[i];
        const double off = fabs(dumped->value[i] - v * factor);
        const double b = made->bound ? made->bound[i] * size : 0;
        if (!(off <= 2 * b + 2.5 * u * size * fabs(v) +
                         (1 + size) * tp_dtype_underflow(made->dtype)))
            return false;
        left += off * off;
        distinct += v != made->value[0];
    }
    TP_SAY(t, "all of it was multiplied by %.6g", factor);
    return distinct > 1 && sqrt(left) <= t->off / 2;
}

/* Rounding is scattered. */
static bool has_shape(const struct tp_damage_shape *shape)
{
    return !shape->few && shape->where != TP_DAMAGE_SCATTERED &&
           shape->where != TP_DAMAGE_ELEMENT &&
           shape->inside == shape->damaged && shape->elements == shape->damaged;
}

/* Marks the elements beyond their limits; their number, 0 if the others have
 * more than a quarter of the squares of the error. */
static int64_t mark(const struct tp_array *made, const struct tp_array *dumped,
                    uint8_t *marks)
{
    double inside = 0, outside = 0;
    int64_t bad = 0;
    for (int64_t i = 0; i < made->count; i++) {
        const double off = dumped->value[i] - made->value[i];
        marks[i] = tp_replay_element_excess(made, dumped, i) > 1;
        bad += marks[i];
        if (marks[i])
            inside += isfinite(off) ? off * off : INFINITY;
        else
            outside += isfinite(off) ? off * off : 0;
    }
    return 3 * outside <= inside ? bad : 0;
}

/* Where the elements beyond their limits are, of the worst result. */
bool tp_try_region(struct tp_tries *t)
{
    const struct tp_array *made = &t->call.outputs[t->verdict->result];
    const struct tp_array *dumped = &t->dumped[t->verdict->result];
    const int64_t count = made->count;
    const double unit = t->call.unit;
    double off;
    uint8_t *marks = calloc(2 * (size_t)count + 2, 1);
    int64_t bad;
    struct tp_damage_view view;
    struct tp_damage_plan plan;
    struct tp_damage damage;
    struct tp_damage_shape shape;
    struct tp_text text = {0};
    if (!marks)
        return false;
    bad = mark(made, dumped, marks);
    const bool unbounded = bad == 0 && unit > t->unit;
    if (unbounded) { /* by long sums in few bits: by those in float32      */
        t->call.unit = t->unit;
        tp_tries_run(t, &off);
        t->call.unit = unit;
        made = &t->call.outputs[t->verdict->result];
        bad = mark(made, dumped, marks);
    }
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
        if (has_shape(&shape) ||
            (!t->strict && !unbounded && t->beyond <= 2 * bad))
            tp_damage_tell_where(&plan, &shape, &text);
    }
    if (text.length) {
        TP_SAY(t, "%" PRId64 " of its %" PRId64 " elements are wrong: %.150s",
               bad, count, tp_text_get(&text));
    }
    tp_text_clear(&text);
    free(cells);
    free(marks);
    return t->explain->words[0] != '\0';
}
