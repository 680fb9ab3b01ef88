/* SPDX-License-Identifier: MIT */
/*
 * An input whose contents no earlier tensor has is compared with the earlier
 * result that shares most samples with it (dump_content.h). If at least nine
 * tenths of their elements are equal, bit by bit, it is that result, and
 * something changed the rest of it on the way: unless a call that writes in
 * place was between the two, or the change is what a clamp does. Of a weight
 * that no call made, an earlier reading of it stands for the result. Stale are
 * inputs that have the contents of the step before, where their producer's
 * result in that step went, although the producer gave something else now;
 * repeated are results of linear algebra that are equal although what they
 * were computed from is not. Pointers are not in a dump, so that nothing can
 * be said of memory itself; and to compare every input with every result would
 * be quadratic. Cost: a fingerprint of each tensor, one comparison of two for
 * each input that nearly is a result, which in a healthy dump are few.
 */
#include "dump/dump_flow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_content.h"
#include "dump/dump_damage.h"
#include "dump/dump_pair.h"

#define NONE ((size_t)-1)

/* The state of an audit. */
struct audit {
    struct tp_dump *dump;
    struct tp_dump_flow *flow;
    struct tp_dump_findings *findings;
    const struct tp_contents *now;
    const struct tp_contents *before; /* the step before; NULL: none       */
    struct tp_readers readers;
};

/* A tensor of a place. */
struct spot {
    const struct tp_contents *contents;
    size_t item;
};

static const struct tp_dump_item *item_of(struct spot spot)
{
    return &spot.contents->place->items[spot.item];
}

static const struct tp_dump_print *print_of(struct spot spot)
{
    return &spot.contents->prints[spot.item];
}

static size_t order_of(struct spot spot)
{
    return spot.contents->call_of[spot.item];
}

static const struct tp_dump_call *call_of(struct spot spot)
{
    return &spot.contents->place->calls[order_of(spot)];
}

static bool is_result(struct spot spot)
{
    return tp_dump_item_is_result(call_of(spot), item_of(spot));
}

/* --- rows
 * --------------------------------------------------------------------- */

static const char *name_of(struct audit *audit, struct spot spot)
{
    struct tp_text text = {0};
    tp_dump_item_name(call_of(spot), item_of(spot), "kwargs", &text);
    return tp_arena_words(&audit->flow->arena, &text);
}

static enum tp_status add_row(struct audit *audit, const char *kind,
                              struct spot from, struct spot to,
                              struct tp_dump_flow_row **row,
                              struct tp_error *err)
{
    struct tp_dump_flow *flow = audit->flow;
    enum tp_status status = tp_grow(&flow->rows, &flow->capacity,
                                    flow->count + 1, sizeof *flow->rows, err);
    if (status != TP_OK)
        return status;
    *row = &flow->rows[flow->count++];
    **row = (struct tp_dump_flow_row){.step = to.contents->place->step,
                                      .rank = to.contents->place->rank,
                                      .kind = kind,
                                      .producer = name_of(audit, from),
                                      .producer_order = (int64_t)order_of(from),
                                      .consumer = name_of(audit, to),
                                      .consumer_order = (int64_t)order_of(to),
                                      .numel = print_of(to)->numel,
                                      .differing = -1,
                                      .first = -1,
                                      .last = -1,
                                      .first_byte = -1,
                                      .last_byte = -1,
                                      .damage = ""};
    return TP_OK;
}

/* What is wrong with a tensor: the kind of its row, and why. */
static enum tp_status add_finding(struct audit *audit, enum tp_severity level,
                                  struct spot to, const char *found,
                                  const char *evidence, struct tp_error *err)
{
    const enum tp_dump_check_id check =
        strcmp(found, "changed") ? TP_CHECK_REPEATED : TP_CHECK_FLOW;
    struct tp_dump_finding *finding;
    struct tp_text line = {0};
    enum tp_status status = tp_dump_finding_add(
        audit->findings, check, level, to.contents->place, &finding, err);
    if (status != TP_OK)
        return status;
    tp_dump_call_line(to.contents->place, call_of(to), &line);
    audit->findings->arena.failed |= line.failed;
    finding->order = (int64_t)order_of(to);
    finding->name =
        tp_dump_finding_text(audit->findings, "%s", name_of(audit, to));
    finding->found = found;
    finding->evidence = tp_dump_finding_text(
        audit->findings, "%s%s%s", evidence, line.length ? " Called in " : "",
        tp_text_get(&line));
    finding->suggestion =
        check == TP_CHECK_FLOW
            ? "Something wrote into this memory while it was in use: a kernel "
              "that runs past its buffer, a buffer that was handed out twice, "
              "a copy that nobody waited for; or an operator that msprobe does "
              "not record, such as copy_ or a write through a view."
            : "A buffer was used before it was written again: a kernel that "
              "did not run, a copy that nobody waited for, a cache that was "
              "not renewed.";
    tp_text_clear(&line);
    return TP_OK;
}

