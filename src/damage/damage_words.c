/* SPDX-License-Identifier: MIT */
/*
 * The patterns in words: the table of what each is and may come from, and the
 * sentence about one that was found. Numbers are those of a person who looks at
 * the tensor: indices from 0, of the axis that has them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "damage/damage_shape.h"

const struct tp_damage_info tp_damage_shapes[] = {
    [TP_DAMAGE_NONE] = {"none", "no element is damaged", ""},
    [TP_DAMAGE_EVERYTHING] =
        {"everything", "nine of ten elements or more, without a pattern",
         "its inputs were likely bad already, or its scale, or it was never "
         "written"},
    [TP_DAMAGE_ELEMENT] =
        {"element", "one element",
         "likely what this element is made from: a zero to divide by, a value "
         "the operation is not defined for, an overflow, or a bit that "
         "flipped"},
    [TP_DAMAGE_TAIL] =
        {"tail",
         "the end of an axis from a multiple of 8, 16, ... or 256 on, as tiles "
         "of kernels are",
         "likely a kernel that handles the last tile of this axis wrongly, or "
         "padding that was never written"},
    [TP_DAMAGE_HEAD] =
        {"head", "whole attention heads",
         "likely what is computed for each head: its softmax or scale, or the "
         "split of heads over ranks"},
    [TP_DAMAGE_EXPERT] =
        {"expert", "all of the weights of some experts",
         "likely weights of experts that were not loaded, or experts that got "
         "no tokens"},
    [TP_DAMAGE_TOKENS] =
        {"tokens", "a range of positions of the sequence, all features",
         "likely the mask or the padding of these positions, or the split of "
         "the sequence over ranks"},
    [TP_DAMAGE_CHANNEL] =
        {"channel", "one feature of an activation, at all positions",
         "likely one row of the weight that makes this feature, its bias or "
         "its scale"},
    [TP_DAMAGE_STRIDE] =
        {"stride", "every k-th index or element",
         "likely lanes of a vector or warp, or elements packed in groups, that "
         "are written wrongly"},
    [TP_DAMAGE_ROWS] =
        {"rows", "some indices of an axis but the last, or whole lines",
         "likely something that each row has of its own: a token, a row of a "
         "mask, or a scale"},
    [TP_DAMAGE_COLUMNS] =
        {"columns", "some indices of the last axis",
         "likely something that each column has of its own: a feature, the "
         "weights it is made with, or a scale"},
    [TP_DAMAGE_CHECKERBOARD] =
        {"checkerboard", "every second element of the last two axes",
         "likely elements packed in pairs, or lanes, that are written wrongly"},
    [TP_DAMAGE_BAND] =
        {"band", "elements that follow each other in memory, in a few places",
         "likely memory that something else has written to, or a copy that did "
         "not arrive"},
    [TP_DAMAGE_BLOCK] =
        {"block", "indices of several axes at once",
         "likely one tile of a kernel, or what one rank holds of the tensor"},
    [TP_DAMAGE_SCATTERED] = {"scattered", "no pattern explains 99 % of it", ""},
    [TP_DAMAGE_BIT] =
        {"bit", "the same single bit of all elements that differ",
         "likely a bit that flips in memory or on a link, which a second run "
         "on other hardware would not show"},
    [TP_DAMAGE_BITS] =
        {"bits", "one bit each of the elements that differ",
         "likely bits that flip in memory or on a link, which a second run on "
         "other hardware would not show"},
    [TP_DAMAGE_ROUNDING] =
        {"rounding", "the last bits only",
         "likely another kernel or another order of summation"},
    [TP_DAMAGE_NAMES] = {NULL, NULL, NULL}};

/* --- indices -------------------------------------------------------------- */

