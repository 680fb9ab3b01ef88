/* SPDX-License-Identifier: MIT */
/*
 * FLOP and bytes of operators, from the sizes and types of what they were
 * given: every input is read once and every result written once, a multiply
 * and an add are two. A kernel that keeps nothing in its caches moves more,
 * one whose inputs are still in the L2 cache less.
 *
 * Counting is that of TraceLens's perf model, also where one could argue: a
 * copy counts an operation for each element, a reduction writes one element, a
 * normalisation moves six values for each channel, a convolution's bias is
 * nothing. What differs, as TraceLens is wrong there: gradients that
 * output_mask does not ask for are not counted, nor is the output of grouped
 * transposed convolutions too small.
 *
 * Reading counters of the device would be exact, but no trace has them.
 */
#include "trace/trace_flops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tp_work_model {
    const char *op; /* without "aten::", unless it has another space */
    struct tp_work (*work)(const struct tp_work_model *model,
                           const struct tp_op_args *args);
    enum tp_work_kind kind;
    bool whole;
    int first; /* the input it is about: x, A, the query               */
    int other; /* weight of a normalisation; a flag: causal, mask; -1  */
    double per_element; /* FLOP                                        */
};

const char *tp_work_word(enum tp_work_kind kind)
{
    static const char *const words[TP_WORK_KINDS] = {
        [TP_WORK_GEMM] = "gemm",
        [TP_WORK_CONVOLUTION] = "convolution",
        [TP_WORK_ATTENTION] = "attention",
        [TP_WORK_NORM] = "normalisation",
        [TP_WORK_SOFTMAX] = "softmax",
        [TP_WORK_POINTWISE] = "pointwise",
        [TP_WORK_REDUCTION] = "reduction",
        [TP_WORK_GATHER] = "gather",
        [TP_WORK_COPY] = "copy",
        [TP_WORK_OTHER] = "other",
    };
    return words[kind];
}

static struct tp_work unknown(enum tp_work_kind kind)
{
    return (struct tp_work){.kind = kind, .flops = NAN, .bytes = NAN};
}

/* The length of an axis, from the end if negative. */
static double axis(const struct tp_op_arg *arg, int64_t at)
{
    if (at < 0)
        at += arg->axes;
    return at >= 0 && at < arg->axes && at < TP_OP_AXES_MAX
               ? (double)arg->dims[at]
               : NAN;
}

/* Bytes that are not known make a product that is not. */
static double bytes_each(const struct tp_op_arg *arg)
{
    return arg->bytes > 0 ? arg->bytes : NAN;
}

/* --- products ----------------------------------------------------------- */

static struct tp_work product(struct tp_work work, double bytes,
                              double result_bytes)
{
    const double out = work.batch * work.m * work.n;
    work.kind = TP_WORK_GEMM;
    work.matrix = true;
    work.flops = 2 * out * work.k;
    work.bytes =
        work.batch * (work.m * work.k + work.k * work.n) * bytes +
        out * result_bytes;
    work.result = out;
    return work;
}

/* mm, bmm, and with a bias in front addmm, baddbmm. Where inner axes differ, as
 * below, nothing is known. */
static struct tp_work gemm(const struct tp_work_model *model,
                           const struct tp_op_args *args)
{
    const struct tp_op_arg *a = &args->args[model->first], *b = a + 1;
    const double each = bytes_each(a);
    struct tp_work work = {.precision = a->precision,
                           .batch = a->axes == 3 ? axis(a, 0) : 1,
                           .m = axis(a, -2),
                           .n = axis(b, -1),
                           .k = axis(a, -1)};
    if (a->axes < 2 || b->axes != a->axes || axis(b, -2) != work.k)
        return unknown(TP_WORK_GEMM);
    work = product(work, each, each);
    if (model->first == 1) {
        work.flops += work.result;
        work.bytes += (a->axes == 3 ? args->args[0].elements : work.n) * each;
    }
    return work;
}

