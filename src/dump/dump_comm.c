/* SPDX-License-Identifier: MIT */
/*
 * Each call gets a text that is the same for all that take part: the name of
 * the collective with the ranks of its group, or the sender and the receiver,
 * and the how many-th of its text the call is on its rank; sorted by text,
 * equal ones are one communication. To replay the ranks against each other
 * would also tell of calls that can never meet, and needs an order of
 * asynchronous ones that dumps do not have. Cost: n log n comparisons.
 */
#include "dump/dump_comm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/order.h"
#include "base/search.h"
#include "dump/dump_health.h"

/* A part while it is matched. */
struct entry {
    struct tp_dump_part part;
    const char *text;
    size_t number; /* of those with this text on this rank before it       */
};

struct matcher {
    const struct tp_dump *dump;
    struct tp_arena arena;
    struct entry *entries;
    size_t count, capacity;
};

/* --- what a call says ------------------------------------------------------
 */

static const struct tp_dump_item *items_of(const struct tp_dump_place *place,
                                           const struct tp_dump_call *call)
{
    return place->items + call->first;
}

/* Adds the ranks of the group and counts them; none: the default group. */
static size_t add_group(const struct tp_dump_place *place,
                        const struct tp_dump_call *call, struct tp_text *text)
{
    const struct tp_dump_item *items = items_of(place, call);
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_json *ranks = items[i].value;
        if (strcmp(items[i].type, "torch.ProcessGroup") != 0 || !ranks ||
            ranks->kind != TP_JSON_LIST ||
            tp_dump_item_is_result(call, &items[i]))
            continue;
        for (const struct tp_json *at = ranks->first; at; at = at->next)
            tp_text_add(text, ".%" PRId64, at->integer);
        return ranks->count;
    }
    return 0;
}

/* The rank that an argument names: one of these keywords, else the first whole
 * number among the positional ones; -1: none. */
static int64_t rank_named(const struct tp_dump_place *place,
                          const struct tp_dump_call *call, const char *keyword)
{
    const struct tp_dump_item *items = items_of(place, call);
    int64_t rank = -1;
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &items[i];
        if (item->kind != TP_DUMP_VALUE || !item->value ||
            item->value->kind != TP_JSON_INTEGER)
            continue;
        const char *name = item->argument;
        const char *under = strchr(name, '_'); /* group_dst */
        if (item->place == TP_MSPROBE_KWARGS &&
            (!strcmp(name, keyword) || (under && !strcmp(under + 1, keyword))))
            return item->value->integer;
        if (item->place == TP_MSPROBE_INPUT && rank < 0)
            rank = item->value->integer;
    }
    return rank;
}

static bool is_one_of(const struct tp_dump_call *call, const char *a,
                      const char *b)
{
    return tp_dump_call_is(call, a) || tp_dump_call_is(call, b);
}

/* Who gives something to others: the source of a broadcast or a scatter, the
 * sender, everybody else. */
static bool gives(const struct tp_dump_place *place,
                  const struct tp_dump_call *call)
{
    if (is_one_of(call, "recv", "irecv"))
        return false;
    if (!is_one_of(call, "broadcast", "scatter"))
        return true;
    int64_t source = rank_named(place, call, "src");
    return source < 0 || place->rank < 0 || source == place->rank;
}

/* Adds the text of a message, the same on both of its ranks; what says no ranks
 * gets a text that is its own. */
static void add_message(const struct tp_dump_place *place, size_t at,
                        bool sends, int64_t peer, struct tp_text *text)
{
    if (peer < 0 || place->rank < 0)
        tp_text_add(text, "%s %zu", place->directory, at);
    else
        tp_text_add(text, "%" PRId64 ">%" PRId64, sends ? place->rank : peer,
                    sends ? peer : place->rank);
}

/* Adds the text of a call, and counts the ranks that take part. */
static size_t add_text(const struct tp_dump_place *place, size_t at,
                       struct tp_text *text)
{
    const struct tp_dump_call *call = &place->calls[at];
    const bool send = is_one_of(call, "send", "isend");
    const bool receive = is_one_of(call, "recv", "irecv");
    if (!send && !receive) {
        tp_text_bytes(text, call->name.path.at, call->name.path.length);
        return add_group(place, call, text);
    }
    add_message(place, at, send, rank_named(place, call, send ? "dst" : "src"),
                text);
    return 2;
}

