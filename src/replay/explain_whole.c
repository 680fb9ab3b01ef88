/* SPDX-License-Identifier: MIT */
/*
 * All of a result, or a part: a factor by least squares, whose error shrinks
 * with the number of elements, so that it is known far more closely than any
 * element is; and where the elements beyond their limits are. Few bits put all
 * elements off, if some more than others: where many are right that few bits
 * would not have left so, the others are wrong. Cost: a few passes over the
 * result.
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

/* Rounding is scattered. One in ten of a pattern may be right by chance. */
static bool has_shape(const struct tp_damage_shape *shape)
{
    return !shape->few && shape->where != TP_DAMAGE_SCATTERED &&
           shape->where != TP_DAMAGE_ELEMENT &&
           shape->inside == shape->damaged &&
           10 * shape->damaged >= 9 * shape->elements;
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

/* The bounds of a result's elements, with steps in few bits. */
static double *widths_of(const struct tp_tries *t, const struct tp_array *few)
{
    double *widths = tp_replay_room(&t->call, few->count, sizeof *widths);
    for (int64_t i = 0; widths && i < few->count; i++)
        widths[i] = few->bound ? few->bound[i] : 0;
    return widths;
}

/* Whether those that are off are far off, and most of the others, which steps
 * in few bits would have put off as well, are as float32 has them: then the
 * steps had the bits. Not where steps left the range of few bits. */
static bool stands_out(const struct tp_tries *t, const struct tp_array *made,
                       const struct tp_array *dumped, const uint8_t *marks,
                       const double *widths)
{
    enum { FAR = 32, RIGHT = 16 };
    const double own = t->call.own;
    double off = 0, size = 0, there = 0;
    int64_t bad = 0, right = 0, finite = 0;
    for (int64_t i = 0; i < made->count; i++) {
        const double v = made->value[i], d = dumped->value[i] - v;
        bad += marks[i];
        right += !marks[i] && widths[i] > 4 * own * fabs(v);
        if (!isfinite(v))
            continue;
        finite++;
        size += v * v;
        if (!marks[i])
            continue;
        off += isfinite(d) ? d * d : INFINITY;
        there += v * v;
    }
    return bad > 0 && t->verdict->beyond == 0 && right >= RIGHT &&
           right >= 2 * bad &&
           off / (double)bad > pow(FAR * own, 2) * fmax(size / (double)finite,
                                                        there / (double)bad);
}

/* Says where the marked elements are: only if they have a shape, or `any`. */
static void tell_marked(struct tp_tries *t, const struct tp_array *made,
                        uint8_t *marks, int64_t bad, bool any)
{
    const int64_t count = made->count;
    struct tp_damage_view view;
    struct tp_damage_plan plan;
    struct tp_damage damage;
    struct tp_damage_shape shape;
    struct tp_text text = {0};
    tp_damage_view_plain(made->dims, made->shape, &view);
    tp_damage_plan_make(TP_UINT8, 0, &view, &plan);
    int64_t *cells =
        tp_replay_room(&t->call, (int64_t)plan.cells, sizeof *cells);
    if (cells && bad > 0 && 2 * bad < count) {
        const struct tp_span pair[2] = {
            {TP_UINT8, marks + count, (size_t)count},
            {TP_UINT8, marks, (size_t)count}};
        memset(&damage, 0, sizeof damage);
        tp_damage_add_pair(&plan, pair, 0, &damage, cells);
        tp_damage_shape_find(&plan, &damage, cells, NULL, &shape);
        if (any || has_shape(&shape))
            tp_damage_tell_where(&plan, &shape, &text);
    }
    if (text.failed)
        tp_replay_lost(&t->call);
    if (text.length)
        TP_SAY(t, "%" PRId64 " of its %" PRId64 " elements are wrong: %.150s",
               bad, count, tp_text_get(&text));
    tp_text_clear(&text);
    free(cells);
}

/* Runs the call with steps of so many bits; the result, NULL: there is none. */
static const struct tp_array *run_in(struct tp_tries *t, double unit)
{
    const double kept = t->call.unit;
    double off;
    t->call.unit = unit;
    tp_tries_run(t, &off);
    t->call.unit = kept;
    return t->call.output_count == t->count
               ? &t->call.outputs[t->verdict->result]
               : NULL;
}

/* Whether the marked elements of a line lie closer together than one in a
 * hundred of as many anywhere would: all of k within a stretch of a share s has
 * the chance k s^(k - 1). */
static bool is_stretch(const struct tp_array *made, const uint8_t *marks,
                       int64_t bad)
{
    int64_t first = -1, last = -1;
    for (int64_t i = 0; i < made->count; i++)
        if (marks[i]) {
            first = first < 0 ? i : first;
            last = i;
        }
    const double share = (double)(last - first + 1) / (double)made->count;
    return made->dims == 1 && bad > 1 &&
           (double)bad * pow(share, (double)bad - 1) < 0.01;
}

/* By limits of float32 where those of few bits tell nothing. */
static void tell_standing_out(struct tp_tries *t, uint8_t *marks,
                              bool unbounded)
{
    const struct tp_array *dumped = &t->dumped[t->verdict->result];
    const struct tp_array *made = run_in(t, t->call.own);
    double *widths = made ? widths_of(t, made) : NULL;
    made = run_in(t, t->unit);
    if (made && widths) {
        const int64_t bad = mark(made, dumped, marks);
        const bool out =
            stands_out(t, made, dumped, marks, widths) ||
            (is_stretch(made, marks, bad) && tp_tries_sums_spare(t, marks));
        if (out || unbounded)
            tell_marked(t, made, marks, bad, out);
    }
    free(widths);
}

/* Where the elements beyond their limits are, of the worst result. */
bool tp_try_region(struct tp_tries *t)
{
    const struct tp_array *made = &t->call.outputs[t->verdict->result];
    uint8_t *marks = tp_replay_room(&t->call, 2 * made->count, sizeof *marks);
    if (!marks)
        return false;
    const int64_t bad = mark(made, &t->dumped[t->verdict->result], marks);
    tell_marked(t, made, marks, bad, !t->strict && t->beyond <= 2 * bad);
    if (!t->explain->words[0] && t->call.own > t->unit)
        tell_standing_out(t, marks, bad == 0 && t->call.unit > t->unit);
    free(marks);
    return t->explain->words[0] != '\0';
}