/* Bytes of an element of c10::ScalarType, of those products come in. */
static double scalar_type_bytes(const struct tp_op_word *value)
{
    int64_t type;
    if (!tp_op_integers(value, &type, 1))
        return 2;
    return type == 6 ? 4 : type >= 23 && type <= 26 ? 1 : 2;
}

static struct tp_work scaled_mm(const struct tp_work_model *model,
                                const struct tp_op_args *args)
{
    const struct tp_op_arg *a = &args->args[0], *b = a + 1;
    const struct tp_work work = {.precision = a->precision,
                                 .batch = 1,
                                 .m = axis(a, 0),
                                 .n = axis(b, 1),
                                 .k = axis(a, 1)};
    if (a->axes != 2 || b->axes != 2 || axis(b, 0) != work.k)
        return unknown(TP_WORK_GEMM);
    return product(work, bytes_each(a),
                   scalar_type_bytes(&args->args[model->other].value));
}

/* Rows of a against the matrix of the group that each belongs to: a [rows, k],
 * b [groups, k, n]; the sum over groups is that of one product. */
static struct tp_work grouped_mm(const struct tp_work_model *model,
                                 const struct tp_op_args *args)
{
    const struct tp_op_arg *a = &args->args[0], *b = a + 1;
    struct tp_work work = {.precision = a->precision,
                           .batch = 1,
                           .m = axis(a, 0),
                           .n = axis(b, -1),
                           .k = axis(a, 1)};
    (void)model;
    if (a->axes != 2 || b->axes != 3 || axis(b, 1) != work.k)
        return unknown(TP_WORK_GEMM);
    work = product(work, bytes_each(a), a->bytes == 1 ? 2 : bytes_each(a));
    work.bytes += (b->elements - work.k * work.n) * bytes_each(b);
    return work;
}

/* x [.., k] by w [n, k]. */
static struct tp_work linear(const struct tp_work_model *model,
                             const struct tp_op_args *args)
{
    const struct tp_op_arg *x = &args->args[0], *w = x + 1;
    struct tp_work work = {.precision = x->precision,
                           .batch = 1,
                           .m = x->elements / axis(x, -1),
                           .n = axis(w, 0),
                           .k = axis(x, -1)};
    (void)model;
    if (x->axes < 1 || w->axes != 2 || axis(w, 1) != work.k)
        return unknown(TP_WORK_GEMM);
    return product(work, bytes_each(x), bytes_each(x));
}

/* Of two matrices, or stacks of as many. */
static struct tp_work matmul(const struct tp_work_model *model,
                             const struct tp_op_args *args)
{
    const struct tp_op_arg *a = &args->args[0], *b = a + 1;
    struct tp_work work = {.precision = a->precision,
                           .batch = 1,
                           .m = a->elements / axis(a, -1),
                           .n = axis(b, -1),
                           .k = axis(a, -1)};
    (void)model;
    if (a->axes < 2 || b->axes < 2 || axis(b, -2) != work.k ||
        (b->axes > 2 && b->elements / work.n / work.k != work.m / axis(a, -2)))
        return unknown(TP_WORK_GEMM);
    if (b->axes > 2) {
        work.batch = work.m / axis(a, -2);
        work.m = axis(a, -2);
    }
    return product(work, bytes_each(a), bytes_each(a));
}

/* --- convolutions ------------------------------------------------------- */

/* A list of the operator for one axis; one element stands for all. */
static int64_t setting(const struct tp_op_arg *arg, int64_t at, int64_t absent)
{
    int64_t numbers[TP_OP_AXES_MAX];
    const size_t count =
        tp_op_integers(&arg->value, numbers, TP_OP_AXES_MAX);
    if (count == 0)
        return absent;
    return numbers[(size_t)at < count ? (size_t)at : 0];
}

/* Elements that come out: of x [batch, in, ..] and w [out, in / groups, ..],
 * transposed [in, out / groups, ..]. `list` is the input with the strides. */
