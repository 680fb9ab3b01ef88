/* SPDX-License-Identifier: MIT */
/*
 * Rules about kernels that do less than the device can: what could be won, from
 * the rows of /roofline, /fusions and /optimizers, as a share of the window.
 *
 *   tf32       products of fp32 on cores for vectors: as far from TF32's roof
 *              as they are from that of fp32, but never faster than the memory
 *   alignment  products of half precision with axes that tensor cores cannot
 *              load: as far from the roof as this trace's others are; without
 *              those that a fused attention does without, if that is told
 *   attention  a softmax between two products of its size: what it takes, and
 *              what else goes through as many elements
 *   fusion     chains of light kernels: all but the longest of each; without
 *              those of such an attention
 *   optimizer  parameters one by one: the gaps between its kernels
 *
 * Each is what remains after the change as far as the trace tells; running the
 * change is the measurement. Constant time for a row, quadratic in the few rows
 * of products for attention.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "trace/trace_flops.h"
#include "verdict/trace_rules.h"

/* Percent of the window that `us` of the device are, or of what the device's
 * events span, where that is longer: rows have all of them, and the host may
 * be through with its steps long before the device. */
static double share_of(const struct tp_trace_case *it, double us)
{
    const struct tp_trace *trace = it->trace;
    double whole = trace->idle.window_us;
    for (size_t i = 0; i < trace->busy.count; i++) {
        if (trace->busy.rows[i].span == TP_BUSY_DEVICE)
            whole = fmax(whole, trace->busy.rows[i].total_us);
    }
    return 100 * us / whole;
}

/* A finding about what could be won, if it is worth one. */
static enum tp_status add_win(const struct tp_trace_case *it, double us,
                              const char *evidence, const char *suggestion,
                              struct tp_error *err)
{
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "time that could be won, % of window",
        .value = share_of(it, us),
        .won = share_of(it, us),
        .limit = it->limits[TP_TRACE_WIN],
        .evidence = evidence,
        .suggestion = suggestion};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

static bool is_worth(const struct tp_trace_case *it, double us)
{
    return us > 0 && share_of(it, us) >= it->limits[TP_TRACE_WIN];
}

/* Whether inputs are not those of the kernels: what could be won is unknown. */
static bool is_wrong(const struct tp_roof_row *row)
{
    return !strcmp(row->doubt, "inputs");
}

static bool is_product(const struct tp_roof_row *row)
{
    return row->what == TP_WORK_GEMM || row->what == TP_WORK_CONVOLUTION;
}

/* What a row could win, added up; and the row that wins most. */
struct win {
    double us, device_us, most;
    const struct tp_roof_row *row;
};

static void add_to(struct win *win, const struct tp_roof_row *row, double us)
{
    if (!(us > 0))
        return;
    win->us += us;
    win->device_us += row->device_us;
    if (us > win->most) {
        win->most = us;
        win->row = row;
    }
}

/* "aten::mm (fp32[1024, 2048], ..), 12 calls, 3.42 ms" */
static const char *describe_row(const struct tp_trace_case *it,
                                const struct tp_roof_row *row)
{
    return tp_judge_text(it->judged,
                         "%s (%s), %" PRId64 " calls, %.2f ms, %s", row->op,
                         row->inputs, row->count, row->device_us / 1e3,
                         tp_judge_kernel(it->judged, row->kernel));
}

/* --- tf32 --------------------------------------------------------------- */

enum tp_status tp_trace_rule_tf32(const struct tp_trace_case *it,
                                  struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const double whole = trace->device.tflops[TP_PRECISION_FP32];
    const double tf32 = trace->device.tflops[TP_PRECISION_TF32];
    struct win win = {0};
    for (size_t i = 0; i < trace->roofline.count && tf32 > 0; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_product(row) || *row->doubt || row->type != TP_PRECISION_FP32 ||
            row->cores != TP_TENSOR_CORES_NO)
            continue;
        const double moving = row->bytes / (trace->device.gbps * 1e3);
        const double left = fmax(row->device_us * whole / tf32,
                                 moving * (double)row->count);
        add_to(&win, row, row->device_us - left);
    }
    if (!is_worth(it, win.us))
        return TP_OK;
    return add_win(
        it, win.us,
        tp_judge_text(it->judged,
                      "products of fp32 take %.2f ms without tensor cores; in "
                      "TF32, whose roof on %s is %.0f instead of %.1f "
                      "TFLOP/s, up to %.2f ms less; most in %s",
                      win.device_us / 1e3, trace->device.name, tf32, whole,
                      win.us / 1e3, describe_row(it, win.row)),
        "torch.set_float32_matmul_precision(\"high\") lets products use TF32 "
        "(10 bits of fraction), torch.backends.cudnn.allow_tf32 convolutions; "
        "or bf16 by autocast", err);
}

/* The product that makes the scores which a softmax takes, or with `after` the
 * one that takes what it gives; NULL without. */
