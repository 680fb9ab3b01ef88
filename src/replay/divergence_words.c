/* SPDX-License-Identifier: MIT */
#include "replay/divergence_words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/notes.h"
#include "base/text.h"
#include "formats/json/json_python.h"

const char *const tp_divergence_words[TP_DIVERGENCE_VERDICTS] = {
    [TP_DIVERGENCE_EQUAL] = "equal",
    [TP_DIVERGENCE_ROUNDING] = "within rounding",
    [TP_DIVERGENCE_INHERITED] = "inherited",
    [TP_DIVERGENCE_SHARDED] = "sharded",
    [TP_DIVERGENCE_UNKNOWN] = "unknown",
    [TP_DIVERGENCE_LOW_PRECISION] = "low precision",
    [TP_DIVERGENCE_RANDOM] = "random",
    [TP_DIVERGENCE_RECEIVED] = "received",
    [TP_DIVERGENCE_ONLY_A] = "only in A",
    [TP_DIVERGENCE_ONLY_B] = "only in B",
    [TP_DIVERGENCE_ARGUMENTS] = "other arguments",
    [TP_DIVERGENCE_DATA] = "other data",
    [TP_DIVERGENCE_DIFFERS] = "differs",
    [TP_DIVERGENCE_UNBOUNDED] = "beyond rounding",
    [TP_DIVERGENCE_ADDED_A] = "added by A",
    [TP_DIVERGENCE_ADDED_B] = "added by B",
    [TP_DIVERGENCE_ADDED_BOTH] = "added by both"};

/* --- names ---------------------------------------------------------------- */

/* The place of a word in a list joined by ','; -1: it is not in it. */
static int place_in(const char *list, const char *word, size_t length)
{
    int place = 0;
    for (const char *at = list; *at; place++) {
        const size_t size = strcspn(at, ",");
        if (size == length && !strncmp(at, word, length))
            return place;
        at += size + (at[size] == ',');
    }
    return -1;
}

/* The name that the signature has for a positional argument. */
static const char *signature_name(const char *signature, const char *argument,
                                  size_t *length)
{
    int64_t number = tp_digits_value(argument, strlen(argument));
    *length = 0;
    if (number < 0)
        return "";
    for (; number > 0 && *signature; number--) {
        signature += strcspn(signature, ",");
        signature += *signature == ',';
    }
    *length = strcspn(signature, ",=*");
    return signature;
}

bool tp_divergence_is_parameter(const struct tp_operator *operator,
                                const struct tp_dump_item * item)
{
    size_t length = strlen(item->argument);
    const char *name = item->argument;
    if (item->place == TP_MSPROBE_PARAMETERS)
        return true;
    if (!operator|| !* operator->parameters)
        return false;
    if (item->place == TP_MSPROBE_INPUT)
        name = signature_name(operator->signature, item->argument, &length);
    return length > 0 && place_in(operator->parameters, name, length) >= 0;
}

int64_t tp_divergence_layer(const struct tp_dump_place *place,
                            const struct tp_dump_call *call)
{
    const struct tp_dump_node *node = tp_dump_node_of(place, call->key);
    const char *name = node && *node->parent ? node->parent : call->key;
    struct tp_msprobe_name parsed;
    return tp_msprobe_name_parse(name, strlen(name), &parsed) &&
                   parsed.kind == TP_MSPROBE_MODULE
               ? tp_msprobe_layer(&parsed)
               : -1;
}

const struct tp_dump_item *tp_divergence_coarsest(
    const struct tp_dump_place *place, const struct tp_dump_call *call)
{
    const struct tp_dump_item *found = NULL;
    double own = 0;
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        if (item->kind != TP_DUMP_TENSOR || item->element >= TP_DTYPE_COUNT ||
            !(tp_dtype_rounding(item->element) > own))
            continue;
        own = tp_dtype_rounding(item->element);
        found = item;
    }
    return found;
}

/* "bfloat16", of "torch.bfloat16". */
static const char *plain_dtype(const struct tp_dump_item *item)
{
    static const char prefix[] = "torch.";
    const size_t length = sizeof prefix - 1;
    return item->dtype + (strncmp(item->dtype, prefix, length) ? 0 : length);
}