static double convolved(const struct tp_op_arg *x, const struct tp_op_arg *w,
                        const struct tp_op_arg *list, bool transposed)
{
    double out = axis(x, 0) *
                 (transposed ? axis(w, 1) * (double)setting(&list[5], 0, 1)
                             : axis(w, 0));
    for (int64_t i = 0; i + 2 < x->axes; i++) {
        const double stride = (double)setting(&list[0], i, 1);
        const double padding = (double)setting(&list[1], i, 0);
        const double dilation = (double)setting(&list[2], i, 1);
        const double in = axis(x, i + 2), width = axis(w, i + 2);
        out *= transposed
                   ? (in - 1) * stride - 2 * padding + dilation * (width - 1) +
                         (double)setting(&list[4], i, 0) + 1
                   : floor((in + 2 * padding - dilation * (width - 1) - 1) /
                           stride) + 1;
    }
    return out;
}

/* 1 if a list such as "[True, False]" says so at a place, or says nothing. */
static int asked_for(const struct tp_op_word *mask, int at)
{
    const char *next = mask->text, *end = mask->text + mask->length;
    if (!mask->length)
        return 1;
    for (next++; at > 0 && next < end; at--) {
        while (next < end && *next != ',')
            next++;
        next += next < end;
        while (next < end && *next == ' ')
            next++;
    }
    return next < end && *next == 'T';
}

static struct tp_work convolution(const struct tp_work_model *model,
                                  const struct tp_op_args *args)
{
    const bool backward = model->first == 1;
    const struct tp_op_arg *x = &args->args[model->first], *w = x + 1;
    const struct tp_op_arg *list = w + 2; /* behind the bias, or its size */
    const struct tp_op_word *mask = &list[6].value;
    /* without the value of the stride the result may be a quarter as large */
    if (x->axes < 3 || x->axes > 5 || w->axes != x->axes ||
        !list[0].value.length)
        return unknown(TP_WORK_CONVOLUTION);
    const bool transposed = tp_op_is(&list[3].value, "True");
    const double out = convolved(x, w, list, transposed);
    const double once = 2 * (transposed ? x->elements : out) * w->elements /
                        axis(w, 0);
    const double times =
        backward ? asked_for(mask, 0) + asked_for(mask, 1) : 1;
    return (struct tp_work){
        .kind = TP_WORK_CONVOLUTION,
        .precision = x->precision,
        .matrix = true,
        .flops = times * once,
        .bytes =
            times * (x->elements + w->elements + out) * bytes_each(x),
        .result = backward ? 0 : out};
}

/* --- attention ---------------------------------------------------------- */

/* What of the scores a causal mask leaves. */
static double causal_part(double queries, double keys)
{
    if (queries == keys)
        return 0.5;
    return queries < keys ? queries / 2 / keys : 1 - keys / 2 / queries;
}

/* q [batch, heads, n, d], or with heads_last [batch, n, heads, d]. */
static struct tp_work attention_of(const struct tp_op_args *args, int first,
                                   int flag, bool heads_last, bool backward)
{
    const struct tp_op_arg *q = &args->args[first], *k = q + 1, *v = q + 2;
    if (q->axes != 4 || k->axes != 4 || v->axes != 4)
        return unknown(TP_WORK_ATTENTION);
    const int at = heads_last ? 1 : 2;
    const double queries = axis(q, at), keys = axis(k, at);
    const double scores = q->elements / axis(q, 3) * keys;
    const double part = tp_op_is(&args->args[flag].value, "True")
                            ? causal_part(queries, keys)
                            : 1;
    const double out = q->elements / axis(q, 3) * axis(v, 3);
    /* forward: q k' and p v; backward: q k' again, p' o, o v', s k, s' q */
    const double width = backward ? 3 * axis(q, 3) + 2 * axis(v, 3)
                                  : axis(q, 3) + axis(v, 3);
    const double inputs = q->elements + k->elements + v->elements;
    return (struct tp_work){
        .kind = TP_WORK_ATTENTION,
        .precision = q->precision,
        .matrix = true,
        .flops = 2 * scores * width * part,
        .bytes = (backward ? 2 * inputs + out : inputs + out) * bytes_each(q),
        .result = backward ? 0 : out};
}