static const struct tp_roof_row *product_of(const struct tp_trace *trace,
                                            const struct tp_roof_row *softmax,
                                            bool after)
{
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        const double wide = after ? row->k : row->n;
        const double deep = after ? row->n : row->k;
        if (row->what == TP_WORK_GEMM && wide == softmax->n && deep < wide &&
            row->batch * row->m * wide == softmax->result &&
            row->count >= softmax->count)
            return row;
    }
    return NULL;
}

static bool is_softmax(const struct tp_roof_row *row)
{
    return row->what == TP_WORK_SOFTMAX && !is_wrong(row) &&
           !strcmp(row->op, "aten::_softmax");
}

/* Whether a product makes the scores of an attention in pieces, or takes them:
 * a fused kernel does without it. */
static bool is_of_attention(const struct tp_trace *trace,
                            const struct tp_roof_row *product)
{
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_softmax(row))
            continue;
        const struct tp_roof_row *before = product_of(trace, row, false);
        const struct tp_roof_row *after = product_of(trace, row, true);
        if (before && after && (product == before || product == after))
            return true;
    }
    return false;
}

/* --- alignment ---------------------------------------------------------- */

/* Elements that 16 bytes hold: what tensor cores load at once. */
static int64_t wanted_alignment(const struct tp_roof_row *row)
{
    switch (row->type) {
    case TP_PRECISION_FP16:
    case TP_PRECISION_BF16:
        return 8;
    case TP_PRECISION_FP8:
    case TP_PRECISION_INT8:
        return 16;
    default:
        return 0;
    }
}

/* How near to the roof products without odd sizes come, by time; half, which is
 * moderate, without such. */
static double usual_roof(const struct tp_trace *trace)
{
    double us = 0, at_roof = 0;
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (row->what != TP_WORK_GEMM || !(row->roof > 0) || *row->doubt ||
            !wanted_alignment(row) || row->alignment < wanted_alignment(row))
            continue;
        us += row->device_us;
        at_roof += row->roof * row->device_us;
    }
    return us > 0 ? fmin(at_roof / us, 1) : 0.5;
}

enum tp_status tp_trace_rule_alignment(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const double usual = usual_roof(trace);
    const bool attention = tp_trace_is_found(it, tp_trace_rule_attention);
    struct win win = {0};
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (row->what == TP_WORK_GEMM && row->roof > 0 && !*row->doubt &&
            row->alignment > 0 && row->alignment < wanted_alignment(row) &&
            !(attention && is_of_attention(trace, row)))
            add_to(&win, row, row->device_us * (1 - row->roof / usual));
    }
    if (!is_worth(it, win.us))
        return TP_OK;
    return add_win(
        it, win.us,
        tp_judge_text(it->judged,
                      "products with axes that are no multiple of %" PRId64
                      " take %.2f ms; as near to the roof as others here "
                      "(%.0f %%) they would take %.2f ms less; most in %s, "
                      "where n is %.0f and k %.0f, at %.0f %% of the roof",
                      wanted_alignment(win.row), win.device_us / 1e3,
                      100 * usual, win.us / 1e3, describe_row(it, win.row),
                      win.row->n, win.row->k, 100 * win.row->roof),
        "make the axes multiples of 8 (fp16, bf16) or 16 (fp8), better of 64: "
        "pad the vocabulary, the sequence or the width of layers", err);
}

/* --- attention ---------------------------------------------------------- */

/* What goes through as many elements: scale, mask, dropout. */
static double beside(const struct tp_trace *trace,
                     const struct tp_roof_row *softmax)
{
    double us = 0;
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (row->what == TP_WORK_POINTWISE && row->result == softmax->result)
            us += row->device_us;
    }
    return us;
}

enum tp_status tp_trace_rule_attention(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    struct win win = {0};
    double products = 0;
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (!is_softmax(row))
            continue;
        const struct tp_roof_row *before = product_of(trace, row, false);
        const struct tp_roof_row *after = product_of(trace, row, true);
        if (!before || !after)
            continue;
        products += before->device_us + after->device_us;
        add_to(&win, row, row->device_us + beside(trace, row));
    }
    if (!is_worth(it, win.us))
        return TP_OK;
    return add_win(
        it, win.us,
        tp_judge_text(it->judged,
                      "attention in pieces: between two products (%.2f ms) the "
                      "scores go through memory; the softmax and what is as "
                      "large take %.2f ms, which a fused kernel has next to "
                      "none of; most in %s",
                      products / 1e3, win.us / 1e3,
                      describe_row(it, win.row)),
        "torch.nn.functional.scaled_dot_product_attention with a fused kernel "
        "(bf16 or fp16, is_causal instead of a mask of its own; in "
        "transformers attn_implementation=\"sdpa\")", err);
}

/* --- fusion ------------------------------------------------------------- */

/* Whether a chain goes through the scores of an attention in pieces, which a
 * fused kernel of that has none of. */
