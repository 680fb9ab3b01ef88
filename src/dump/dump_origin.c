/* SPDX-License-Identifier: MIT */
#include "dump/dump_origin.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "dump/dump_damage.h"
#include "dump/dump_health.h"

/* Ranges of so many inputs are told. */
enum { INPUTS_TOLD = 4 };

/* An origin that stands for itself. */
struct source {
    const struct tp_dump_origin *origin;
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
    struct tp_dump_damage damage; /* set where it is told                  */
};

/* --- words ------------------------------------------------------------------
 */

void tp_dump_item_range(const struct tp_dump_item *item, struct tp_text *text)
{
    const char *dtype = item->dtype;
    if (!strncmp(dtype, "torch.", 6))
        dtype += 6;
    tp_text_printable(text, dtype);
    if (item->has_shape)
        tp_text_add(text, " [");
    for (int i = 0; i < item->dims; i++)
        tp_text_add(text, "%s%" PRId64, i ? ", " : "", item->shape[i]);
    if (item->has_shape)
        tp_text_add(text, "]");
    if (item->stats[TP_DUMP_MIN].kind != TP_JSON_NULL &&
        item->stats[TP_DUMP_MAX].kind != TP_JSON_NULL &&
        !isnan(item->stats[TP_DUMP_MAX].real))
        tp_text_add(text, " from %.6g to %.6g", item->stats[TP_DUMP_MIN].real,
                    item->stats[TP_DUMP_MAX].real);
}

/* "input.1 (weight)" */
static void add_item(const struct source *source,
                     const struct tp_dump_item *item, struct tp_text *text)
{
    struct tp_text name = {0};
    tp_dump_item_name(source->call, item, "kwargs", &name);
    const char *words = tp_text_get(&name) + strlen(source->call->key);
    tp_text_printable(text, *words == '.' ? words + 1 : words);
    struct tp_msprobe_name parsed;
    if (tp_msprobe_name_parse(tp_text_get(&name), name.length, &parsed) &&
        tp_msprobe_argument_name(&parsed))
        tp_text_add(text, " (%s)", tp_msprobe_argument_name(&parsed));
    text->failed |= name.failed;
    tp_text_clear(&name);
}

static void add_inputs(const struct source *source, struct tp_text *text)
{
    size_t told = 0, more = 0;
    for (size_t i = 0; i < source->call->count; i++) {
        const struct tp_dump_item *item =
            &source->place->items[source->call->first + i];
        if (item->kind != TP_DUMP_TENSOR ||
            tp_dump_item_is_result(source->call, item))
            continue;
        if (told == INPUTS_TOLD) {
            more++;
            continue;
        }
        tp_text_add(text, told++ ? "; " : ": ");
        add_item(source, item, text);
        tp_text_add(text, " ");
        tp_dump_item_range(item, text);
    }
    if (more)
        tp_text_add(text, "; and %zu more", more);
}

/* What is not finite of zero, and which argument that is. */
static const struct pole {
    const char *apis[8];
    const char *argument, *keyword;
    const char *words;
} poles[] = {
    {{"div", "div_", "__truediv__", "__itruediv__", "true_divide", "divide",
      "divide_", NULL},
     "1",
     "other",
     "divides by"},
    {{"addcdiv", "addcdiv_", NULL}, "2", "tensor2", "divides by"},
    {{"__rtruediv__", "reciprocal", "reciprocal_", NULL},
     "0",
     "input",
     "divides by"},
    {{"rsqrt", "rsqrt_", NULL}, "0", "input", "divides by the root of"},
    {{"log", "log2", "log10", "log_", NULL},
     "0",
     "input",
     "takes the logarithm of"},
};

/* Whether a zero is known to be in an item: Max and Min are elements of it. */
static bool has_zero(const struct tp_dump_item *item)
{
    const struct tp_dump_number *max = &item->stats[TP_DUMP_MAX];
    const struct tp_dump_number *min = &item->stats[TP_DUMP_MIN];
    if (item->kind == TP_DUMP_VALUE)
        return item->value && tp_json_is_number(item->value) &&
               item->value->real == 0;
    return item->kind == TP_DUMP_TENSOR &&
           ((max->kind != TP_JSON_NULL && max->real == 0) ||
            (min->kind != TP_JSON_NULL && min->real == 0));
}