static struct tp_work attention(const struct tp_work_model *model,
                                const struct tp_op_args *args)
{
    return attention_of(args, model->first, model->other,
                        strncmp(model->op, "_scaled", 7) != 0,
                        model->first == 1);
}

/* --- normalisation, softmax --------------------------------------------- */

/* What is normalised together or scaled with one number: the weight's
 * elements, else the channels or the list of normalised axes. */
static double channels(const struct tp_work_model *model,
                       const struct tp_op_args *args)
{
    const struct tp_op_arg *weight = &args->args[model->other];
    const struct tp_op_arg *x = &args->args[model->first];
    int64_t axes[TP_OP_AXES_MAX];
    double product = 1;
    if (weight->axes > 0)
        return weight->elements;
    const size_t count =
        tp_op_integers(&x[1].value, axes, TP_OP_AXES_MAX);
    if (!strstr(model->op, "layer") && !strstr(model->op, "rms"))
        return axis(x, 1);
    for (size_t i = 0; i < count; i++)
        product *= (double)axes[i];
    return product;
}

static struct tp_work norm(const struct tp_work_model *model,
                           const struct tp_op_args *args)
{
    const struct tp_op_arg *x = &args->args[model->first];
    const double wide = channels(model, args), n = x->elements;
    const bool backward = strstr(model->op, "backward") != NULL;
    if (x->axes < 1)
        return unknown(TP_WORK_NORM);
    return (struct tp_work){
        .kind = TP_WORK_NORM,
        .precision = x->precision,
        .flops = model->per_element * n + 6 * wide,
        .bytes = ((backward ? 3 : 2) * n + 6 * wide) * bytes_each(x),
        .result = n};
}

/* Reads each of `first` tensors like x and writes one. */
static struct tp_work softmax(const struct tp_work_model *model,
                              const struct tp_op_args *args)
{
    const struct tp_op_arg *x = &args->args[0];
    const double tensors = strstr(model->op, "backward") ? 3 : 2;
    if (x->axes < 1)
        return unknown(TP_WORK_SOFTMAX);
    return (struct tp_work){.kind = TP_WORK_SOFTMAX,
                            .precision = x->precision,
                            .flops = model->per_element * x->elements,
                            .bytes = tensors * x->elements * bytes_each(x),
                            .n = axis(x, -1),
                            .result = x->elements};
}

/* --- element by element ------------------------------------------------- */

/* Elements of what all tensors make together, axis by axis from the last; an
 * axis is as long as the one that is not 1. Of more axes than are kept: those
 * of the largest tensor. */
static double broadcast(const struct tp_op_args *args)
{
    double product = 1, largest = 0;
    bool all_kept = true;
    for (size_t i = 0; i < args->count; i++) {
        all_kept &= args->args[i].axes <= TP_OP_AXES_MAX;
        if (args->args[i].axes >= 0)
            largest = fmax(largest, args->args[i].elements);
    }
    for (int64_t at = 1; at <= TP_OP_AXES_MAX && all_kept; at++) {
        double length = 1;
        for (size_t i = 0; i < args->count; i++) {
            const struct tp_op_arg *arg = &args->args[i];
            if (arg->axes >= at && axis(arg, -at) != 1)
                length = axis(arg, -at);
        }
        product *= length;
    }
    return all_kept ? product : largest;
}

/* Where the tensor of out= stands, which is written only; others have none that
 * could be told from what they read. */
static size_t place_of_out(const char *op)
{
    static const struct {
        const char *op;
        size_t at;
    } places[] = {{"mul", 2}, {"div", 2}, {"pow", 2}, {"add", 3}, {"sub", 3}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!strcmp(op, places[i].op))
            return places[i].at;
    }
    return TP_OP_ARGS_MAX;
}