static bool is_of_scores(const struct tp_trace *trace,
                         const struct tp_fusion_row *chain)
{
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        if (is_softmax(row) && row->result == chain->elements &&
            product_of(trace, row, false) && product_of(trace, row, true))
            return true;
    }
    return false;
}

enum tp_status tp_trace_rule_fusion(const struct tp_trace_case *it,
                                    struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const bool attention = tp_trace_is_found(it, tp_trace_rule_attention);
    const struct tp_fusion_row *first = NULL;
    double saved = 0, all = 0;
    int64_t chains = 0;
    for (size_t i = 0; i < trace->fusions.count; i++) {
        const struct tp_fusion_row *row = &trace->fusions.rows[i];
        if (attention && is_of_scores(trace, row))
            continue;
        first = first ? first : row;
        saved += row->saved_us;
        all += row->device_us;
        chains += row->count;
    }
    if (!first || !is_worth(it, saved))
        return TP_OK;
    return add_win(
        it, saved,
        tp_judge_text(it->judged,
                      "%" PRId64 " chains of kernels that follow each other "
                      "with tensors of one size take %.2f ms; one kernel for "
                      "each, as long as its longest, saves up to %.2f ms, if "
                      "each takes what the one before made; most in %s, %"
                      PRId64 " times, of %.3g elements: %.2f of %.2f ms",
                      chains, all / 1e3, saved / 1e3, first->ops, first->count,
                      first->elements, first->saved_us / 1e3,
                      first->device_us / 1e3),
        "torch.compile the part of the model that has them, or a fused kernel "
        "of a library", err);
}

/* --- optimizer ---------------------------------------------------------- */

/* Fewer kernels a step are not worth a change. */
enum { FEW_KERNELS = 50 };

enum tp_status tp_trace_rule_optimizer(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    const struct tp_optimizer_row *worst = NULL;
    for (size_t i = 0; i < it->trace->optimizers.count; i++) {
        const struct tp_optimizer_row *row = &it->trace->optimizers.rows[i];
        if (2 * row->many_tensor_events < row->device_events &&
            row->device_events >= FEW_KERNELS * row->count &&
            (!worst || row->idle_us > worst->idle_us))
            worst = row;
    }
    if (!worst || !is_worth(it, worst->idle_us))
        return TP_OK;
    return add_win(
        it, worst->idle_us,
        tp_judge_text(it->judged,
                      "%s launches %" PRId64 " kernels a step, %.1f us each, "
                      "for one parameter after the other; between them the "
                      "GPU idles %.2f ms in %" PRId64 " step%s",
                      worst->name, worst->device_events / worst->count,
                      worst->device_us / (double)worst->device_events,
                      worst->idle_us / 1e3, worst->count,
                      worst->count == 1 ? "" : "s"),
        "foreach=True or fused=True of torch.optim, or a fused optimizer of a "
        "library: a few kernels for all parameters", err);
}

/* --- notes -------------------------------------------------------------- */

/* Operators that are faster than the device can be, from a hundredth of the
 * time of all. */
static void note_doubts(const struct tp_trace_case *it)
{
    const struct tp_trace *trace = it->trace;
    double us = 0, all = 0;
    size_t rows = 0;
    const struct tp_roof_row *first = NULL;
    for (size_t i = 0; i < trace->roofline.count; i++) {
        const struct tp_roof_row *row = &trace->roofline.rows[i];
        all += row->device_us;
        if (!is_wrong(row))
            continue;
        us += row->device_us;
        rows++;
        first = first ? first : row;
    }
    if (!first || 100 * us < all)
        return;
    tp_judge_note(it->judged,
                  "%s: %zu row%s of /roofline, %.2f ms, %s faster than %s "
                  "can be, most %s (%s) at %.0f %% of the roof: the inputs "
                  "that were recorded are not what the kernels did, or the "
                  "device is another (--gpu, --peak); findings leave %s out",
                  trace->path, rows, rows == 1 ? "" : "s", us / 1e3,
                  rows == 1 ? "is" : "are",
                  *trace->device.name ? trace->device.name : "a device",
                  first->op, first->inputs, 100 * first->roof,
                  rows == 1 ? "it" : "them");
}

enum tp_status tp_trace_rule_no_roof(const struct tp_trace_case *it,
                                     struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    bool any = false;
    (void)err;
    note_doubts(it);
    for (size_t i = 0; i < trace->roofline.count; i++)
        any |= trace->roofline.rows[i].flops > 0;
    if (any && !(trace->device.gbps > 0))
        tp_judge_note(it->judged,
                      "%s: what its device%s%s can do at most is not known; "
                      "--gpu NAME of 'tprof-analyze list gpus' or --peak "
                      "bf16=TFLOP/s --peak bandwidth=GB/s tells it, for the "
                      "shares of /roofline",
                      trace->path, *trace->facts.device_name ? ", " : "",
                      trace->facts.device_name);
    return TP_OK;
}
