/* SPDX-License-Identifier: MIT */
/*
 * Rules look at the rows of one call: those with ".output." in their names are
 * results, all others arguments. What a rule reads is what msprobe prints: a
 * relative error of "inf" counts for the test of a result, but not among the
 * arguments, of which only percentages do; a metric that is a word counts
 * nowhere. Calls that make no values, or whose values are not defined, are not
 * judged. The alternative, one number for all, would have to be explained to
 * everybody who has used msprobe's. Cost: a few looks at each row.
 */
#include "compare/compare_judge.h"

#include <math.h>
#include <string.h>

const char *const tp_compare_messages[TP_COMPARE_MESSAGES] = {
    [TP_SAYS_NONFINITE] = "error: There is nan/inf/-inf in the maximum or "
                          "minimum value of NPU.",
    [TP_SAYS_NORM] =
        "error: The NormRelativeErr of output is greater than 0.5.",
    [TP_SAYS_THOUSANDTH] = "error: The input/parameters of One Thousandth Err "
                           "Ratio > 0.9 while the output < 0.6.",
    [TP_SAYS_GRAD] =
        "error: The Required_Grad of NPU and Bench are inconsistent",
    [TP_SAYS_VALUE] =
        "error: The scalar parameters of NPU and Bench are inconsistent.",
    [TP_SAYS_DTYPE] = "error: The dtype of NPU and Bench are inconsistent.",
    [TP_SAYS_SHAPE] = "error: The shape of NPU and Bench are inconsistent.",
    [TP_SAYS_NORM_GROWS] = "warning: The norm relative error of output is 10 "
                           "times that of input.",
    [TP_SAYS_COSINE] = "warning: The input/parameters of Cosine > 0.9, and "
                       "input/parameters - output > 0.1",
    [TP_SAYS_MD5] =
        "error: The CRC-32 value of NPU differs from that of the bench.",
    [TP_SAYS_MD5_ABSENT] =
        "warning: The parameter of NPU does not match the bench."};

/* The rows of one call. */
struct call {
    struct tp_compare_pair *pair;
    struct tp_compare_line *rows;
    size_t count;
    bool judged;    /* any row                                             */
    bool arguments; /* arguments, too                                      */
};

static void say(struct tp_compare_line *row, enum tp_compare_message message)
{
    const enum tp_compare_result result = tp_compare_messages[message][0] == 'w'
                                              ? TP_COMPARE_WARNING
                                              : TP_COMPARE_ERROR;
    row->messages |= 1u << message;
    if (result > row->result)
        row->result = result;
}

static bool is_output(const struct call *call,
                      const struct tp_compare_line *row)
{
    return tp_compare_is_output(tp_compare_row_a(call->pair, row));
}

static struct tp_compare_line *first_output(const struct call *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (is_output(call, &call->rows[i]))
            return &call->rows[i];
    return NULL;
}

/* --- one row at a time ---------------------------------------------------- */

bool tp_compare_is_nonfinite(const struct tp_compare_entry *entry)
{
    bool found = false;
    for (int i = TP_DUMP_MAX; i <= TP_DUMP_MIN; i++)
        found |= entry->stats[i].kind == TP_COMPARE_NAN ||
                 entry->stats[i].kind == TP_COMPARE_INF ||
                 entry->stats[i].kind == TP_COMPARE_NEGATIVE_INF;
    return found;
}

/* Whether a dtype is that of a value of Python. */
static bool is_value(const struct tp_compare_entry *entry)
{
    return strstr(entry->dtype, "class") != NULL;
}

static bool same_value(const struct tp_compare_value *a,
                       const struct tp_compare_value *b)
{
    return a->number == b->number || !strcmp(a->text, b->text);
}

static void judge_words(const struct call *call, struct tp_compare_line *row)
{
    const struct tp_compare_entry *a = tp_compare_row_a(call->pair, row);
    const struct tp_compare_entry *b = tp_compare_row_b(call->pair, row);
    if (tp_compare_is_nonfinite(a) && !(b && tp_compare_is_nonfinite(b)))
        say(row, TP_SAYS_NONFINITE);
    if (!b)
        return;
    if (strcmp(a->grad, b->grad) != 0)
        say(row, TP_SAYS_GRAD);
    if (!is_output(call, row) && is_value(a) && is_value(b) &&
        !strcmp(a->shape, "[]") &&
        !same_value(&a->stats[TP_DUMP_MAX], &b->stats[TP_DUMP_MAX]))
        say(row, TP_SAYS_VALUE);
    if (strcmp(a->dtype, b->dtype) != 0 && !strstr(b->name, "qkv") &&
        !strstr(b->name, "gate_up"))
        say(row, TP_SAYS_DTYPE);
    if (strcmp(a->shape, b->shape) != 0)
        say(row, TP_SAYS_SHAPE);
}

static void judge_md5(const struct call *call, struct tp_compare_line *row)
{
    const struct tp_compare_entry *b = tp_compare_row_b(call->pair, row);
    const char *of_a = tp_compare_row_a(call->pair, row)->md5;
    const char *of_b = b ? b->md5 : "N/A";
    if (!strcmp(of_a, of_b))
        return;
    say(row, !strcmp(of_a, "N/A") || !strcmp(of_b, "N/A") ? TP_SAYS_MD5_ABSENT
                                                          : TP_SAYS_MD5);
}