/* --- matching --------------------------------------------------------------
 */

/* Adds a part; takes its text. */
static enum tp_status add_entry(struct matcher *matcher,
                                struct tp_dump_part part, struct tp_text *text,
                                struct tp_error *err)
{
    const char *own = tp_arena_take(&matcher->arena, text);
    enum tp_status status =
        own ? tp_grow(&matcher->entries, &matcher->capacity, matcher->count + 1,
                      sizeof *matcher->entries, err)
            : tp_fail_memory(err);
    if (status == TP_OK)
        matcher->entries[matcher->count++] = (struct entry){part, own, 0};
    return status;
}

/* The operations of a list, in their order; how many there are. */
static enum tp_status add_list(struct matcher *matcher, size_t place,
                               size_t call, size_t *count, struct tp_error *err)
{
    const struct tp_dump_place *at = &matcher->dump->places[place];
    const struct tp_dump_call *its = &at->calls[call];
    enum tp_status status = TP_OK;
    for (size_t i = its->first; i < its->first + its->count; i++) {
        const struct tp_dump_item *item = &at->items[i];
        if (!*item->p2p || tp_dump_item_is_result(its, item))
            continue;
        const bool sends = !strcmp(item->p2p, "isend");
        struct tp_text text = {0};
        add_message(at, i, sends, item->peer, &text);
        status = add_entry(
            matcher, (struct tp_dump_part){place, call, ++*count, 0, 2, sends},
            &text, err);
        if (status != TP_OK)
            return status;
    }
    return status;
}

static enum tp_status add_call(struct matcher *matcher, size_t place,
                               size_t call, struct tp_error *err)
{
    const struct tp_dump_place *at = &matcher->dump->places[place];
    struct tp_text text = {0};
    size_t listed = 0;
    enum tp_status status = add_list(matcher, place, call, &listed, err);
    if (status != TP_OK || listed)
        return status;
    const size_t ranks = add_text(at, call, &text);
    return add_entry(matcher,
                     (struct tp_dump_part){place, call, 0, 0, ranks,
                                           gives(at, &at->calls[call])},
                     &text, err);
}

static int compare_places(const struct tp_dump_part *a,
                          const struct tp_dump_part *b)
{
    int result = tp_order_size(a->place, b->place);
    if (result == 0)
        result = tp_order_size(a->call, b->call);
    return result ? result : tp_order_size(a->p2p, b->p2p);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int result = strcmp(a->text, b->text);
    if (result == 0)
        result = tp_order_size(a->number, b->number);
    return result ? result : compare_places(&a->part, &b->part);
}

static int compare_parts(const void *left, const void *right)
{
    return compare_places(left, right);
}

/* Sorted by text, place and call: counts those of one text on one rank. */
static void number_entries(struct matcher *matcher)
{
    struct entry *entries = matcher->entries;
    qsort(entries, matcher->count, sizeof *entries, compare_entries);
    for (size_t i = 1; i < matcher->count; i++)
        if (entries[i].part.place == entries[i - 1].part.place &&
            !strcmp(entries[i].text, entries[i - 1].text))
            entries[i].number = entries[i - 1].number + 1;
    qsort(entries, matcher->count, sizeof *entries, compare_entries);
}

static enum tp_status list_events(struct matcher *matcher,
                                  struct tp_dump_comm *comm,
                                  struct tp_error *err)
{
    enum tp_status status = tp_grow(&comm->parts, &comm->capacity,
                                    matcher->count, sizeof *comm->parts, err);
    for (size_t i = 0; i < matcher->count && status == TP_OK; i++) {
        const struct entry *entry = &matcher->entries[i];
        if (i == 0 || entry->number != entry[-1].number ||
            strcmp(entry->text, entry[-1].text) != 0)
            comm->event_count++;
        comm->parts[comm->count] = entry->part;
        comm->parts[comm->count++].event = comm->event_count - 1;
    }
    if (comm->count)
        qsort(comm->parts, comm->count, sizeof *comm->parts, compare_parts);
    return status;
}