/* The zero that a call made NaN or Inf of; NULL: none is known. */
static const struct tp_dump_item *zero_of(const struct source *source,
                                          const struct pole **pole)
{
    const struct tp_dump_call *call = source->call;
    const struct tp_dump_item *items = source->place->items + call->first;
    if (source->origin->kind != TP_ORIGIN_CALL || !call->known ||
        call->name.direction == TP_BACKWARD)
        return NULL;
    for (size_t i = 0; i < sizeof poles / sizeof *poles; i++) {
        *pole = &poles[i];
        for (size_t k = 0; k < call->count; k++) {
            const char *word = items[k].place == TP_MSPROBE_KWARGS
                                   ? poles[i].keyword
                                   : poles[i].argument;
            if (tp_dump_call_is_any(call, poles[i].apis) &&
                !tp_dump_item_is_result(call, &items[k]) &&
                !strcmp(items[k].argument, word) && has_zero(&items[k]))
                return &items[k];
        }
    }
    return NULL;
}

/* ". It divides by input.2, which has a zero" */
static void add_zero(const struct source *source, struct tp_text *text)
{
    const struct pole *pole;
    const struct tp_dump_item *zero = zero_of(source, &pole);
    if (!zero)
        return;
    tp_text_add(text, ". It %s ", pole->words);
    add_item(source, zero, text);
    tp_text_add(text, zero->kind == TP_DUMP_TENSOR ? ", which has a zero"
                                                   : ", which is zero");
}

/* "Torch.log.0.forward gave NaN in output.0; what it was given is finite. " */
static void add_what(const struct source *source, struct tp_text *text)
{
    static const char *const verbs[] = {[TP_ORIGIN_CALL] = "gave",
                                        [TP_ORIGIN_MASKED] = "gave",
                                        [TP_ORIGIN_GIVEN] = "was given",
                                        [TP_ORIGIN_RECEIVED] = "brought"};
    const struct tp_dump_origin *origin = source->origin;
    const struct tp_dump_item *item = &source->place->items[origin->item];
    tp_text_printable(text, source->call->key);
    tp_text_add(text, " %s %s in ", verbs[origin->kind],
                tp_health_words(origin->health));
    add_item(source, item, text);
    switch (origin->kind) {
    case TP_ORIGIN_CALL:
        tp_text_add(text, origin->silent
                              ? "; no input is known to have any, but some "
                                "have no statistics"
                              : "; what it was given is finite");
        add_inputs(source, text);
        add_zero(source, text);
        break;
    case TP_ORIGIN_MASKED:
        tp_text_add(text, "; its inputs have only the infinities of a mask");
        add_inputs(source, text);
        break;
    case TP_ORIGIN_GIVEN:
        tp_text_add(text, " (");
        tp_dump_item_range(item, text);
        tp_text_add(text, "), which no call of this step gave it");
        break;
    case TP_ORIGIN_RECEIVED:
        tp_text_add(text, "; what this rank gave is finite, and not all ranks "
                          "that took part are in the dump");
    }
    tp_text_add(text, ". ");
}

/* "Its NaN are in columns 4 to 7 of 64 along axis 1; likely ... " */
static void add_where(const struct tp_dump_damage *damage, struct tp_text *text)
{
    const char *words = tp_text_get(&damage->words);
    if (damage->read && *words)
        tp_text_add(text, "%c%s%s%s. ", *words == 'i' ? 'I' : 'A', words + 1,
                    *damage->cause ? "; " : "", damage->cause);
    else if (damage->unread.length)
        tp_text_add(text, "Which elements these are is %s. ",
                    tp_text_get(&damage->unread));
}

/* Whether there are communications before and after the call. */
static void add_phase(const struct source *source, struct tp_text *text)
{
    const struct tp_dump_place *place = source->place;
    const size_t at = (size_t)(source->call - place->calls);
    bool before = false, after = false;
    for (size_t i = 0; i < place->call_count; i++) {
        const bool one = tp_dump_call_is_communication(&place->calls[i]);
        before |= one && i < at;
        after |= one && i > at;
    }
    if (tp_dump_call_is_communication(source->call))
        tp_text_add(text, "It is a communication. ");
    else if (before && after)
        tp_text_add(text, "It is between the rank's communications. ");
    else if (before || after)
        tp_text_add(text, "It is %s all communication of the rank. ",
                    after ? "before" : "after");
}

