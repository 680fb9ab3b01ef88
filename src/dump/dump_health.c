/* SPDX-License-Identifier: MIT */
#include "dump/dump_health.h"

#include <math.h>
#include <string.h>

/* --- what a tensor holds -------------------------------------------------- */

static bool is_known(const struct tp_dump_item *item, enum tp_dump_stat stat)
{
    return item->stats[stat].kind != TP_JSON_NULL;
}

static bool may_be_nonfinite(const struct tp_dump_item *item)
{
    return tp_dump_item_numel(item) != 0 &&
           (item->element == TP_DTYPE_COUNT ||
            tp_dtype_info(item->element)->kind != TP_CLASS_INTEGER);
}

static unsigned infinity_of(double value)
{
    if (!isinf(value))
        return 0;
    return value > 0 ? TP_HEALTH_ABOVE : TP_HEALTH_BELOW;
}

unsigned tp_health_of(const struct tp_dump_item *item)
{
    if (item->kind != TP_DUMP_TENSOR || !may_be_nonfinite(item))
        return 0;
    unsigned health = 0;
    bool any = false;
    for (int i = 0; i < TP_DUMP_STATS; i++) {
        if (!is_known(item, (enum tp_dump_stat)i))
            continue;
        any = true;
        health |= isnan(item->stats[i].real) ? TP_HEALTH_NAN : 0;
        if (i == TP_DUMP_MAX || i == TP_DUMP_MIN)
            health |= infinity_of(item->stats[i].real);
    }
    if (!any)
        return TP_HEALTH_UNKNOWN;
    const bool extrema =
        is_known(item, TP_DUMP_MAX) && is_known(item, TP_DUMP_MIN);
    if (!extrema && !health)
        health |= infinity_of(item->stats[TP_DUMP_MEAN].real);
    /* The norm of finite elements may overflow, but then their mean tells. */
    if (!extrema && !health && !is_known(item, TP_DUMP_MEAN) &&
        item->element != TP_DTYPE_COUNT)
        health |= infinity_of(item->stats[TP_DUMP_NORM].real);
    /* The mean of both infinities is NaN, too. */
    if (extrema && (health & TP_HEALTH_ABOVE) && (health & TP_HEALTH_BELOW) &&
        !isnan(item->stats[TP_DUMP_MAX].real) &&
        !isnan(item->stats[TP_DUMP_MIN].real))
        health &= ~(unsigned)TP_HEALTH_NAN;
    return health;
}

const char *tp_health_words(unsigned health)
{
    static const char *const words[] = {
        "finite", "NaN",          "Inf",          "NaN and Inf",
        "-Inf",   "NaN and -Inf", "Inf and -Inf", "NaN, Inf and -Inf"};
    return health & TP_HEALTH_UNKNOWN ? "unknown" : words[health & 7];
}

bool tp_health_is_lowest(const struct tp_dump_item *item)
{
    const struct tp_dump_number *min = &item->stats[TP_DUMP_MIN];
    /* The largest finite values, and fp32's rounded to bf16 below it. */
    switch (item->kind == TP_DUMP_TENSOR ? item->element : TP_DTYPE_COUNT) {
    case TP_FLOAT16:
        return min->real == -65504;
    case TP_BFLOAT16:
    case TP_FLOAT32:
        return min->real <= -0x1.FEp127 && isfinite(min->real);
    default:
        return false;
    }
}

/* --- what is meant to be there -------------------------------------------- */

/* An argument that a call overwrites. */
static const struct overwritten {
    const char *api;
    const char *argument; /* the first component; of results after "out"   */
} overwritten[] = {
    {"recv", "0"},
    {"recv", "tensor"},
    {"irecv", "0"},
    {"irecv", "tensor"},
    {"all_gather", "0"},
    {"all_gather", "tensor_list"},
    {"all_gather_into_tensor", "0"},
    {"all_gather_into_tensor", "output_tensor"},
    {"_all_gather_base", "0"},
    {"_all_gather_base", "output_tensor"},
    {"reduce_scatter", "0"},
    {"reduce_scatter", "output"},
    {"reduce_scatter_tensor", "0"},
    {"reduce_scatter_tensor", "output"},
    {"_reduce_scatter_base", "0"},
    {"_reduce_scatter_base", "output"},
    {"scatter", "0"},
    {"scatter", "tensor"},
    {"gather", "1"},
    {"gather", "gather_list"},
    {"all_to_all", "0"},
    {"all_to_all", "output_tensor_list"},
    {"all_to_all_single", "0"},
    {"all_to_all_single", "output"},
    {"isend", "out0"},
    {"masked_fill_", "0"},
    {"fill_", "0"},
    {"zero_", "0"},
    {"copy_", "0"},
    {"uniform_", "0"},
    {"normal_", "0"},
    {"random_", "0"},
    {"npu_fusion_attention", "out4"},
    {"npu_fusion_attention", "out5"},
};

/* Whether "0.1" begins with the component "0"; results are "out0". */
static bool is_argument(const struct tp_dump_item *item, const char *word)
{
    const char *argument = item->argument;
    const bool result = item->place == TP_MSPROBE_OUTPUT;
    if (result !=
        (strncmp(word, "out", 3) == 0 && word[3] >= '0' && word[3] <= '9'))
        return false;
    if (result)
        word += 3;
    size_t length = strlen(word);
    return strncmp(argument, word, length) == 0 &&
           (argument[length] == '\0' || argument[length] == '.');
}