/* "[3,:,5]": an element by its indices; ":" where all indices share it. */
static void add_place(const struct tp_damage_plan *plan, int64_t element,
                      struct tp_text *text)
{
    for (int axis = 0; axis < plan->tensor_ndim; axis++) {
        int64_t index = plan->tensor_shape[axis] > 1 ? -1 : 0;
        for (int i = 0; i < plan->ndim; i++) {
            if (plan->axes[i].axis == axis)
                index = element / plan->axes[i].inner % plan->axes[i].length;
        }
        tp_text_add(text, axis ? "," : "[");
        if (index < 0)
            tp_text_add(text, ":");
        else
            tp_text_add(text, "%" PRId64, index);
    }
    tp_text_add(text, plan->tensor_ndim ? "]" : "[]");
}

/* "4", "4 and 5", "4 to 9" */
static void add_range(int64_t first, int64_t end, struct tp_text *text)
{
    tp_text_add(text, "%" PRId64, first);
    if (end - first > 1)
        tp_text_add(text, " %s %" PRId64, end - first > 2 ? "to" : "and",
                    end - 1);
}

/* "4", "3, 7 and 9", "3, 7, 9, 12, 15, 40 and 20 others" */
static void add_listed(const struct tp_damage_set *set, struct tp_text *text)
{
    const int64_t shown =
        set->count < TP_DAMAGE_LISTED ? set->count : TP_DAMAGE_LISTED;
    for (int64_t i = 0; i < shown; i++)
        tp_text_add(text, "%s%" PRId64,
                    i == 0                                  ? ""
                    : i == shown - 1 && set->count == shown ? " and "
                                                            : ", ",
                    set->listed[i]);
    if (set->count > shown)
        tp_text_add(text, " and %" PRId64 " others", set->count - shown);
}

/* What an index of an axis is called. */
struct thing {
    const char *one, *many;
};

static struct thing thing_of(const struct tp_damage_plan *plan,
                             const struct tp_damage_axis *axis,
                             enum tp_damage_name where)
{
    switch (where) {
    case TP_DAMAGE_HEAD:
        return (struct thing){"head", "heads"};
    case TP_DAMAGE_EXPERT:
        return (struct thing){"expert", "experts"};
    case TP_DAMAGE_TOKENS:
        return (struct thing){"position", "positions"};
    case TP_DAMAGE_CHANNEL:
        return (struct thing){"channel", "channels"};
    default:
        break;
    }
    if (plan->tensor_ndim == 1)
        return (struct thing){"element", "elements"};
    if (axis->axis == plan->tensor_ndim - 1)
        return (struct thing){"column", "columns"};
    return plan->tensor_ndim == 2 ? (struct thing){"row", "rows"}
                                  : (struct thing){"index", "indices"};
}

/* "columns 4 and 5 of 64 along axis 1" */
static void add_indices(const struct tp_damage_axis *axis,
                        const struct tp_damage_set *set, struct thing thing,
                        struct tp_text *text)
{
    if (set->rough)
        tp_text_add(text, "about ");
    if (set->extent == TP_DAMAGE_STEPS && set->width == 1)
        tp_text_add(text, "one %s in %" PRId64 ", from %" PRId64 " on,",
                    thing.one, set->step, set->first);
    else if (set->extent == TP_DAMAGE_STEPS)
        tp_text_add(text, "%" PRId64 " %s in %" PRId64 ", from %" PRId64 " on,",
                    set->width, thing.many, set->step, set->first);
    else
        tp_text_add(text, "%s ", set->count > 1 ? thing.many : thing.one);
    if (set->extent == TP_DAMAGE_RANGE)
        add_range(set->first, set->end, text);
    else if (set->extent == TP_DAMAGE_SOME)
        add_listed(set, text);
    tp_text_add(text, " of %" PRId64 " along axis %d", axis->length,
                axis->axis);
}

/* --- where ---------------------------------------------------------------- */