const char *tp_divergence_dtype(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                struct tp_arena *arena)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        if (item->place != TP_MSPROBE_OUTPUT || item->kind != TP_DUMP_TENSOR)
            continue;
        const char *name = plain_dtype(item);
        return tp_arena_text(arena, name, strlen(name));
    }
    return "";
}

/* --- evidence ------------------------------------------------------------- */

static void set_evidence(struct tp_divergence_row *row, const char *text)
{
    row->evidence = text ? text : "";
}

void tp_divergence_say(struct tp_divergence_row *row, struct tp_arena *arena,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_evidence(row, tp_arena_vformat(arena, format, args));
    va_end(args);
}

/* "argument 1", "argument eps", "parameter weight". */
static void add_argument(struct tp_text *text, const struct tp_dump_item *item)
{
    tp_text_add(text, "%s ",
                item->place == TP_MSPROBE_PARAMETERS ? "parameter"
                                                     : "argument");
    tp_text_printable(text, item->argument);
}

static void keep_text(struct tp_divergence_row *row, struct tp_text *text,
                      struct tp_arena *arena)
{
    set_evidence(row, tp_arena_take(arena, text));
}

/* " holds NaN in A, Inf in B". */
static void add_nonfinite(struct tp_text *text, const struct tp_item_diff *diff)
{
    const char *a = diff->nan_a ? "NaN" : diff->inf_a ? "Inf" : NULL;
    const char *b = diff->nan_b ? "NaN" : diff->inf_b ? "Inf" : NULL;
    tp_text_add(text, " holds ");
    if (a)
        tp_text_add(text, "%s in A", a);
    if (b)
        tp_text_add(text, "%s%s in B", a ? ", " : "", b);
}

void tp_divergence_say_data(struct tp_divergence_row *row,
                            const struct tp_dump_item *item,
                            const struct tp_item_diff *diff,
                            struct tp_arena *arena)
{
    struct tp_text text = {0};
    add_argument(&text, item);
    if (diff->nan_a || diff->nan_b || diff->inf_a || diff->inf_b)
        add_nonfinite(&text, diff);
    else if (diff->size > 0)
        tp_text_add(&text, " differs by %.3g of its L2 norm",
                    sqrt(diff->error / diff->size));
    else
        tp_text_add(&text, " differs");
    tp_text_add(&text, ", and no earlier call made it");
    keep_text(row, &text, arena);
}

static void add_value(struct tp_text *text, const struct tp_dump_item *item)
{
    struct tp_text value = {0};
    if (!item)
        tp_text_add(&value, "none");
    else if (item->kind == TP_DUMP_TENSOR)
        tp_text_add(&value, "a tensor");
    else if (item->kind == TP_DUMP_NOTHING || !item->value)
        tp_text_add(&value, "not recorded");
    else
        tp_json_python(item->value, &value);
    tp_text_printable_cut(text, tp_text_get(&value), 60);
    text->failed |= value.failed;
    tp_text_clear(&value);
}

void tp_divergence_say_argument(struct tp_divergence_row *row,
                                const struct tp_dump_item *a,
                                const struct tp_dump_item *b,
                                struct tp_arena *arena)
{
    struct tp_text text = {0};
    add_argument(&text, a);
    tp_text_add(&text, " is ");
    add_value(&text, a);
    tp_text_add(&text, " in A, ");
    add_value(&text, b);
    tp_text_add(&text, " in B");
    keep_text(row, &text, arena);
}

static void add_shape(struct tp_text *text, const struct tp_dump_item *item)
{
    tp_text_add(text, "[");
    for (int i = 0; i < item->dims; i++)
        tp_text_add(text, "%s%" PRId64, i ? ", " : "", item->shape[i]);
    tp_text_add(text, "]");
}

void tp_divergence_say_shape(struct tp_divergence_row *row,
                             const struct tp_dump_item *a,
                             const struct tp_dump_item *b,
                             struct tp_arena *arena)
{
    struct tp_text text = {0};
    if (a->place == TP_MSPROBE_OUTPUT)
        tp_text_add(&text, "result %s", a->argument);
    else
        add_argument(&text, a);
    tp_text_add(&text, " has shape ");
    add_shape(&text, a);
    tp_text_add(&text, " in A, ");
    add_shape(&text, b);
    tp_text_add(&text, " in B");
    keep_text(row, &text, arena);
}