/* The ranks that a step has, known from the largest. */
static size_t rank_count(const struct tp_dump *dump, size_t first, size_t end)
{
    int64_t largest = -1;
    for (size_t i = first; i < end; i++)
        if (dump->places[i].rank > largest)
            largest = dump->places[i].rank;
    return largest + 1 > (int64_t)(end - first) ? (size_t)largest + 1
                                                : end - first;
}

enum tp_status tp_dump_comm_match(const struct tp_dump *dump, size_t first,
                                  size_t end, struct tp_dump_comm *comm,
                                  struct tp_error *err)
{
    struct matcher matcher = {.dump = dump};
    enum tp_status status = TP_OK;
    comm->ranks = rank_count(dump, first, end);
    for (size_t i = first; i < end; i++)
        for (size_t k = 0; k < dump->places[i].call_count && status == TP_OK;
             k++)
            if (tp_dump_call_is_communication(&dump->places[i].calls[k]))
                status = add_call(&matcher, i, k, err);
    if (status == TP_OK && matcher.count) {
        number_entries(&matcher);
        status = list_events(&matcher, comm, err);
    }
    free(matcher.entries);
    tp_arena_clear(&matcher.arena);
    return status;
}

void tp_dump_comm_clear(struct tp_dump_comm *comm)
{
    free(comm->parts);
    memset(comm, 0, sizeof *comm);
}

bool tp_dump_comm_is_whole(const struct tp_dump_comm *comm,
                           const struct tp_dump_part *part)
{
    size_t parts = 0;
    for (size_t i = 0; i < comm->count; i++)
        parts += comm->parts[i].event == part->event;
    return parts >= (part->ranks ? part->ranks : comm->ranks);
}

size_t tp_dump_comm_p2p(const struct tp_dump_place *place, size_t call,
                        size_t item)
{
    const struct tp_dump_call *its = &place->calls[call];
    const bool result = tp_dump_item_is_result(its, &place->items[item]);
    size_t number = 0;
    if (!*place->items[item].p2p)
        return 0;
    for (size_t i = its->first; i <= item; i++)
        number += *place->items[i].p2p &&
                  tp_dump_item_is_result(its, &place->items[i]) == result;
    return number;
}

const struct tp_dump_part *tp_dump_comm_part(const struct tp_dump_comm *comm,
                                             size_t place, size_t call,
                                             size_t p2p)
{
    const struct tp_dump_part key = {place, call, p2p, 0, 0, false};
    size_t i;
    TP_PARTITION_POINT(i, comm->count,
                       compare_parts(&comm->parts[i], &key) < 0);
    return i < comm->count && !compare_parts(&comm->parts[i], &key)
               ? &comm->parts[i]
               : NULL;
}

/* The tensor of an operation of a list, as the call was given it. */
static const struct tp_dump_item *item_of(const struct tp_dump *dump,
                                          const struct tp_dump_part *part)
{
    const struct tp_dump_place *place = &dump->places[part->place];
    size_t i = place->calls[part->call].first;
    while (tp_dump_comm_p2p(place, part->call, i) != part->p2p)
        i++;
    return &place->items[i];
}

static bool same_kind(const struct tp_dump_item *a,
                      const struct tp_dump_item *b)
{
    bool same = !strcmp(a->dtype, b->dtype) && a->dims == b->dims;
    for (int i = 0; same && i < a->dims; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

bool tp_dump_comm_brings(const struct tp_dump_comm *comm,
                         const struct tp_dump *dump,
                         const struct tp_dump_part *part,
                         const struct tp_dump_item *item)
{
    if (!part->p2p || part->gives || !same_kind(item_of(dump, part), item))
        return false;
    for (size_t i = 0; i < comm->count; i++) {
        const struct tp_dump_part *other = &comm->parts[i];
        if (other->event == part->event && other->gives && other->p2p)
            return tp_health_of(item_of(dump, other)) == tp_health_of(item);
    }
    return false;
}