static void add_axis(const struct tp_damage_plan *plan,
                     const struct tp_damage_shape *shape, struct tp_text *text)
{
    const struct tp_damage_axis *axis = &plan->axes[shape->axis];
    const struct tp_damage_set *set = &shape->sets[shape->axis];
    const int64_t dim = shape->head_dim;
    if (shape->where == TP_DAMAGE_HEAD && dim) {
        tp_text_add(text, "head%s ", set->count == dim ? "" : "s");
        add_range(set->first / dim, set->end / dim, text);
        tp_text_add(text,
                    " of %" PRId64 ", if a head has %" PRId64 " columns: ",
                    axis->length / dim, dim);
        add_indices(axis, set, thing_of(plan, axis, TP_DAMAGE_COLUMNS), text);
        return;
    }
    add_indices(axis, set, thing_of(plan, axis, shape->where), text);
    if (shape->where == TP_DAMAGE_TAIL)
        tp_text_add(text, ", its end from a multiple of %" PRId64 " on",
                    shape->tile);
}

enum { PAGE = 4096 };

/* Whether a stretch is whole pages, if the tensor begins with one. */
static bool is_pages(const struct tp_damage_plan *plan,
                     const struct tp_damage_stretch *one)
{
    const int64_t size = plan->codes.size;
    return one->begin * size % PAGE == 0 && one->end * size % PAGE == 0;
}

/* What the length of a stretch may be a whole number of, and its place. */
static void add_sizes(const struct tp_damage_plan *plan,
                      const struct tp_damage_stretch *one, struct tp_text *text)
{
    const int64_t count = one->end - one->begin;
    const int64_t size = plan->codes.size, bytes = count * size;
    const bool aligned = one->begin * size % PAGE == 0;
    if (bytes % PAGE == 0)
        tp_text_add(text, ", %" PRId64 " bytes or %" PRId64 " page%s of %d",
                    bytes, bytes / PAGE, bytes == PAGE ? "" : "s", PAGE);
    if (bytes % PAGE == 0 && aligned)
        tp_text_add(text, " from a multiple of %d on", PAGE);
}

static void add_band(const struct tp_damage_plan *plan,
                     const struct tp_damage_shape *shape, struct tp_text *text)
{
    const int shown = shape->stretches;
    if (shown > 1)
        tp_text_add(text, "%d stretches in memory: ", shown);
    tp_text_add(text, "elements ");
    for (int i = 0; i < shown; i++) {
        const struct tp_damage_stretch *one = &shape->stretch[i];
        tp_text_add(text, i == 0 ? "" : i == shown - 1 ? " and " : ", ");
        add_range(one->begin, one->end, text);
    }
    tp_text_add(text, " of %" PRId64 "%s", plan->numel,
                shown > 1 ? "" : " in memory");
    if (shown == 1)
        add_sizes(plan, shape->stretch, text);
    if (shape->where == TP_DAMAGE_TAIL)
        tp_text_add(text, ", its end from a multiple of %" PRId64 " on",
                    shape->tile);
}

/* Whole lines along the last axis of memory. */
static void add_lines(const struct tp_damage_plan *plan,
                      const struct tp_damage_shape *shape, struct tp_text *text)
{
    const struct tp_damage_axis *last = &plan->axes[plan->ndim - 1];
    for (int i = 0; i < shape->stretches; i++) {
        const struct tp_damage_stretch *one = &shape->stretch[i];
        const int64_t lines = (one->end - one->begin) / last->length;
        tp_text_add(text, i == 0                      ? ""
                          : i == shape->stretches - 1 ? " and "
                                                      : ", ");
        if (lines > 1)
            tp_text_add(text, "%" PRId64 " lines along axis %d from ", lines,
                        last->axis);
        else
            tp_text_add(text, "the line along axis %d at ", last->axis);
        add_place(plan, one->begin, text);
        tp_text_add(text, " on");
    }
    if (shape->stretches == 1 && is_pages(plan, shape->stretch))
        add_sizes(plan, shape->stretch, text);
}