/* Two of them have a namesake that is no communication. */
static bool is_other(const struct tp_dump_call *call)
{
    return (tp_dump_call_is(call, "gather") ||
            tp_dump_call_is(call, "scatter")) &&
           !tp_dump_call_is_communication(call);
}

bool tp_health_ignores(const struct tp_dump_call *call,
                       const struct tp_dump_item *item)
{
    if (is_other(call) || (call->known && call->name.direction == TP_BACKWARD))
        return false;
    for (size_t i = 0; i < sizeof overwritten / sizeof *overwritten; i++)
        if (tp_dump_call_is(call, overwritten[i].api) &&
            is_argument(item, overwritten[i].argument))
            return true;
    return false;
}

bool tp_health_is_raw(const struct tp_dump_call *call)
{
    static const char *const raw[] = {"empty",
                                      "empty_like",
                                      "empty_strided",
                                      "empty_with_format",
                                      "new_empty",
                                      "new_empty_strided",
                                      NULL};
    return tp_dump_call_is_any(call, raw);
}

static unsigned value_of(const struct tp_dump_item *item)
{
    const struct tp_json *value = item->value;
    if (item->kind == TP_DUMP_VALUE && value && tp_json_is_number(value))
        return infinity_of(value->real);
    if (item->kind == TP_DUMP_TENSOR && is_known(item, TP_DUMP_MAX) &&
        item->stats[TP_DUMP_MAX].real == item->stats[TP_DUMP_MIN].real)
        return infinity_of(item->stats[TP_DUMP_MAX].real);
    return 0;
}

unsigned tp_health_fills(const struct tp_dump_call *call,
                         const struct tp_dump_item *items)
{
    static const char *const fills[] = {
        "masked_fill",   "masked_fill_", "where",          "full",
        "full_like",     "new_full",     "fill",           "fill_",
        "index_fill",    "index_fill_",  "masked_scatter", "triu",
        "tril",          "triu_",        "tril_",          "pad",
        "scalar_tensor", "tensor",       "__setitem__",    NULL};
    unsigned infinities = 0;
    if (!tp_dump_call_is_any(call, fills) ||
        call->name.direction == TP_BACKWARD)
        return 0;
    for (size_t i = 0; i < call->count; i++)
        if (!tp_dump_item_is_result(call, &items[i]))
            infinities |= value_of(&items[i]);
    return infinities;
}

bool tp_health_takes_mask(const struct tp_dump_call *call,
                          const struct tp_dump_item *item)
{
    static const char *const takers[] = {"add",
                                         "add_",
                                         "__add__",
                                         "__radd__",
                                         "__iadd__",
                                         "softmax",
                                         "log_softmax",
                                         "baddbmm",
                                         "triu",
                                         "tril",
                                         "where",
                                         "masked_fill",
                                         "to",
                                         "expand",
                                         "repeat",
                                         "scaled_dot_product_attention",
                                         "npu_fusion_attention",
                                         "npu_scaled_masked_softmax",
                                         NULL};
    return strstr(item->argument, "mask") || tp_dump_call_is_any(call, takers);
}

unsigned tp_health_after(const struct tp_dump_call *call, unsigned mask)
{
    static const char *const turning[] = {
        "mul",     "mul_",        "__mul__", "__rmul__", "neg",
        "__neg__", "sub",         "__sub__", "__rsub__", "abs",
        "div",     "__truediv__", NULL};
    const unsigned both = TP_HEALTH_ABOVE | TP_HEALTH_BELOW;
    return tp_dump_call_is_any(call, turning) && (mask & both) ? both : mask;
}

/* --- what is meant to be large -------------------------------------------- */

/* Whether a power is a root, or an exponential of a number: 2 ** x. */
static bool is_root(const struct tp_dump_call *call,
                    const struct tp_dump_item *items)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_json *value = items[i].value;
        if (items[i].kind != TP_DUMP_VALUE || !value ||
            !tp_json_is_number(value))
            continue;
        if (!strcmp(items[i].argument, "0") || value->real < 1)
            return true;
    }
    return false;
}

/* Of small x these are not small: sqrt(1e-12) is 1e-6, exp(0) is 1. So AdamW
 * takes the root of each second moment, and nothing is wrong with that. Their
 * gradients are not meant to be large. */
bool tp_health_may_grow(const struct tp_dump_call *call,
                        const struct tp_dump_item *items)
{
    static const char *const growing[] = {
        "sqrt",        "sqrt_", "rsqrt", "rsqrt_", "reciprocal",
        "reciprocal_", "exp",   "exp_",  "exp2",   "expm1",
        "log",         "log_",  "log2",  "log10",  NULL};
    static const char *const powers[] = {"pow", "pow_", "__pow__", "__ipow__",
                                         NULL};
    if (!call->known || call->name.direction == TP_BACKWARD)
        return false;
    return tp_dump_call_is_any(call, growing) ||
           tp_dump_call_is(call, "__rpow__") ||
           (tp_dump_call_is_any(call, powers) && is_root(call, items));
}

double tp_health_norm(const struct tp_dump_place *place,
                      const struct tp_dump_call *call, bool results)
{
    double norm = -1;
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        const struct tp_dump_number *value = &item->stats[TP_DUMP_NORM];
        if (item->kind == TP_DUMP_TENSOR && value->kind != TP_JSON_NULL &&
            isfinite(value->real) && fabs(value->real) > norm &&
            tp_dump_item_is_result(call, item) == results)
            norm = fabs(value->real);
    }
    return norm;
}