/* What has it from the call; `again`: other calls made such themselves. */
static void add_followers(const struct tp_dump *dump,
                          const struct source *source, size_t again,
                          struct tp_text *text)
{
    const struct tp_dump_origin *origin = source->origin;
    const size_t count = origin->followers;
    if (again)
        tp_text_add(text, "The same happens in %zu other call%s of it. ", again,
                    again == 1 ? "" : "s");
    if (!count) {
        tp_text_add(text, again ? "No call has it from the first of them. "
                                : "No other call has it. ");
        return;
    }
    tp_text_add(text, "%zu %scall%s it%s%s ", count, again ? "" : "other ",
                count == 1 ? " has" : "s have",
                again ? " from the first of them" : "",
                count == 1 ? ":" : ", the first is");
    const struct tp_dump_place *place = &dump->places[origin->follower_place];
    tp_text_printable(text, place->calls[origin->follower].key);
    if (place != source->place && place->rank >= 0)
        tp_text_add(text, " of rank %" PRId64, place->rank);
    tp_text_add(text, ". ");
}

/* What helps, by what the call computes. */
static const struct remedy {
    const char *apis[8];
    const char *text;
} remedies[] = {
    {{"log", "log2", "log10", "log1p", "log_", NULL},
     "A logarithm is -Inf at zero and NaN below: clamp its argument, or add an "
     "epsilon to it."},
    {{"sqrt", "rsqrt", "pow", "sqrt_", "rsqrt_", "__pow__", NULL},
     "Roots and powers are NaN of negative numbers and Inf of zero when the "
     "exponent is negative: clamp the argument, or add an epsilon to it."},
    {{"div", "div_", "__truediv__", "__rtruediv__", "__itruediv__",
      "reciprocal", "true_divide", NULL},
     "Look for zeros in the divisor, and add an epsilon to it."},
    {{"exp", "expm1", "exp_", "logsumexp", "cosh", "sinh", NULL},
     "The argument is too large for the range of the dtype: subtract its "
     "maximum first, or compute in float32."},
    {{"linear", "matmul", "bmm", "mm", "addmm", "einsum", "__matmul__", NULL},
     "Sums of products left the range of the dtype: float16 ends at 65504; "
     "compute in bfloat16 or float32, or scale the inputs."},
};

/* Half the smallest number of float16, 2^-24, and less becomes zero. */
static const char *remedy_of_zero(const struct tp_dump_item *zero)
{
    return zero->element == TP_FLOAT16
               ? "Add an epsilon that float16 holds: Adam's eps of 1e-8 is 0 "
                 "in it, where the smallest number is 6e-8; or compute this "
                 "in float32."
               : "Add an epsilon to it, or leave out what is zero.";
}

static const char *remedy_of(const struct source *source)
{
    const struct pole *pole;
    const struct tp_dump_item *zero = zero_of(source, &pole);
    if (zero)
        return remedy_of_zero(zero);
    switch (source->origin->kind) {
    case TP_ORIGIN_MASKED:
        return "Where a whole row is masked a softmax has nothing to share "
               "out: leave one position unmasked, or set such rows to zero.";
    case TP_ORIGIN_GIVEN:
        return "Look at where it is loaded or written: the batch, the "
               "checkpoint, the optimizer's last step, or an operator that "
               "msprobe does not record.";
    case TP_ORIGIN_RECEIVED:
        return "Dump the other ranks of the group, too.";
    case TP_ORIGIN_CALL:
        break;
    }
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (tp_dump_call_is_any(source->call, remedies[i].apis))
            return remedies[i].text;
    return "Look at the ranges of its inputs, and at the line that called it.";
}

/* --- origins of one kind -----------------------------------------------------
 */

static int compare_parts(struct tp_msprobe_part a, struct tp_msprobe_part b)
{
    size_t shared = a.length < b.length ? a.length : b.length;
    int result = memcmp(a.at, b.at, shared);
    return result ? result : tp_order_size(a.length, b.length);
}

/* By what they are: origins that compare as equal are one finding. */
static int compare_kinds(const struct source *a, const struct source *b)
{
    const struct tp_msprobe_name *x = &a->call->name, *y = &b->call->name;
    int result = tp_order_int64(a->origin->kind, b->origin->kind);
    if (result == 0)
        result = tp_order_int64(a->call->known, b->call->known);
    if (result || !a->call->known)
        return result ? result : strcmp(a->call->key, b->call->key);
    result = compare_parts(x->type, y->type);
    if (result == 0)
        result = compare_parts(x->path, y->path);
    return result ? result : tp_order_int64(x->direction, y->direction);
}