static void add_block(const struct tp_damage_plan *plan,
                      const struct tp_damage_shape *shape, struct tp_text *text)
{
    bool more = false;
    tp_text_add(text, "a block: ");
    for (int i = 0; i < plan->ndim; i++) {
        const struct tp_damage_axis *axis = &plan->axes[i];
        if (shape->sets[i].extent == TP_DAMAGE_FULL)
            continue;
        tp_text_add(text, more ? ", " : "");
        add_indices(axis, &shape->sets[i],
                    thing_of(plan, axis, TP_DAMAGE_BLOCK), text);
        more = true;
    }
}

static void add_scattered(const struct tp_damage_plan *plan,
                          const struct tp_damage_shape *shape,
                          struct tp_text *text)
{
    if (shape->damaged == 2)
        tp_text_add(text, "elements ");
    else
        tp_text_add(text, shape->few ? "too few to form a pattern, from "
                                     : "scattered, from ");
    add_place(plan, shape->first, text);
    tp_text_add(text, shape->damaged == 2 ? " and " : " to ");
    add_place(plan, shape->end - 1, text);
}

static void add_stride(const struct tp_damage_plan *plan,
                       const struct tp_damage_shape *shape,
                       struct tp_text *text)
{
    tp_text_add(text, "%" PRId64 " element%s in %" PRId64 " in memory, from ",
                shape->width, shape->width == 1 ? "" : "s", shape->step);
    add_place(plan, shape->first, text);
    tp_text_add(text, " on");
}

void tp_damage_tell_where(const struct tp_damage_plan *plan,
                          const struct tp_damage_shape *shape,
                          struct tp_text *text)
{
    const bool by_memory = shape->axis < 0;
    switch (shape->where) {
    case TP_DAMAGE_NONE:
        tp_text_add(text, "no element");
        break;
    case TP_DAMAGE_EVERYTHING:
        tp_text_add(text, shape->damaged == shape->numel
                              ? "all elements"
                              : "all over the tensor");
        break;
    case TP_DAMAGE_ELEMENT:
        tp_text_add(text, "element ");
        add_place(plan, shape->first, text);
        break;
    case TP_DAMAGE_CHECKERBOARD:
        tp_text_add(text,
                    "every second element, as on a checkerboard, of "
                    "axes %d and %d",
                    plan->axes[plan->ndim - 2].axis,
                    plan->axes[plan->ndim - 1].axis);
        break;
    case TP_DAMAGE_BLOCK:
        add_block(plan, shape, text);
        break;
    case TP_DAMAGE_SCATTERED:
        add_scattered(plan, shape, text);
        break;
    default:
        if (!by_memory)
            add_axis(plan, shape, text);
        else if (shape->where == TP_DAMAGE_ROWS)
            add_lines(plan, shape, text);
        else if (shape->where == TP_DAMAGE_STRIDE)
            add_stride(plan, shape, text);
        else
            add_band(plan, shape, text);
    }
}

/* --- what ----------------------------------------------------------------- */

static const char *part_of_code(enum tp_dtype dtype, int bit)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    if (tp_code_order_of(dtype) == TP_ORDER_UNSIGNED)
        return "";
    if (bit == 8 * info->code_size - 1)
        return ", the sign,";
    if (info->significand == 0)
        return "";
    return bit >= info->significand - 1 ? ", of the exponent,"
                                        : ", of the mantissa,";
}

/* "; "-less: "NaN", "all of them NaN", "500 NaN, 12 Inf and 3 others". */
static void add_kinds(const struct tp_damage *damage, struct tp_text *text)
{
    const struct {
        uint64_t count;
        const char *word;
    } kinds[] = {{damage->nan, "NaN"},
                 {damage->inf, "Inf"},
                 {damage->zero, "zero"},
                 {damage->huge, "implausibly large"}};
    uint64_t rest = damage->damaged;
    bool more = false;
    for (int i = 0; i < 4; i++) {
        rest -= kinds[i].count;
        if (kinds[i].count == damage->damaged) {
            tp_text_add(text, "%s%s",
                        rest || damage->damaged > 1 ? "all of them " : "",
                        kinds[i].word);
            return;
        }
    }
    if (rest == damage->damaged) {
        tp_text_add(text, "other values");
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (kinds[i].count == 0)
            continue;
        tp_text_add(text, "%s%" PRIu64 " of them %s", more ? ", " : "",
                    kinds[i].count, kinds[i].word);
        more = true;
    }
    if (rest)
        tp_text_add(text, ", the rest other values");
}