/* --- arguments against results -------------------------------------------- */

/* The largest relative error of norms that is a percentage. */
static double worst_norm(const struct call *call, bool outputs)
{
    double worst = 0;
    for (size_t i = 0; i < call->count; i++) {
        const double error = call->rows[i].shifts[TP_DUMP_NORM].error;
        if (is_output(call, &call->rows[i]) == outputs && isfinite(error))
            worst = fmax(worst, error);
    }
    return worst;
}

static void judge_norms(const struct call *call)
{
    const double in = worst_norm(call, false), out = worst_norm(call, true);
    struct tp_compare_line *first = first_output(call);
    for (size_t i = 0; i < call->count && in < 0.1; i++)
        if (is_output(call, &call->rows[i]) &&
            call->rows[i].shifts[TP_DUMP_NORM].error > 0.5)
            say(&call->rows[i], TP_SAYS_NORM);
    if (first && (in == 0 ? out > 0.1 : out / in > 10))
        say(first, TP_SAYS_NORM_GROWS);
}

/* The smallest of a metric that is a number. */
static double least(const struct call *call, bool outputs,
                    enum tp_msprobe_metric metric)
{
    double found = 1;
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_msprobe_value *number = &call->rows[i].metrics[metric];
        if (is_output(call, &call->rows[i]) == outputs &&
            number->reason == TP_MSPROBE_NUMBER)
            found = fmin(found, number->value);
    }
    return found;
}

static void judge_elements(const struct call *call)
{
    struct tp_compare_line *first = first_output(call);
    if (!first)
        return;
    if (least(call, false, TP_MSPROBE_ONE_THOUSANDTH) > 0.9 &&
        least(call, true, TP_MSPROBE_ONE_THOUSANDTH) < 0.1)
        say(first, TP_SAYS_THOUSANDTH);
    const double in = least(call, false, TP_MSPROBE_COSINE);
    if (in > 0.9 && in - least(call, true, TP_MSPROBE_COSINE) > 0.1)
        say(first, TP_SAYS_COSINE);
}

/* --- calls ---------------------------------------------------------------- */

/* Whether the second component of a name is one of some words. */
static bool is_api(const char *name, const char *const *words)
{
    const char *dot = strchr(name, '.');
    const size_t length = dot ? strcspn(dot + 1, ".") : 0;
    for (; dot && *words; words++)
        if (strlen(*words) == length && !strncmp(dot + 1, *words, length))
            return true;
    return false;
}

bool tp_compare_is_judged(const char *name)
{
    static const char *const never[] = {"empty",         "empty_like",
                                        "numpy",         "to",
                                        "__setitem__",   "empty_with_format",
                                        "new_empty",     "new_empty_strided",
                                        "empty_strided", NULL};
    return !is_api(name, never);
}

/* What is judged of a call; its first argument has its name. */
static void choose(struct call *call)
{
    static const char *const results[] = {
        "_reduce_scatter_base", "_all_gather_base", "all_to_all_single",
        "batch_isend_irecv", NULL};
    const char *name = "";
    for (size_t i = 0; i < call->count && !*name; i++)
        if (!is_output(call, &call->rows[i]))
            name = tp_compare_row_a(call->pair, &call->rows[i])->name;
    call->judged = tp_compare_is_judged(name);
    call->arguments = call->judged && !is_api(name, results);
}

static void judge_call(struct call *call, enum tp_compare_mode mode)
{
    choose(call);
    for (size_t i = 0; i < call->count; i++) {
        struct tp_compare_line *row = &call->rows[i];
        if (!call->judged || (!call->arguments && !is_output(call, row)))
            continue;
        if (mode == TP_COMPARE_MD5)
            judge_md5(call, row);
        else
            judge_words(call, row);
    }
    if (call->arguments && mode == TP_COMPARE_STATISTICS)
        judge_norms(call);
    if (call->arguments && mode == TP_COMPARE_TENSOR)
        judge_elements(call);
}

void tp_compare_judge(struct tp_compare_pair *pair, enum tp_compare_mode mode)
{
    for (size_t i = 0, end; i < pair->row_count; i = end) {
        const size_t of_call = tp_compare_row_a(pair, &pair->rows[i])->call;
        for (end = i; end < pair->row_count &&
                      tp_compare_row_a(pair, &pair->rows[end])->call == of_call;
             end++) {
            pair->rows[end].result = TP_COMPARE_PASS;
            pair->rows[end].messages = 0;
        }
        struct call call = {pair, &pair->rows[i], end - i, true, true};
        judge_call(&call, mode);
    }
}

void tp_compare_messages_text(const struct tp_compare_line *row,
                              struct tp_text *text)
{
    const char *comma = "";
    tp_text_add(text, "[");
    for (int i = 0; i < TP_COMPARE_MESSAGES; i++) {
        if (!(row->messages & 1u << i))
            continue;
        tp_text_add(text, "%s\"%s\"", comma, tp_compare_messages[i]);
        comma = ", ";
    }
    tp_text_add(text, "]");
}