/* A tensor whose contents should have been replaced: its row, and why. */
static enum tp_status add_old(struct audit *audit, const char *kind,
                              struct spot from, struct spot to,
                              const char *evidence, struct tp_error *err)
{
    struct tp_dump_flow_row *row;
    enum tp_status status = add_row(audit, kind, from, to, &row, err);
    return status == TP_OK
               ? add_finding(audit, TP_SEVERITY_MEDIUM, to, kind, evidence, err)
               : status;
}

/* --- changed
 * ------------------------------------------------------------------ */

/* Whether no tensor before it in its place has the contents of an input. */
static bool is_new(struct spot spot)
{
    size_t first;
    size_t end = tp_contents_equal(spot.contents, print_of(spot), &first);
    return first < end && spot.contents->entries[first].item == spot.item;
}

/* A call that writes in place, between the two: whether one wrote into this
 * tensor; `smaller`: whether one wrote into something that may be a part. */
static bool was_written(struct spot from, struct spot to, int64_t differing,
                        bool *smaller)
{
    const struct tp_contents *contents = to.contents;
    const struct tp_dump_print *print = print_of(from);
    bool written = false;
    for (size_t i = order_of(from) + 1; i < order_of(to) && !written; i++) {
        const struct tp_dump_call *call = &contents->place->calls[i];
        if (!tp_dump_call_in_place(call) || !call->count)
            continue; /* what is written is the first argument */
        const struct tp_dump_print *one = &contents->prints[call->first];
        written = tp_dump_print_equal(one, print);
        *smaller |= one->known && one->dtype == print->dtype &&
                    one->numel < print->numel && one->numel >= differing;
    }
    return written;
}

/* What pattern they form, and what that is likely of. */
static enum tp_status add_pattern(struct audit *audit, struct spot from,
                                  struct spot to, struct tp_dump_flow_row *row,
                                  struct tp_text *text, struct tp_error *err)
{
    struct tp_dump_damage damage = {.read = false};
    enum tp_status status = tp_dump_damage_pair(&audit->readers, item_of(from),
                                                item_of(to), &damage, err);
    if (status == TP_OK && damage.read) {
        row->damage = tp_damage_shapes[damage.shape.name].id;
        tp_text_add(text, " They are %s%s%s.", tp_text_get(&damage.words),
                    *damage.cause ? "; " : "", damage.cause);
    } else if (damage.unread.length) {
        tp_text_add(text, " Their pattern is %s.", tp_text_get(&damage.unread));
    }
    tp_dump_damage_clear(&damage);
    return status;
}

static const char *words_of(struct audit *audit, struct spot from,
                            struct spot to, const struct tp_dump_pair *pair,
                            bool smaller)
{
    const struct tp_dump_flow *flow = audit->flow;
    const struct tp_dump_flow_row *row = &flow->rows[flow->count - 1];
    return tp_dump_finding_text(
        audit->findings,
        "%s is what %s %s, but for %" PRId64 " of %" PRId64
        " elements, all between elements %" PRId64 " and %" PRId64
        " (bytes %" PRId64 " to %" PRId64 "): they changed between call %zu "
        "and call %zu. %s",
        row->consumer, row->producer,
        is_result(from) ? "was made as" : "held", pair->differing, pair->numel,
        pair->first, pair->last, row->first_byte, row->last_byte,
        order_of(from), order_of(to),
        smaller ? "A call between them that writes in place may have done it."
                : "No call of the dump wrote there.");
}