/* Every tensor is read; what comes out has the type of the widest that has
 * axes, of the first where it is overwritten, or one byte where `first` is 1, a
 * comparison. */
static struct tp_work pointwise(const struct tp_work_model *model,
                                const struct tp_op_args *args)
{
    struct tp_work work = {.kind = TP_WORK_POINTWISE};
    double wide = 0, number = 0;
    for (size_t i = 0; i < args->count; i++) {
        const struct tp_op_arg *arg = &args->args[i];
        if (arg->axes < 0)
            continue;
        if (i != place_of_out(model->op))
            work.bytes += arg->elements * bytes_each(arg);
        if (arg->axes > 0 && arg->bytes > wide) {
            wide = arg->bytes;
            work.precision = arg->precision;
        }
        number = arg->bytes > number ? arg->bytes : number;
    }
    if (number == 0)
        return unknown(TP_WORK_POINTWISE);
    work.result = broadcast(args);
    work.flops = work.result;
    if (model->op[strlen(model->op) - 1] == '_') /* in place */
        wide = bytes_each(&args->args[0]);
    work.bytes += work.result *
                  (model->first == 1 ? 1 : wide == 0 ? number : wide);
    return work;
}

/* Nothing is read: fill_, zero_. */
static struct tp_work fill(const struct tp_work_model *model,
                           const struct tp_op_args *args)
{
    const struct tp_op_arg *x = &args->args[0];
    if (x->axes < 0)
        return unknown(model->kind);
    return (struct tp_work){.kind = model->kind,
                            .precision = x->precision,
                            .bytes = x->elements * bytes_each(x),
                            .result = x->elements};
}

/* To the first from the second. */
static struct tp_work copy(const struct tp_work_model *model,
                           const struct tp_op_args *args)
{
    const struct tp_op_arg *to = &args->args[0], *from = to + 1;
    (void)model;
    if (to->axes < 0)
        return unknown(TP_WORK_COPY);
    return (struct tp_work){
        .kind = TP_WORK_COPY,
        .precision = to->precision,
        .flops = to->elements,
        .bytes = to->elements * (bytes_each(to) + (from->bytes > 0
                                                       ? from->bytes
                                                       : bytes_each(to))),
        .result = to->elements};
}

static struct tp_work reduction(const struct tp_work_model *model,
                                const struct tp_op_args *args)
{
    const struct tp_op_arg *x = &args->args[0];
    const bool running = model->other > 0; /* as many come out as went in */
    if (x->axes < 0)
        return unknown(TP_WORK_REDUCTION);
    return (struct tp_work){
        .kind = TP_WORK_REDUCTION,
        .precision = x->precision,
        .flops = x->elements,
        .bytes = (x->elements + (running ? x->elements : 1)) * bytes_each(x),
        .result = running ? x->elements : 0};
}

/* Rows of a table by their numbers, which are input `other`. */
static struct tp_work gather(const struct tp_work_model *model,
                             const struct tp_op_args *args)
{
    const struct tp_op_arg *table = &args->args[0];
    const struct tp_op_arg *numbers = &args->args[model->other];
    int64_t dim = 0;
    if (table->axes < 1 || numbers->axes < 0)
        return unknown(TP_WORK_GATHER);
    if (model->other == 2)
        tp_op_integers(&args->args[1].value, &dim, 1);
    const double rows = numbers->elements;
    const double out = rows * table->elements / axis(table, dim);
    return (struct tp_work){
        .kind = TP_WORK_GATHER,
        .precision = table->precision,
        .bytes = 2 * out * bytes_each(table) + rows * bytes_each(numbers),
        .result = out};
}

/* --- the operators ------------------------------------------------------ */

#define POINT(name, whole) \
    {name, pointwise, TP_WORK_POINTWISE, whole, 0, -1, 1}