static void add_excess(struct tp_text *text, const char *run,
                       const struct tp_replay_verdict *verdict)
{
    tp_text_add(text,
                "%s: result %zu[%" PRId64 "] is %.9g, its arguments "
                "give %.9g +- %.3g",
                run, verdict->result, verdict->at, verdict->dumped,
                verdict->computed, verdict->limit);
    if (verdict->excess < 1e6) /* of a limit that is not next to nothing */
        tp_text_add(text, " (%.3g times the bound)", verdict->excess);
}

void tp_divergence_say_added(struct tp_divergence_row *row,
                             enum tp_divergence_verdict verdict,
                             const struct tp_replay_verdict *a,
                             const struct tp_replay_verdict *b,
                             struct tp_arena *arena)
{
    struct tp_text text = {0};
    if (verdict != TP_DIVERGENCE_ADDED_B)
        add_excess(&text, "A", a);
    if (verdict == TP_DIVERGENCE_ADDED_BOTH)
        tp_text_add(&text, "; ");
    if (verdict != TP_DIVERGENCE_ADDED_A)
        add_excess(&text, "B", b);
    keep_text(row, &text, arena);
}

void tp_divergence_say_low(struct tp_divergence_row *row, const char *run,
                           const struct tp_dump_item *coarsest,
                           const struct tp_replay_verdict *verdict,
                           struct tp_arena *arena)
{
    struct tp_text text = {0};
    add_excess(&text, run, verdict);
    if (coarsest) {
        tp_text_add(&text, ", computed in ");
        tp_text_printable(&text, plain_dtype(coarsest));
        tp_text_add(&text, " throughout: no fp32 accumulation");
    }
    keep_text(row, &text, arena);
}

void tp_divergence_say_unjudged(struct tp_divergence_row *row,
                                const struct tp_replay_verdict *verdict,
                                struct tp_arena *arena)
{
    struct tp_text text = {0};
    tp_text_add(&text, "not replayed: ");
    tp_text_printable(&text, verdict->reason);
    tp_text_add(&text, "; bound from dtype and sizes only");
    keep_text(row, &text, arena);
}

/* --- the conclusion ------------------------------------------------------- */

static void add_row(struct tp_text *text, const struct tp_divergence_row *row)
{
    static const char *const words[TP_DIVERGENCE_VERDICTS] = {
        [TP_DIVERGENCE_RANDOM] = "gave other random numbers",
        [TP_DIVERGENCE_RECEIVED] =
            "gave other results from equal arguments: another rank sent others",
        [TP_DIVERGENCE_ONLY_A] = "is called by run A only",
        [TP_DIVERGENCE_ONLY_B] = "is called by run B only",
        [TP_DIVERGENCE_ARGUMENTS] = "was given other arguments",
        [TP_DIVERGENCE_DATA] = "was given other data",
        [TP_DIVERGENCE_DIFFERS] =
            "gave other results from equal arguments, by how much is not known",
        [TP_DIVERGENCE_UNBOUNDED] =
            "gave other results from equal arguments than rounding explains",
        [TP_DIVERGENCE_ADDED_A] = "of run A adds error of its own",
        [TP_DIVERGENCE_ADDED_B] = "of run B adds error of its own",
        [TP_DIVERGENCE_ADDED_BOTH] = "adds error of its own in both runs"};
    tp_text_printable(text, row->api_name);
    if (row->layer >= 0)
        tp_text_add(text, " (layer %" PRId64 ")", row->layer);
    tp_text_add(text, " %s", words[row->verdict]);
    if (*row->evidence)
        tp_text_add(text, ": %s", row->evidence);
    tp_text_add(text, ".");
}

/* How many rows before an end say that the runs are equal so far; those that
 * say nothing count. */
static size_t equal_rows(const struct tp_divergence *divergence, size_t end)
{
    size_t i = 0;
    while (i < end && (divergence->rows[i].verdict == TP_DIVERGENCE_EQUAL ||
                       divergence->rows[i].verdict == TP_DIVERGENCE_UNKNOWN))
        i++;
    return i;
}