static enum tp_status judge_near(struct audit *audit, struct spot from,
                                 struct spot to, struct tp_error *err)
{
    struct tp_dump_pair pair;
    struct tp_dump_flow_row *row;
    bool smaller = false;
    enum tp_status status =
        tp_dump_pair_compare(item_of(from), item_of(to), &pair,
                             &audit->flow->unread, &audit->flow->arena, err);
    if (status != TP_OK || !pair.read || !pair.differing || pair.clamped ||
        pair.differing > pair.numel / 10 || pair.changes < pair.numel / 32 ||
        was_written(from, to, pair.differing, &smaller))
        return status;
    status = add_row(audit, "changed", from, to, &row, err);
    if (status != TP_OK)
        return status;
    row->differing = pair.differing;
    row->first = pair.first;
    row->last = pair.last;
    row->first_byte = pair.first * (int64_t)pair.size;
    row->last_byte = (pair.last + 1) * (int64_t)pair.size - 1;
    struct tp_text text = {0};
    tp_text_add(&text, "%s", words_of(audit, from, to, &pair, smaller));
    status = add_pattern(audit, from, to, row, &text, err);
    audit->findings->arena.failed |= text.failed;
    if (status == TP_OK)
        status =
            add_finding(audit, smaller ? TP_SEVERITY_LOW : TP_SEVERITY_MEDIUM,
                        to, "changed", tp_text_get(&text), err);
    tp_text_clear(&text);
    return status;
}

/* An earlier reading of a weight that has changed since; or -1. Behind a
 * backward pass the optimizer may have changed it, unrecorded. */
static size_t read_before(struct spot to)
{
    const struct tp_contents *contents = to.contents;
    const size_t near =
        tp_content_is_weight(call_of(to), item_of(to))
            ? tp_contents_near(contents, print_of(to), order_of(to), true)
            : NONE;
    for (size_t i = near == NONE ? order_of(to) : contents->call_of[near];
         i < order_of(to); i++)
        if (contents->place->calls[i].name.direction == TP_BACKWARD)
            return NONE;
    return near;
}

static enum tp_status look_for_change(struct audit *audit, struct spot to,
                                      struct tp_error *err)
{
    const size_t made =
        tp_contents_near(to.contents, print_of(to), order_of(to), false);
    const size_t near = made == NONE ? read_before(to) : made;
    const struct spot from = {to.contents, near};
    return near == NONE ? TP_OK : judge_near(audit, from, to, err);
}

/* --- stale
 * -------------------------------------------------------------------- */

/* The tensor of the same name in another place. */
static size_t namesake(const struct tp_contents *contents, struct spot spot)
{
    const struct tp_dump_item *item = item_of(spot);
    const struct tp_dump_call *call =
        tp_dump_call_of(contents->place, call_of(spot)->key);
    for (size_t i = call ? call->first : 0;
         call && i < call->first + call->count; i++) {
        const struct tp_dump_item *one = &contents->place->items[i];
        if (one->place == item->place && !strcmp(one->argument, item->argument))
            return contents->prints[i].known ? i : NONE;
    }
    return NONE;
}

/* Whether two tensors of one kind have other contents altogether. */
static bool is_other(const struct tp_dump_print *a,
                     const struct tp_dump_print *b)
{
    return a->known && b->known && a->dtype == b->dtype &&
           a->numel == b->numel && tp_content_tells(a) && tp_content_tells(b) &&
           tp_dump_print_shared(a, b) * 2 <= tp_dump_print_count(a);
}

/* The result before a tensor that it is; the last of several; or -1. */
static size_t producer_of(struct spot spot)
{
    size_t first, found = NONE;
    size_t end = tp_contents_equal(spot.contents, print_of(spot), &first);
    for (size_t i = first; i < end; i++) {
        const struct tp_content_entry *entry = &spot.contents->entries[i];
        if (entry->result && entry->call < order_of(spot))
            found = entry->item;
    }
    return found;
}

/* A new input that is what it was in the step before, when a call had just
 * given it, although that call gave something else this time. */
static enum tp_status look_for_stale(struct audit *audit, struct spot to,
                                     bool *stale, struct tp_error *err)
{
    const size_t past = audit->before ? namesake(audit->before, to) : NONE;
    const struct spot old = {audit->before, past};
    if (past == NONE || !tp_dump_print_equal(print_of(old), print_of(to)))
        return TP_OK;
    const struct spot made = {audit->before, producer_of(old)};
    if (made.item == NONE)
        return TP_OK;
    const struct spot from = {audit->now, namesake(audit->now, made)};
    if (from.item == NONE || order_of(from) >= order_of(to) ||
        !is_other(print_of(from), print_of(to)))
        return TP_OK;
    *stale = true;
    return add_old(
        audit, "stale", from, to,
        tp_dump_finding_text(audit->findings,
                             "%s has the contents that it had in step %" PRId64
                             ", where %s had given them; in this step that "
                             "gave something else, which did not arrive.",
                             name_of(audit, to), audit->before->place->step,
                             name_of(audit, from)),
        err);
}

