/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_PLANTED_DUMP_H
#define TP_TESTS_PLANTED_DUMP_H

#include "tests/unit/support/pt_maker.h"

#include <math.h>

#include "base/text.h"

/*
 * A dump of a model of four layers, hidden 1024, 16 heads, 4 experts, 100
 * tokens, as msprobe writes it, and damage planted in one of its tensors. Each
 * layer: a normalisation, a linear, a product whose result is the query of an
 * attention, that, a block of experts; the linears once more backward. Results
 * are what the next call is given.
 */

enum { PLANTED_LAYERS = 4, PLANTED_MOST = 64, PLANTED_TOKENS = 100 };

struct planted_tensor {
    char call[64], item[32]; /* "Functional.linear.0.forward", "input.0"     */
    const struct pt_dtype *dtype;
    int ndim;
    int64_t shape[4], numel;
    unsigned char *codes;
    bool nan; /* planted: the statistics say so                              */
};

struct planted_dump {
    struct maker maker;
    struct planted_tensor tensors[PLANTED_MOST];
    size_t count;
    uint64_t noise;
};

static inline uint64_t planted_noise(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Numbers of 0.5 to 2 of either sign; planted ones of 4 to 8 of either sign. */
static inline uint32_t planted_code(const struct pt_dtype *dtype,
                                    uint64_t *state, bool planted)
{
    const uint64_t noise = planted_noise(state);
    const uint32_t sign = (uint32_t)(noise >> 63) << 31;
    const uint32_t low = (uint32_t)(noise >> 16);
    const uint32_t code = planted ? 0x40800000u | (low & 0x7fffffu)
                                  : 0x3f000000u | (low & 0xffffffu);
    return (code | sign) >> (dtype->size == 2 ? 16 : 0);
}

static inline uint32_t planted_get(const struct planted_tensor *tensor,
                                   int64_t i)
{
    uint32_t code = 0; /* little endian */
    memcpy(&code, tensor->codes + (size_t)i * tensor->dtype->size,
           tensor->dtype->size);
    return code;
}

static inline void planted_set(struct planted_tensor *tensor, int64_t i,
                               uint32_t code)
{
    memcpy(tensor->codes + (size_t)i * tensor->dtype->size, &code,
           tensor->dtype->size);
}

static inline double planted_value(const struct planted_tensor *tensor,
                                   int64_t i)
{
    const uint32_t code = planted_get(tensor, i)
                          << (tensor->dtype->size == 2 ? 16 : 0);
    float value;
    memcpy(&value, &code, sizeof value);
    return (double)value;
}

/* A tensor of its own contents, or of those of `like`. */
static inline struct planted_tensor *planted_add(
    struct planted_dump *dump, const char *call, const char *item,
    const struct pt_dtype *dtype, const int64_t shape[4],
    const struct planted_tensor *like)
{
    struct planted_tensor *tensor = &dump->tensors[dump->count++];
    cr_assert_lt(dump->count, (size_t)PLANTED_MOST);
    snprintf(tensor->call, sizeof tensor->call, "%s", call);
    snprintf(tensor->item, sizeof tensor->item, "%s", item);
    tensor->dtype = dtype;
    tensor->numel = 1;
    for (; tensor->ndim < 4 && shape[tensor->ndim]; tensor->ndim++) {
        tensor->shape[tensor->ndim] = shape[tensor->ndim];
        tensor->numel *= shape[tensor->ndim];
    }
    tensor->codes = malloc((size_t)tensor->numel * dtype->size);
    cr_assert_not_null(tensor->codes);
    if (like)
        memcpy(tensor->codes, like->codes, (size_t)tensor->numel * dtype->size);
    for (int64_t i = 0; i < tensor->numel && !like; i++)
        planted_set(tensor, i, planted_code(dtype, &dump->noise, false));
    return tensor;
}

static inline void planted_layer(struct planted_dump *dump, int layer)
{
    static const int64_t hidden[4] = {PLANTED_TOKENS, 1024};
    static const int64_t small[4] = {PLANTED_TOKENS, 256};
    static const int64_t weight[4] = {256, 1024}, experts[4] = {4, 256, 256};
    static const int64_t heads[4] = {1, 16, PLANTED_TOKENS, 64};
    static const int64_t query[4] = {16, PLANTED_TOKENS, 64};
    const struct pt_dtype *bf16 = &pt_bfloat16, *fp32 = &pt_float32;
    char call[64];
    snprintf(call, sizeof call, "Functional.layer_norm.%d.forward", layer);
    planted_add(dump, call, "input.0", bf16, hidden, NULL);
    const struct planted_tensor *made =
        planted_add(dump, call, "output.0", bf16, hidden, NULL);
    snprintf(call, sizeof call, "Functional.linear.%d.forward", layer);
    planted_add(dump, call, "input.0", bf16, hidden, made);
    planted_add(dump, call, "input.1", bf16, weight, NULL);
    planted_add(dump, call, "output.0", bf16, small, NULL);
    snprintf(call, sizeof call, "Torch.bmm.%d.forward", layer);
    made = planted_add(dump, call, "output.0", fp32, query, NULL);
    snprintf(call, sizeof call,
             "Functional.scaled_dot_product_attention.%d.forward", layer);
    planted_add(dump, call, "input.0", fp32, heads, made);
    made = planted_add(dump, call, "output.0", fp32, heads, NULL);
    snprintf(call, sizeof call, "Module.layers.%d.experts.Experts.forward.0",
             layer);
    planted_add(dump, call, "input.0", fp32, heads, made);
    planted_add(dump, call, "parameters.weight", bf16, experts, NULL);
    planted_add(dump, call, "output.0", bf16, hidden, NULL);
}

static inline void planted_back(struct planted_dump *dump, int layer)
{
    static const int64_t hidden[4] = {PLANTED_TOKENS, 1024};
    static const int64_t small[4] = {PLANTED_TOKENS, 256};
    char call[64];
    snprintf(call, sizeof call, "Functional.linear.%d.backward", layer);
    planted_add(dump, call, "input.0", &pt_bfloat16, small, NULL);
    planted_add(dump, call, "output.0", &pt_bfloat16, hidden, NULL);
}

/* --- files ---------------------------------------------------------------- */

static inline void planted_put(const struct planted_dump *dump,
                               const char *folder,
                               const struct planted_tensor *tensor)
{
    char path[256];
    snprintf(path, sizeof path, "%s/step0/rank0/dump_tensor_data/%s.%s.pt",
             folder, tensor->call, tensor->item);
    pt_put_shaped(&dump->maker, path, tensor->dtype, tensor->codes,
                  tensor->shape, tensor->ndim);
}

/* As Python writes it. */
static inline void planted_add_stat(int which, double value,
                                    struct tp_text *text)
{
    static const char *const names[] = {"Max", "Min", "Mean", "Norm"};
    tp_text_add(text, ", \"%s\": ", names[which]);
    if (isnan(value))
        tp_text_add(text, "NaN");
    else if (isinf(value))
        tp_text_add(text, value > 0 ? "Infinity" : "-Infinity");
    else
        tp_text_add(text, "%.17g", value);
}

static inline void planted_add_item(const struct planted_tensor *tensor,
                                    struct tp_text *text)
{
    double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;
    for (int64_t i = 0; i < tensor->numel; i++) {
        const double value = planted_value(tensor, i);
        least = fmin(least, value);
        most = fmax(most, value);
        sum += value;
        squares += value * value;
    }
    tp_text_add(text, "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\"",
                tensor->dtype->size == 2 ? "bfloat16" : "float32");
    for (int i = 0; i < tensor->ndim; i++)
        tp_text_add(text, "%s%d", i ? ", " : ", \"shape\": [",
                    (int)tensor->shape[i]);
    tp_text_add(text, "]");
    const double stats[] = {most, least, sum / (double)tensor->numel,
                            sqrt(squares)};
    for (int i = 0; i < 4; i++)
        planted_add_stat(i, tensor->nan ? NAN : stats[i], text);
    tp_text_add(text,
                ", \"requires_grad\": false, \"data_name\": \"%s.%s.pt\"}",
                tensor->call, tensor->item);
}

/* The tensors of a call with an item that begins like this. */
static inline void planted_add_items(const struct planted_dump *dump,
                                     const char *call, const char *item,
                                     struct tp_text *text)
{
    const char *comma = "";
    for (size_t i = 0; i < dump->count; i++) {
        const struct planted_tensor *tensor = &dump->tensors[i];
        if (strcmp(tensor->call, call) ||
            strncmp(tensor->item, item, strlen(item)))
            continue;
        tp_text_add(text, "%s", comma);
        if (!strcmp(item, "parameters"))
            tp_text_add(text, "\"%s\": ", tensor->item + strlen("parameters."));
        planted_add_item(tensor, text);
        comma = ", ";
    }
}

static inline void planted_put_json(const struct planted_dump *dump,
                                    const char *folder)
{
    struct tp_text text = {0};
    char path[64];
    tp_text_add(&text, "{\"task\": \"tensor\", \"level\": \"mix\", "
                       "\"framework\": \"pytorch\", \"data\": {");
    for (size_t i = 0; i < dump->count; i++) {
        const char *call = dump->tensors[i].call;
        const bool module = !strncmp(call, "Module", 6);
        const bool backward = strstr(call, "backward");
        if (i && !strcmp(dump->tensors[i - 1].call, call))
            continue;
        tp_text_add(&text, "%s\"%s\": {\"%s\": [", i ? ", " : "", call,
                    backward ? "input" : "input_args");
        planted_add_items(dump, call, "input", &text);
        tp_text_add(&text, backward ? "]" : "], \"input_kwargs\": {}");
        if (module) {
            tp_text_add(&text, ", \"parameters\": {");
            planted_add_items(dump, call, "parameters", &text);
            tp_text_add(&text, "}");
        }
        tp_text_add(&text, ", \"output\": [");
        planted_add_items(dump, call, "output", &text);
        tp_text_add(&text, "]}");
    }
    tp_text_add(&text, "}}");
    snprintf(path, sizeof path, "%s/step0/rank0/dump.json", folder);
    maker_put(&dump->maker, path, tp_text_get(&text));
    tp_text_clear(&text);
}

static inline void planted_put_all(const struct planted_dump *dump,
                                   const char *folder)
{
    for (size_t i = 0; i < dump->count; i++)
        planted_put(dump, folder, &dump->tensors[i]);
    planted_put_json(dump, folder);
}

/* Makes the tensors; planted_put_all writes them. */
static inline void planted_begin(struct planted_dump *dump)
{
    memset(dump, 0, sizeof *dump);
    dump->maker = maker_begin();
    dump->noise = 0x9e3779b97f4a7c15;
    for (int i = 0; i < PLANTED_LAYERS; i++)
        planted_layer(dump, i);
    for (int i = PLANTED_LAYERS; i-- > 0;)
        planted_back(dump, i);
}

static inline void planted_end(struct planted_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        free(dump->tensors[i].codes);
    maker_end(&dump->maker);
}

/* The tensor of a name: "Functional.linear.0.forward.input.0". */
static inline struct planted_tensor *planted_of(struct planted_dump *dump,
                                                const char *name)
{
    char own[128];
    for (size_t i = 0; i < dump->count; i++) {
        struct planted_tensor *tensor = &dump->tensors[i];
        snprintf(own, sizeof own, "%s.%s", tensor->call, tensor->item);
        if (!strcmp(own, name))
            return tensor;
    }
    cr_assert_fail("no tensor %s", name);
    return NULL;
}

/* --- plants --------------------------------------------------------------- */

/* Indices first, first + step, ... below end, `width` of each; step 0: all from
 * first on; all zero: all. */
struct planted_indices {
    int64_t first, end, step, width;
};

enum planted_what {
    PLANTED_OTHER, /* other numbers, further off than any rounding           */
    PLANTED_NAN,
    PLANTED_INF,
    PLANTED_ZERO,
    PLANTED_BIT,  /* bit 13 of bfloat16, 29 of float32                       */
    PLANTED_BITS, /* any one bit of the exponent                             */
    PLANTED_ULP   /* one unit in the last place, up or down                  */
};

struct planted {
    const char *tensor;
    struct planted_indices axes[4];
    struct planted_indices memory, more; /* of all elements: either          */
    bool checkerboard;
    int in_thousand; /* at random; 0: all that is said above                 */
    enum planted_what what;
    const char *id;    /* of tp_damage_shapes; "": nothing is to be said     */
    const char *words; /* part of what is said                               */
};

static inline bool planted_has(const struct planted_indices *indices, int64_t i)
{
    if (indices->end == 0)
        return true;
    if (i < indices->first || i >= indices->end)
        return false;
    return !indices->step ||
           (i - indices->first) % indices->step < indices->width;
}

static inline bool planted_hits(const struct planted *plant,
                                const struct planted_tensor *tensor, int64_t at)
{
    int64_t rest = at, sum = 0;
    bool hit = planted_has(&plant->memory, at) ||
               (plant->more.end && planted_has(&plant->more, at));
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        const int64_t index = rest % tensor->shape[i];
        hit = hit && planted_has(&plant->axes[i], index);
        sum += i >= tensor->ndim - 2 ? index : 0;
        rest /= tensor->shape[i];
    }
    return hit && (!plant->checkerboard || sum % 2);
}