static void add_equal(struct tp_text *text,
                      const struct tp_divergence *divergence)
{
    const uint64_t *n = divergence->verdicts;
    const size_t equal = equal_rows(divergence, divergence->count);
    if (divergence->count == 0) {
        tp_text_add(text, "The runs have no call in common.");
    } else if (n[TP_DIVERGENCE_UNKNOWN] == divergence->count) {
        tp_text_add(text, "No tensors of the runs can be compared.");
    } else if (equal == divergence->count) {
        tp_text_add(text, "The runs are equal to the last bit.");
    } else {
        tp_text_add(text, "The runs are equal within rounding: no call adds "
                          "more than its dtype explains");
        tp_text_add(text, "; the first difference is in ");
        tp_text_printable(text, divergence->rows[equal].api_name);
        tp_text_add(text, ".");
    }
}

/* Where sharded tensors begin, if they do before `end`. */
static void add_sharded(struct tp_text *text,
                        const struct tp_divergence *divergence, size_t end)
{
    for (size_t i = 0; i < end; i++)
        if (divergence->rows[i].verdict == TP_DIVERGENCE_SHARDED) {
            tp_text_add(text, " From ");
            tp_text_printable(text, divergence->rows[i].api_name);
            tp_text_add(text,
                        " on, one run has parts of the other's tensors "
                        "(sharded): %" PRIu64 " calls.",
                        divergence->verdicts[TP_DIVERGENCE_SHARDED]);
            return;
        }
}

static void add_unknown(struct tp_text *text,
                        const struct tp_divergence *divergence)
{
    const uint64_t unknown = divergence->verdicts[TP_DIVERGENCE_UNKNOWN];
    if (unknown > 0 && unknown < divergence->count)
        tp_text_add(text, " Calls whose tensors cannot be read: %" PRIu64 ".",
                    unknown);
}

/* What only every step in the tensors' dtype explains. */
static void add_low(struct tp_text *text,
                    const struct tp_divergence *divergence)
{
    const uint64_t count = divergence->verdicts[TP_DIVERGENCE_LOW_PRECISION];
    if (count == 0)
        return;
    const struct tp_divergence_row *row = &divergence->rows[divergence->low];
    tp_text_add(text,
                " Results that are explained if every step is rounded to the "
                "tensors' dtype: %" PRIu64 " call%s, the first ",
                count, count == 1 ? "" : "s");
    tp_text_printable(text, row->api_name);
    tp_text_add(text, " (%s).", row->evidence);
}

/* How equal the runs are before the first divergence. */
static void add_before(struct tp_text *text,
                       const struct tp_divergence *divergence, size_t first)
{
    const bool exact = equal_rows(divergence, first) == first;
    const char *what =
        first == 1 ? "The call before it is" : "All calls before it are";
    for (size_t i = 0; i < first; i++)
        if (divergence->rows[i].verdict == TP_DIVERGENCE_UNKNOWN)
            what = "What can be compared before it is";
    if (first > 0)
        tp_text_add(text, " %s equal %s.", what,
                    exact ? "to the last bit" : "within rounding");
}

const char *tp_divergence_sentence(struct tp_divergence *divergence)
{
    struct tp_text text = {0};
    const size_t first = divergence->first, added = divergence->added;
    if (first == SIZE_MAX) {
        add_equal(&text, divergence);
    } else {
        tp_text_add(&text, "First divergence: ");
        add_row(&text, &divergence->rows[first]);
        add_before(&text, divergence, first);
    }
    add_sharded(&text, divergence,
                first == SIZE_MAX ? divergence->count : first);
    if (added != SIZE_MAX && added != first) {
        tp_text_add(&text, " First error added: ");
        add_row(&text, &divergence->rows[added]);
    }
    if (divergence->misfiled)
        tp_text_add(&text, " Later calls of both runs were given the result of "
                           "the other run, none what this file has: it may "
                           "not be what the call returned; 'tprof-analyze "
                           "dump' checks the files.");
    add_low(&text, divergence);
    add_unknown(&text, divergence);
    return tp_arena_take(&divergence->arena, &text);
}