/* --- repeated
 * ----------------------------------------------------------------- */

/* Calls whose results are other ones for other inputs. */
static bool computes(const struct tp_dump_call *call)
{
    static const char *const apis[] = {
        "linear", "matmul", "__matmul__", "mm",
        "bmm",    "addmm",  "baddbmm",    "einsum",
        "conv1d", "conv2d", "conv3d",     "scaled_dot_product_attention",
        NULL};
    return call->name.direction == TP_FORWARD &&
           tp_dump_call_is_any(call, apis);
}

/* The first tensor that a call is given; or -1. */
static size_t first_input(const struct tp_contents *contents,
                          const struct tp_dump_call *call)
{
    for (size_t i = call->first; i < call->first + call->count; i++) {
        const struct spot spot = {contents, i};
        if (item_of(spot)->kind == TP_DUMP_TENSOR && !is_result(spot))
            return contents->prints[i].known ? i : NONE;
    }
    return NONE;
}

/* Whether a matrix that a call is given is zero, so that the rest of what it is
 * given does not matter. */
static bool has_zeros(const struct tp_contents *contents,
                      const struct tp_dump_call *call)
{
    bool zeros = false;
    for (size_t i = call->first; i < call->first + call->count; i++) {
        const struct spot spot = {contents, i};
        zeros |= !is_result(spot) && item_of(spot)->dims > 1 &&
                 tp_dump_print_count(print_of(spot)) == 0;
    }
    return zeros;
}

/* Whether two results are equal though what they come from is not. */
static bool is_repeated(struct spot old, struct spot now)
{
    const struct spot x = {old.contents,
                           first_input(old.contents, call_of(old))};
    const struct spot y = {now.contents,
                           first_input(now.contents, call_of(now))};
    return x.item != NONE && y.item != NONE &&
           tp_dump_print_equal(print_of(old), print_of(now)) &&
           is_other(print_of(x), print_of(y)) &&
           !has_zeros(old.contents, call_of(old)) &&
           !has_zeros(now.contents, call_of(now));
}

static bool same_api(const struct tp_dump_call *a, const struct tp_dump_call *b)
{
    return a->name.path.length == b->name.path.length &&
           !memcmp(a->name.path.at, b->name.path.at, a->name.path.length);
}

/* A result of an earlier call of the same API that this one repeats; or -1. */
static size_t repeated_here(struct spot spot)
{
    size_t first, found = NONE;
    size_t end = tp_contents_equal(spot.contents, print_of(spot), &first);
    for (size_t i = first; i < end; i++) {
        const struct spot old = {spot.contents, spot.contents->entries[i].item};
        if (order_of(old) < order_of(spot) && is_result(old) &&
            computes(call_of(old)) && same_api(call_of(old), call_of(spot)) &&
            is_repeated(old, spot))
            found = old.item;
    }
    return found;
}

static enum tp_status look_for_repeats(struct audit *audit, struct spot to,
                                       struct tp_error *err)
{
    struct spot old = {audit->now, NONE};
    if (!computes(call_of(to)) || !tp_content_tells(print_of(to)))
        return TP_OK;
    if (audit->before) {
        const struct spot past = {audit->before, namesake(audit->before, to)};
        if (past.item != NONE && is_repeated(past, to))
            old = past;
    }
    if (old.item == NONE)
        old.item = repeated_here(to);
    if (old.item == NONE)
        return TP_OK;
    return add_old(
        audit, "repeated", old, to,
        tp_dump_finding_text(audit->findings,
                             "%s is, bit by bit, %s of step %" PRId64
                             ", although the first tensors that the two calls "
                             "were given differ.",
                             name_of(audit, to), name_of(audit, old),
                             old.contents->place->step),
        err);
}

/* --- places
 * ------------------------------------------------------------------- */

static enum tp_status audit_item(struct audit *audit, size_t item,
                                 struct tp_error *err)
{
    const struct spot spot = {audit->now, item};
    bool stale = false;
    if (is_result(spot))
        return look_for_repeats(audit, spot, err);
    audit->flow->inputs++;
    if (!is_new(spot)) {
        audit->flow->matched++;
        return TP_OK;
    }
    if (!tp_content_tells(print_of(spot)))
        return TP_OK;
    enum tp_status status = look_for_stale(audit, spot, &stale, err);
    if (status == TP_OK && !stale)
        status = look_for_change(audit, spot, err);
    return status;
}