#define COMPARE(name) {name, pointwise, TP_WORK_POINTWISE, false, 1, -1, 1}
#define NORM(name, x, weight, flops) \
    {name, norm, TP_WORK_NORM, true, x, weight, flops}
#define REDUCE(name, whole) {name, reduction, TP_WORK_REDUCTION, whole, 0, 0, 1}
#define ATTENTION(name, q, causal) \
    {name, attention, TP_WORK_ATTENTION, true, q, causal, 0}
#define GEMM(name, model, first, whole) \
    {name, model, TP_WORK_GEMM, whole, first, 6, 2}

static const struct tp_work_model models[] = {
    GEMM("mm", gemm, 0, true),
    GEMM("addmm", gemm, 1, true),
    GEMM("bmm", gemm, 0, true),
    GEMM("baddbmm", gemm, 1, true),
    GEMM("linear", linear, 0, false),
    GEMM("matmul", matmul, 0, false),
    GEMM("_scaled_mm", scaled_mm, 0, true),
    GEMM("_grouped_mm", grouped_mm, 0, true),
    GEMM("_scaled_grouped_mm", grouped_mm, 0, true),
    {"convolution", convolution, TP_WORK_CONVOLUTION, true, 0, -1, 2},
    {"convolution_backward", convolution, TP_WORK_CONVOLUTION, true, 1, -1, 2},
    ATTENTION("_scaled_dot_product_flash_attention", 0, 4),
    ATTENTION("_scaled_dot_product_flash_attention_backward", 1, 11),
    ATTENTION("_scaled_dot_product_efficient_attention", 0, 6),
    ATTENTION("_scaled_dot_product_efficient_attention_backward", 1, 11),
    ATTENTION("_scaled_dot_product_cudnn_attention", 0, 6),
    ATTENTION("_scaled_dot_product_cudnn_attention_backward", 1, 14),
    ATTENTION("_scaled_dot_product_fused_attention_overrideable", 0, 5),
    ATTENTION("_flash_attention_forward", 0, 8),
    ATTENTION("flash_attn::_flash_attn_forward", 0, 5),
    ATTENTION("flash_attn::_flash_attn_backward", 1, 11),
    NORM("layer_norm", 0, 2, 5),
    NORM("native_layer_norm", 0, 2, 5),
    NORM("batch_norm", 0, 1, 5),
    NORM("native_batch_norm", 0, 1, 5),
    NORM("cudnn_batch_norm", 0, 1, 5),
    NORM("miopen_batch_norm", 0, 1, 5),
    NORM("group_norm", 0, 2, 5),
    NORM("native_group_norm", 0, 1, 5),
    NORM("instance_norm", 0, 1, 5),
    NORM("_fused_rms_norm", 0, 2, 5),
    NORM("native_layer_norm_backward", 1, 5, 8),
    NORM("native_batch_norm_backward", 1, 2, 8),
    NORM("cudnn_batch_norm_backward", 0, 2, 8),
    NORM("miopen_batch_norm_backward", 0, 2, 8),
    NORM("native_group_norm_backward", 1, 4, 8),
    NORM("_fused_rms_norm_backward", 1, 4, 8),
    {"_softmax", softmax, TP_WORK_SOFTMAX, false, 0, -1, 3},
    {"_log_softmax", softmax, TP_WORK_SOFTMAX, false, 0, -1, 3},
    {"_softmax_backward_data", softmax, TP_WORK_SOFTMAX, false, 0, -1, 4},
    {"_log_softmax_backward_data", softmax, TP_WORK_SOFTMAX, false, 0, -1, 4},
    REDUCE("sum", true), REDUCE("mean", true), REDUCE("max", true),
    REDUCE("min", true), REDUCE("norm", true),
    REDUCE("linalg_vector_norm", false), REDUCE("std", true),
    REDUCE("var", true), REDUCE("logsumexp", true), REDUCE("amin", true),
    REDUCE("amax", true), REDUCE("prod", false), REDUCE("any", false),
    REDUCE("all", false), REDUCE("argmax", false), REDUCE("argmin", false),
    {"cumsum", reduction, TP_WORK_REDUCTION, true, 0, 1, 1},
    {"cumprod", reduction, TP_WORK_REDUCTION, true, 0, 1, 1},
    {"embedding", gather, TP_WORK_GATHER, false, 0, 1, 0},
    {"index_select", gather, TP_WORK_GATHER, false, 0, 2, 0},
    {"copy_", copy, TP_WORK_COPY, true, 0, -1, 1},
    {"copy", copy, TP_WORK_COPY, true, 0, -1, 1},
    {"fill_", fill, TP_WORK_POINTWISE, false, 0, -1, 0},
    {"zero_", fill, TP_WORK_POINTWISE, false, 0, -1, 0},
    POINT("add", true), POINT("add_", true), POINT("mul", true),
    POINT("mul_", true), POINT("div", true), POINT("div_", true),
    POINT("sub", false), POINT("sub_", false), POINT("rsub", false),
    POINT("pow", true), POINT("pow_", false), POINT("exp", false),
    POINT("exp_", false), POINT("log", false), POINT("log_", false),
    POINT("sqrt", false), POINT("sqrt_", false), POINT("rsqrt", true),
    POINT("abs", false), POINT("neg", true), POINT("reciprocal", false),
    POINT("sin", false), POINT("cos", false), POINT("erf", false),
    POINT("tanh", false), POINT("sigmoid", true), POINT("relu", false),
    POINT("relu_", false), POINT("gelu", false), POINT("silu", true),
    POINT("silu_", false), POINT("mish", false), POINT("elu", false),
    POINT("leaky_relu", false), POINT("hardtanh", false),
    POINT("hardswish", false), POINT("softplus", false),
    POINT("clamp", false), POINT("clamp_", false), POINT("clamp_min", true),
    POINT("clamp_min_", true), POINT("clamp_max", true),
    POINT("clamp_max_", true), POINT("where", false),
    POINT("masked_fill", false), POINT("masked_fill_", false),
    POINT("addcmul", false), POINT("addcmul_", false),
    POINT("addcdiv", false), POINT("addcdiv_", false), POINT("lerp", false),
    POINT("lerp_", false), POINT("maximum", false), POINT("minimum", false),
    POINT("sigmoid_backward", true), POINT("threshold_backward", true),
    POINT("tanh_backward", false), POINT("gelu_backward", false),
    POINT("silu_backward", false), POINT("leaky_relu_backward", false),
    POINT("hardtanh_backward", false), POINT("hardswish_backward", false),
    POINT("native_dropout_backward", false), POINT("bernoulli_", false),
    POINT("tril", false), POINT("triu", false), POINT("floor", false),
    POINT("round", false), POINT("sign", false),
    COMPARE("eq"), COMPARE("ne"), COMPARE("lt"), COMPARE("le"), COMPARE("gt"),
    COMPARE("ge"), COMPARE("isnan"), COMPARE("logical_and"),
    COMPARE("logical_or"), COMPARE("logical_not"),
};

const struct tp_work_model *tp_work_find(const char *op)
{
    static const char space[] = "aten::";
    const char *name =
        strncmp(op, space, sizeof space - 1) ? op : op + sizeof space - 1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!strcmp(models[i].op, name) &&
            (name != op || strstr(name, "::") != NULL))
            return &models[i];
    }
    return NULL;
}

bool tp_work_is_whole(const struct tp_work_model *model)
{
    return model->whole;
}

struct tp_work tp_work_of(const struct tp_work_model *model,
                          const struct tp_op_args *args)
{
    struct tp_work work = model ? model->work(model, args)
                                : unknown(TP_WORK_OTHER);
    if (!(work.flops >= 0) || !(work.bytes >= 0)) {
        work.flops = work.flops >= 0 ? work.flops : NAN;
        work.bytes = work.bytes >= 0 ? work.bytes : NAN;
    }
    return work;
}