static int compare_sources(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    int result = compare_kinds(a, b);
    if (result == 0)
        result = tp_order_int64(a->place->step, b->place->step);
    if (result == 0)
        result = tp_order_size(a->origin->call, b->origin->call);
    return result ? result : tp_order_size(a->origin->place, b->origin->place);
}

/* What began before the step of a source. */
static bool has_earlier(const struct source *sources, size_t count,
                        const struct source *one)
{
    bool earlier = false;
    for (size_t i = 0; i < count; i++)
        earlier |= sources[i].place->step < one->place->step;
    return earlier;
}

static enum tp_status find_where(struct tp_readers *readers,
                                 struct source *source, struct tp_error *err)
{
    const struct tp_dump_item *item =
        &source->place->items[source->origin->item];
    return tp_dump_damage_nonfinite(readers, item, &source->damage, err);
}

static enum tp_status add_finding(const struct tp_dump *dump,
                                  const struct source *source, bool earlier,
                                  size_t again,
                                  struct tp_dump_findings *findings,
                                  struct tp_error *err)
{
    const struct tp_dump_origin *origin = source->origin;
    const bool outside = origin->kind == TP_ORIGIN_RECEIVED ||
                         (origin->kind == TP_ORIGIN_GIVEN && earlier);
    struct tp_dump_finding *finding;
    struct tp_text text = {0};
    enum tp_status status =
        tp_dump_finding_add(findings, TP_CHECK_NONFINITE,
                            outside ? TP_SEVERITY_MEDIUM : TP_SEVERITY_HIGH,
                            source->place, &finding, err);
    if (status != TP_OK)
        return status;
    add_what(source, &text);
    add_where(&source->damage, &text);
    if (earlier)
        tp_text_add(&text, "An earlier step has NaN or Inf, too. ");
    add_followers(dump, source, again, &text);
    add_phase(source, &text);
    size_t line = text.length;
    tp_text_add(&text, "Called in ");
    size_t head = text.length;
    tp_dump_call_line(source->place, source->call, &text);
    size_t end = text.length;
    if (end == head) /* not known: nothing but what was said before */
        for (end = line; end > 0 && tp_text_get(&text)[end - 1] == ' ';)
            end--;
    finding->order = (int64_t)origin->call;
    finding->name = tp_dump_finding_text(findings, "%s", source->call->key);
    finding->expected = "finite";
    finding->found = tp_health_words(origin->health);
    finding->evidence =
        tp_dump_finding_text(findings, "%.*s", (int)end, tp_text_get(&text));
    finding->suggestion = remedy_of(source);
    findings->arena.failed |= text.failed;
    tp_text_clear(&text);
    return text.failed ? tp_fail_memory(err) : TP_OK;
}

/* Those that stand for themselves, by what they are; how many. */
static size_t sort_sources(const struct tp_dump *dump,
                           const struct tp_dump_anomalies *anomalies,
                           struct source *sources)
{
    size_t count = 0;
    for (size_t i = 0; i < anomalies->origin_count; i++) {
        const struct tp_dump_origin *origin = &anomalies->origins[i];
        const struct tp_dump_place *place = &dump->places[origin->place];
        if (origin->same == TP_NO_ORIGIN)
            sources[count++] =
                (struct source){.origin = origin,
                                .place = place,
                                .call = &place->calls[origin->call]};
    }
    qsort(sources, count, sizeof *sources, compare_sources);
    return count;
}

enum tp_status tp_dump_origins_find(const struct tp_dump *dump,
                                    const struct tp_dump_anomalies *anomalies,
                                    struct tp_pool *pool,
                                    const volatile sig_atomic_t *stop,
                                    struct tp_dump_findings *findings,
                                    struct tp_error *err)
{
    struct tp_readers readers = {.count = 0};
    struct source *sources =
        calloc(anomalies->origin_count + 1, sizeof *sources);
    enum tp_status status = sources ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK && pool)
        status = tp_readers_init(&readers, pool, err);
    readers.stop = stop;
    const size_t count = sources ? sort_sources(dump, anomalies, sources) : 0;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < count && !compare_kinds(&sources[i], &sources[end]);)
            end++;
        if (pool)
            status = find_where(&readers, &sources[i], err);
        if (status == TP_OK)
            status = add_finding(dump, &sources[i],
                                 has_earlier(sources, count, &sources[i]),
                                 end - i - 1, findings, err);
        tp_dump_damage_clear(&sources[i].damage);
    }
    tp_readers_clear(&readers);
    free(sources);
    return status;
}