static inline uint32_t planted_as(const struct planted *plant,
                                  const struct planted_tensor *tensor,
                                  uint32_t code, uint64_t *noise)
{
    const unsigned low = tensor->dtype->size == 2 ? 0 : 16;
    switch (plant->what) {
    case PLANTED_NAN:
        return 0x7fc0u << low;
    case PLANTED_INF:
        return 0x7f80u << low;
    case PLANTED_ZERO:
        return 0;
    case PLANTED_BIT:
        return code ^ 0x2000u << low;
    case PLANTED_BITS:
        return code ^ 0x200u << low << planted_noise(noise) % 5;
    case PLANTED_ULP:
        return planted_noise(noise) % 2 ? code + 1 : code - 1;
    default:
        return planted_code(tensor->dtype, noise, true);
    }
}

/* Damages a tensor of the dump; how many elements. */
static inline int64_t planted_damage(const struct planted *plant,
                                     struct planted_tensor *tensor)
{
    uint64_t noise = 0xd1b54a32d192ed03;
    int64_t count = 0;
    for (int64_t i = 0; i < tensor->numel; i++) {
        if (!planted_hits(plant, tensor, i) ||
            (plant->in_thousand &&
             planted_noise(&noise) % 1000 >= (uint64_t)plant->in_thousand))
            continue;
        planted_set(tensor, i,
                    planted_as(plant, tensor, planted_get(tensor, i), &noise));
        count++;
    }
    return count;
}

#endif