static enum tp_status audit_place(struct audit *audit,
                                  const volatile sig_atomic_t *stop,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < audit->now->place->item_count && status == TP_OK;
         i++) {
        if (audit->now->prints[i].known)
            status = audit_item(audit, i, err);
        if (status == TP_OK && stop && *stop)
            status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    }
    return status;
}

/* The place of the next step of the same rank; or -1. */
static size_t next_of(const struct tp_dump *dump, size_t at)
{
    for (size_t i = at + 1; i < dump->place_count; i++)
        if (dump->places[i].rank == dump->places[at].rank &&
            dump->places[i].step > dump->places[at].step)
            return i;
    return NONE;
}

/* A place and those of later steps of its rank, two at a time. */
static enum tp_status audit_rank(struct audit *audit, size_t at, bool *done,
                                 struct tp_pool *pool,
                                 const volatile sig_atomic_t *stop,
                                 struct tp_error *err)
{
    struct tp_contents contents[2] = {{0}};
    enum tp_status status = TP_OK;
    audit->before = NULL;
    for (int turn = 0; at != NONE && !done[at] && status == TP_OK;
         turn = !turn) {
        struct tp_contents *now = &contents[turn];
        tp_contents_clear(now);
        done[at] = true;
        const struct tp_dump_print_from from = {
            .place = &audit->dump->places[at],
            .pool = pool,
            .stop = stop,
            .unread = &audit->flow->unread,
            .arena = &audit->flow->arena};
        status = tp_contents_make(&from, now, err);
        audit->now = now;
        if (status == TP_OK)
            status = audit_place(audit, stop, err);
        audit->before = now;
        at = next_of(audit->dump, at);
    }
    tp_contents_clear(&contents[0]);
    tp_contents_clear(&contents[1]);
    return status;
}

enum tp_status tp_dump_flow_find(struct tp_dump *dump, struct tp_pool *pool,
                                 const volatile sig_atomic_t *stop,
                                 struct tp_dump_flow *flow,
                                 struct tp_dump_findings *findings,
                                 struct tp_error *err)
{
    struct audit audit = {.dump = dump, .flow = flow, .findings = findings};
    bool *done = calloc(dump->place_count + 1, sizeof *done);
    enum tp_status status = done ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_readers_init(&audit.readers, pool, err);
    audit.readers.stop = stop;
    for (size_t i = 0; i < dump->place_count && status == TP_OK; i++)
        if (!done[i])
            status = audit_rank(&audit, i, done, pool, stop, err);
    tp_readers_clear(&audit.readers);
    free(done);
    return status;
}

void tp_dump_flow_clear(struct tp_dump_flow *flow)
{
    free(flow->rows);
    tp_arena_clear(&flow->arena);
    memset(flow, 0, sizeof *flow);
}

static const struct tp_column columns[] = {
    TP_COLUMN(struct tp_dump_flow_row, step, "1"),
    TP_COLUMN(struct tp_dump_flow_row, rank, "1"),
    TP_COLUMN(struct tp_dump_flow_row, kind, ""),
    TP_COLUMN(struct tp_dump_flow_row, producer, ""),
    TP_COLUMN(struct tp_dump_flow_row, producer_order, "1"),
    TP_COLUMN(struct tp_dump_flow_row, consumer, ""),
    TP_COLUMN(struct tp_dump_flow_row, consumer_order, "1"),
    TP_COLUMN(struct tp_dump_flow_row, numel, "1"),
    TP_COLUMN(struct tp_dump_flow_row, differing, "1"),
    TP_COLUMN(struct tp_dump_flow_row, first, "1"),
    TP_COLUMN(struct tp_dump_flow_row, last, "1"),
    TP_COLUMN(struct tp_dump_flow_row, first_byte, "1"),
    TP_COLUMN(struct tp_dump_flow_row, last_byte, "1"),
    TP_COLUMN(struct tp_dump_flow_row, damage, ""),
};

void tp_dump_flow_table(const struct tp_dump_flow *flow, struct tp_table *table)
{
    *table = TP_TABLE_OF("flow", columns, flow->rows, flow->count);
}