static void add_what(const struct tp_damage_plan *plan,
                     const struct tp_damage *damage,
                     const struct tp_damage_shape *shape, struct tp_text *text)
{
    const uint64_t same = damage->one_bit[shape->bit];
    switch (shape->name) {
    case TP_DAMAGE_BIT:
        tp_text_add(text, "bit %d%s flipped", shape->bit,
                    part_of_code(plan->codes.dtype, shape->bit));
        if (same < shape->damaged)
            tp_text_add(text, " in %" PRIu64 " of them", same);
        break;
    case TP_DAMAGE_BITS:
        tp_text_add(text, "one bit flipped in each");
        break;
    case TP_DAMAGE_ROUNDING:
        if (tp_dtype_info(plan->codes.dtype)->significand == 0)
            tp_text_add(text, "off by one");
        else
            tp_text_add(text, "at most %" PRIu64 " ULP apart",
                        (UINT64_C(1) << shape->ulp_bits) - 1);
        break;
    default:
        add_kinds(damage, text);
    }
}

void tp_damage_tell_exceptions(const struct tp_damage_plan *plan,
                               const struct tp_damage_shape *shape,
                               struct tp_text *text)
{
    const char *at_most = shape->where == TP_DAMAGE_BLOCK ? "at most " : "";
    if (shape->where == TP_DAMAGE_SCATTERED ||
        shape->where == TP_DAMAGE_EVERYTHING)
        return;
    const uint64_t outside = (shape->damaged - shape->inside) * plan->repeat;
    const uint64_t intact =
        shape->elements > shape->inside
            ? (shape->elements - shape->inside) * plan->repeat
            : 0;
    if (outside)
        tp_text_add(text, "; %s%" PRIu64 " of them %s elsewhere", at_most,
                    outside, outside == 1 ? "lies" : "lie");
    if (intact)
        tp_text_add(text, "; %s%" PRIu64 " in between %s intact", at_most,
                    intact, intact == 1 ? "is" : "are");
}

void tp_damage_tell(const struct tp_damage_plan *plan,
                    const struct tp_damage *damage,
                    const struct tp_damage_shape *shape, struct tp_text *text)
{
    const uint64_t count = shape->damaged * plan->repeat;
    tp_damage_tell_where(plan, shape, text);
    if (shape->where == TP_DAMAGE_NONE)
        return;
    tp_text_add(text, ": %" PRIu64, count);
    if (shape->where == TP_DAMAGE_SCATTERED ||
        shape->where == TP_DAMAGE_EVERYTHING)
        tp_text_add(text, " of %" PRIu64, shape->numel * plan->repeat);
    tp_text_add(text, " element%s, ", count == 1 ? "" : "s");
    add_what(plan, damage, shape, text);
    tp_damage_tell_exceptions(plan, shape, text);
}

void tp_damage_tell_kind(const struct tp_damage_plan *plan,
                         const struct tp_damage_shape *shape, const char *word,
                         struct tp_text *text)
{
    const bool is_everywhere = shape->where == TP_DAMAGE_EVERYTHING ||
                               shape->where == TP_DAMAGE_SCATTERED;
    if (shape->damaged == shape->numel) {
        tp_text_add(text, "all of its elements are %s", word);
        return;
    }
    tp_text_add(text, "its %s %s ", word,
                is_everywhere                       ? "are"
                : shape->where == TP_DAMAGE_ELEMENT ? "is"
                                                    : "are in");
    tp_damage_tell_where(plan, shape, text);
    tp_damage_tell_exceptions(plan, shape, text);
}
