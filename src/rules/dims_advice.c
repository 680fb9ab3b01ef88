/* SPDX-License-Identifier: MIT */
/*
 * Advice on an axis, as sentences: on sums over it, on outliers and on indices
 * that are zero, each only where the axis has such a thing. The type advised
 * for a sum is the narrowest of float32 and float64 whose own risk for this
 * ratio is not high, by the function that judged the type of the sum; where
 * neither will do, scales for each index are left. A ratio that chance alone
 * may make of so few values is marked as such.
 *
 * One fixed sentence for each risk would be shorter, but advise float32 where
 * that loses the small indices, too. Constant time: at most 64 kept indices are
 * looked at for the smallest that is not zero.
 */
#include "rules/dims_advice.h"

#include <inttypes.h>

/* The narrowest type whose sums keep what is so many times smaller; NULL
 * when even float64 does not. */
static const char *type_for(double ratio)
{
    if (tp_dim_risk_of(TP_FLOAT32, ratio) < TP_DIM_HIGH)
        return "float32";
    return tp_dim_risk_of(TP_FLOAT64, ratio) < TP_DIM_HIGH ? "float64" : NULL;
}

static void begin(struct tp_text *text)
{
    if (text->length)
        tp_text_add(text, "; ");
}

static void advise_reduction(const struct tp_dim_axis *axis,
                             struct tp_text *text)
{
    enum tp_dim_risk risk = tp_dim_risk_of(axis->reduce, axis->ratio);
    size_t least = axis->kept;
    while (least > 0 && !(tp_dim_abs_max(&axis->worst[least - 1]) > 0))
        least--;
    const char *type = type_for(axis->ratio);
    if (least == 0 || risk == TP_DIM_LOW)
        return;
    begin(text);
    tp_text_add(text,
                "index %" PRId64 " is %.4g times smaller than index %" PRId64
                ": a sum over axis %d in %s %s it; ",
                axis->worst[least - 1].index, axis->ratio,
                axis->worst[0].index, axis->axis,
                tp_dtype_info(axis->reduce)->name,
                risk == TP_DIM_HIGH ? "loses" : "keeps at most 3 bits of");
    if (type)
        tp_text_add(text, "reduce in %s, or scale each index on its own",
                    type);
    else
        tp_text_add(text, "scale each index on its own before a sum");
    if (risk == TP_DIM_HIGH && !(tp_dim_excess(axis) > 1))
        tp_text_add(text,
                    " (with %" PRIu64 " values an index, chance alone may "
                    "make such a ratio)",
                    axis->values);
}

void tp_dim_advice(const struct tp_dim_axis *axis, struct tp_text *text)
{
    text->length = 0;
    advise_reduction(axis, text);
    if (axis->outliers) {
        begin(text);
        tp_text_add(text,
                    "%" PRIu64 " of %" PRId64 " indices of axis %d lie far "
                    "above the rest: scale per index, or smooth or clip "
                    "these channels before a cast with a common scale",
                    axis->outliers, axis->length, axis->axis);
    }
    if (axis->dead) {
        begin(text);
        tp_text_add(text,
                    "%" PRIu64 " of %" PRId64 " indices of axis %d are zero "
                    "throughout: check for a mask, padding, or channels that "
                    "no longer learn",
                    axis->dead, axis->length, axis->axis);
    }
    if (text->length == 0)
        tp_text_add(text, "none needed");
}
