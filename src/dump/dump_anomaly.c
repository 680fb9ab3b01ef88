/* SPDX-License-Identifier: MIT */
/*
 * Calls are taken in the order of the dump. An input with NaN or Inf is looked
 * up among all tensors with some before it (dump_seen.h): so it gets their
 * origin. An output that has some where no input has is a new origin, unless
 * it is meant (a mask), unwritten memory, what a module's inner call made, the
 * gradient of a call that was bad in the forward pass, or what another rank
 * sent. Ranks need not be replayed in step: all that is bad in a communication
 * is one origin, and when its part on another rank turns out to come from a
 * real one the two are joined. msprobe judges each call by itself and takes the
 * first: it names masks, and modules in place of what is inside them. Cost: a
 * look at each tensor, a hash table of those with NaN or Inf.
 */
#include "dump/dump_anomaly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_comm.h"
#include "dump/dump_health.h"
#include "dump/dump_seen.h"

/* A norm that grows further than this in one call is worth a row. */
static const double norm_growth = 100;

/* Bits of what is not finite. */
enum { NONFINITE = TP_HEALTH_NAN | TP_HEALTH_ABOVE | TP_HEALTH_BELOW };

/* The state while a step is traced. */
struct tracer {
    const struct tp_dump *dump;
    struct tp_dump_anomalies *out;
    struct tp_dump_comm comm;
    size_t *events; /* [comm.event_count]: origin of what is bad in it     */
    /* of the place */
    size_t at;
    const struct tp_dump_place *place;
    struct tp_seen seen;
    size_t *origin_of_call; /* [call_count] of what is bad in a call       */
    size_t first_origin;    /* the origins that were found here            */
    size_t last;            /* the newest origin that was met here         */
    size_t last_backward;   /* the same, in the backward pass              */
    unsigned masks;         /* infinities that masks were filled with      */
};

/* What a call is given. */
struct given {
    bool any;      /* something is not finite                         */
    bool bad;      /* and is not meant                                */
    size_t origin; /* of what is bad                                  */
    unsigned mask; /* infinities that are                             */
    bool lowest;   /* masks of the lowest value                       */
    bool unknown;
    size_t item; /* the first that is not finite                    */
};

/* What it gives. */
struct result {
    bool any, bad;
    size_t origin;
    size_t item;
    bool first; /* it is the origin                                        */
};

/* --- origins -------------------------------------------------------------- */

size_t tp_dump_origin_of(const struct tp_dump_anomalies *anomalies,
                         size_t origin)
{
    while (origin != TP_NO_ORIGIN &&
           anomalies->origins[origin].same != TP_NO_ORIGIN)
        origin = anomalies->origins[origin].same;
    return origin;
}

static enum tp_status new_origin(struct tracer *tracer,
                                 enum tp_origin_kind kind, size_t call,
                                 size_t item, size_t *origin,
                                 struct tp_error *err)
{
    struct tp_dump_anomalies *out = tracer->out;
    enum tp_status status =
        tp_grow(&out->origins, &out->origin_capacity, out->origin_count + 1,
                sizeof *out->origins, err);
    if (status != TP_OK)
        return status;
    *origin = out->origin_count++;
    out->origins[*origin] = (struct tp_dump_origin){
        .kind = kind,
        .place = tracer->at,
        .call = call,
        .item = item,
        .health = tp_health_of(&tracer->place->items[item]),
        .same = TP_NO_ORIGIN};
    tracer->last = *origin;
    return TP_OK;
}

/* Makes one origin part of another. */
static void join(struct tp_dump_anomalies *out, size_t part, size_t whole)
{
    part = tp_dump_origin_of(out, part);
    whole = tp_dump_origin_of(out, whole);
    if (part != whole)
        out->origins[part].same = whole;
}

/* What is bad in a communication comes from `origin`, too. */
static void join_event(struct tracer *tracer, const struct tp_dump_part *part,
                       size_t origin)
{
    struct tp_dump_anomalies *out = tracer->out;
    size_t *event = &tracer->events[part->event];
    size_t known = tp_dump_origin_of(out, *event);
    if (known == TP_NO_ORIGIN)
        *event = origin;
    else if (out->origins[known].kind == TP_ORIGIN_RECEIVED)
        join(out, known, origin);
}

/* --- inside and outside --------------------------------------------------- */

/* The origin inside a module's call; TP_NO_ORIGIN: none. Without
 * construct.json an API's call that was bad before may be one. */
static size_t origin_inside(const struct tracer *tracer,
                            const struct tp_dump_call *module)
{
    const struct tp_dump_anomalies *out = tracer->out;
    for (size_t i = out->origin_count; i-- > tracer->first_origin;) {
        const struct tp_dump_call *call =
            &tracer->place->calls[out->origins[i].call];
        if (call != module &&
            (tp_dump_call_inside(tracer->place, call, module) ||
             (!tracer->place->node_count && !tp_dump_call_is_module(call))))
            return i;
    }
    return TP_NO_ORIGIN;
}

/* Of dumps that list a module before what is inside it. */
static void join_modules(struct tracer *tracer)
{
    struct tp_dump_anomalies *out = tracer->out;
    const struct tp_dump_call *calls = tracer->place->calls;
    for (size_t i = tracer->first_origin; i < out->origin_count; i++) {
        const struct tp_dump_call *module = &calls[out->origins[i].call];
        if (!tp_dump_call_is_module(module) ||
            out->origins[i].kind != TP_ORIGIN_CALL)
            continue;
        for (size_t k = i + 1; k < out->origin_count; k++)
            if (tp_dump_call_inside(tracer->place, &calls[out->origins[k].call],
                                    module)) {
                join(out, i, k);
                break;
            }
    }
}

/* --- inputs --------------------------------------------------------------- */

/* Infinities of one sign that have no known origin and are meant. */
static bool is_mask(const struct tracer *tracer,
                    const struct tp_dump_call *call,
                    const struct tp_dump_item *item, unsigned health)
{
    return !(health & TP_HEALTH_NAN) &&
           health != (TP_HEALTH_ABOVE | TP_HEALTH_BELOW) &&
           ((health & ~tracer->masks) == 0 || tp_health_takes_mask(call, item));
}

/* What is thought of an input that is not finite. */
static enum tp_status judge_input(struct tracer *tracer, size_t at, size_t item,
                                  unsigned health, struct tp_seen_item *found,
                                  struct tp_error *err)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    const struct tp_dump_item *tensor = &tracer->place->items[item];
    const struct tp_seen_item *known = tp_seen_find(&tracer->seen, tensor);
    enum tp_status status = TP_OK;
    if (known) {
        *found = *known;
        return TP_OK;
    }
    *found = (struct tp_seen_item){.kind = TP_SEEN_BAD, .origin = tracer->last};
    if (is_mask(tracer, call, tensor, health))
        found->kind = TP_SEEN_MASK;
    else if (tracer->last == TP_NO_ORIGIN)
        status =
            new_origin(tracer, TP_ORIGIN_GIVEN, at, item, &found->origin, err);
    if (status == TP_OK)
        tp_seen_add(&tracer->seen, tensor, found->kind, found->origin);
    return status;
}

static void take_input(struct tracer *tracer, const struct tp_seen_item *found,
                       size_t item, unsigned health, struct given *given)
{
    if (!given->any)
        given->item = item;
    given->any = true;
    if (found->kind == TP_SEEN_MASK)
        given->mask |= health & NONFINITE;
    if (found->kind != TP_SEEN_BAD)
        return;
    if (!given->bad) {
        given->item = item;
        given->origin = found->origin;
        tracer->last = found->origin;
    }
    given->bad = true;
}

/* The communication that an item of a call takes part in; NULL: none. */
static const struct tp_dump_part *part_of(const struct tracer *tracer,
                                          size_t place, size_t at, size_t item)
{
    return tp_dump_comm_part(
        &tracer->comm, place, at,
        tp_dump_comm_p2p(&tracer->dump->places[place], at, item));
}

static enum tp_status look_at_inputs(struct tracer *tracer, size_t at,
                                     struct given *given, struct tp_error *err)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    enum tp_status status = TP_OK;
    given->unknown = call->incomplete;
    for (size_t i = call->first;
         i < call->first + call->count && status == TP_OK; i++) {
        const struct tp_dump_item *item = &tracer->place->items[i];
        const struct tp_dump_part *part = part_of(tracer, tracer->at, at, i);
        if (tp_dump_item_is_result(call, item) ||
            tp_health_ignores(call, item) || (part && !part->gives))
            continue;
        unsigned health = tp_health_of(item);
        struct tp_seen_item found;
        given->unknown |= health == TP_HEALTH_UNKNOWN;
        given->lowest |= tp_health_is_lowest(item);
        if (!(health & NONFINITE))
            continue;
        status = judge_input(tracer, at, i, health, &found, err);
        if (status != TP_OK)
            return status;
        take_input(tracer, &found, i, health, given);
        if (part && found.kind == TP_SEEN_BAD)
            join_event(tracer, part, found.origin);
    }
    return status;
}

/* --- outputs -------------------------------------------------------------- */

/* Infinities that a call may give without being wrong. */
static unsigned meant(const struct tracer *tracer,
                      const struct tp_dump_call *call,
                      const struct given *given)
{
    static const char *const sums[] = {"add",      "add_",     "__add__",
                                       "__radd__", "__iadd__", NULL};
    unsigned infinities =
        tp_health_fills(call, tracer->place->items + call->first) |
        tp_health_after(call, given->mask);
    if (given->lowest && tp_dump_call_is_any(call, sums))
        infinities |= TP_HEALTH_BELOW;
    return infinities;
}

/* What a communication gives that it was not given here. */
static enum tp_status received(struct tracer *tracer, size_t at, size_t item,
                               const struct tp_dump_part *part, size_t *origin,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t *event = &tracer->events[part->event];
    if (*event == TP_NO_ORIGIN)
        status = new_origin(tracer, TP_ORIGIN_RECEIVED, at, item, event, err);
    *origin = *event;
    return status;
}

/* The origin of what a call gives although its inputs are finite; one that is
 * known already, or TP_NO_ORIGIN. */
static size_t known_origin(struct tracer *tracer, size_t at)
{
    const struct tp_dump_place *place = tracer->place;
    const struct tp_dump_call *call = &place->calls[at];
    const struct tp_dump_call *forward = tp_dump_forward_of(place, call);
    if (tp_dump_call_is_module(call)) {
        size_t inside = origin_inside(tracer, call);
        if (inside != TP_NO_ORIGIN)
            return inside;
    }
    if (forward)
        return tracer->origin_of_call[forward - place->calls];
    if (call->known && call->name.gradient)
        return tracer->last_backward;
    if (call->variable_file)
        return tracer->last;
    return TP_NO_ORIGIN;
}

/* The same, or a new one. */
static enum tp_status find_origin(struct tracer *tracer, size_t at, size_t item,
                                  const struct given *given,
                                  struct result *result, struct tp_error *err)
{
    const struct tp_dump_part *part = part_of(tracer, tracer->at, at, item);
    if (given->bad) {
        result->origin = given->origin;
        return TP_OK;
    }
    if (part)
        return received(tracer, at, item, part, &result->origin, err);
    result->origin = known_origin(tracer, at);
    if (result->origin != TP_NO_ORIGIN)
        return TP_OK;
    result->first = true;
    enum tp_status status =
        new_origin(tracer, given->mask ? TP_ORIGIN_MASKED : TP_ORIGIN_CALL, at,
                   item, &result->origin, err);
    if (status == TP_OK)
        tracer->out->origins[result->origin].silent = given->unknown;
    return status;
}

/* An output that is not finite. */
static enum tp_status judge_output(struct tracer *tracer, size_t at,
                                   size_t item, const struct given *given,
                                   struct result *result, struct tp_error *err)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    const struct tp_dump_item *tensor = &tracer->place->items[item];
    const unsigned health = tp_health_of(tensor);
    const bool inner = tp_dump_call_is_module(call) || call->variable_file;
    const struct tp_seen_item *known =
        inner ? tp_seen_find(&tracer->seen, tensor) : NULL;
    struct tp_seen_item now = {.kind = TP_SEEN_BAD, .origin = TP_NO_ORIGIN};
    const struct tp_dump_part *part = part_of(tracer, tracer->at, at, item);
    enum tp_status status = TP_OK;
    if (tp_health_is_raw(call) || tp_health_ignores(call, tensor))
        now.kind = TP_SEEN_RAW;
    else if (part && part->p2p) /* of a list: apart from the others in it */
        status = received(tracer, at, item, part, &now.origin, err);
    else if (!given->bad &&
             (health & NONFINITE & ~meant(tracer, call, given)) == 0)
        now.kind = TP_SEEN_MASK;
    else if (!given->bad && known)
        now = *known;
    else if (!result->bad)
        status = find_origin(tracer, at, item, given, result, err);
    if (status != TP_OK)
        return status;
    if (now.kind == TP_SEEN_BAD && !result->bad) {
        if (now.origin != TP_NO_ORIGIN)
            result->origin = now.origin;
        result->bad = true;
        result->item = item;
        tracer->last = result->origin;
    }
    if (now.kind == TP_SEEN_MASK)
        tracer->masks |= health & NONFINITE;
    if (!result->any)
        result->item = item;
    result->any = true;
    if (now.kind == TP_SEEN_BAD && now.origin == TP_NO_ORIGIN)
        now.origin = result->origin;
    tp_seen_add(&tracer->seen, tensor, now.kind, now.origin);
    return TP_OK;
}

static enum tp_status look_at_outputs(struct tracer *tracer, size_t at,
                                      const struct given *given,
                                      struct result *result,
                                      struct tp_error *err)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    enum tp_status status = TP_OK;
    for (size_t i = call->first;
         i < call->first + call->count && status == TP_OK; i++) {
        const struct tp_dump_item *item = &tracer->place->items[i];
        if (tp_dump_item_is_result(call, item) &&
            (tp_health_of(item) & NONFINITE))
            status = judge_output(tracer, at, i, given, result, err);
    }
    return status;
}

/* --- rows ----------------------------------------------------------------- */

static const char *text_of(struct tracer *tracer, struct tp_text *text)
{
    return tp_arena_words(&tracer->out->arena, text);
}

/* "output.0: NaN" */
static const char *item_words(struct tracer *tracer, size_t at, size_t item)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    const struct tp_dump_item *tensor = &tracer->place->items[item];
    struct tp_text name = {0}, text = {0};
    tp_dump_item_name(call, tensor, "kwargs", &name);
    const char *words =
        tp_text_get(&name) + (name.failed ? 0 : strlen(call->key));
    tp_text_add(&text, "%s: %s", words + (*words == '.'),
                tp_health_words(tp_health_of(tensor)));
    text.failed |= name.failed;
    tp_text_clear(&name);
    return text_of(tracer, &text);
}

static enum tp_status add_row(struct tracer *tracer, size_t at,
                              struct tp_dump_anomaly row, struct tp_error *err)
{
    struct tp_dump_anomalies *out = tracer->out;
    const struct tp_dump_call *call = &tracer->place->calls[at];
    struct tp_text line = {0};
    enum tp_status status = tp_grow(&out->rows, &out->capacity, out->count + 1,
                                    sizeof *out->rows, err);
    if (status != TP_OK)
        return status;
    tp_dump_call_line(tracer->place, call, &line);
    row.step = tracer->place->step;
    row.rank = tracer->place->rank;
    row.order = (int64_t)at;
    row.api_name = call->key;
    row.stack = text_of(tracer, &line);
    out->rows[out->count++] = row;
    return TP_OK;
}

static enum tp_status add_nonfinite(struct tracer *tracer, size_t at,
                                    const struct given *given,
                                    const struct result *result,
                                    struct tp_error *err)
{
    const bool bad = given->bad || result->bad;
    struct tp_dump_anomaly row = {
        .first = result->first,
        .mask = !bad,
        .origin = TP_NO_ORIGIN,
        .value =
            item_words(tracer, at, result->any ? result->item : given->item)};
    if (!given->any) {
        row.level = "critical";
        row.scene = "NaN or Inf in outputs only";
    } else if (result->any) {
        row.level = "high";
        row.scene = "NaN or Inf in inputs and outputs";
    } else {
        row.level = "medium";
        row.scene = "NaN or Inf in inputs only";
    }
    if (bad)
        row.origin = given->bad ? given->origin : result->origin;
    tracer->origin_of_call[at] = row.origin;
    if (bad && tracer->place->calls[at].name.direction == TP_BACKWARD)
        tracer->last_backward = row.origin;
    tracer->out->masks += !bad;
    return add_row(tracer, at, row, err);
}

static enum tp_status look_at_norms(struct tracer *tracer, size_t at,
                                    struct tp_error *err)
{
    const struct tp_dump_call *call = &tracer->place->calls[at];
    const double in = tp_health_norm(tracer->place, call, false);
    const double out = tp_health_norm(tracer->place, call, true);
    if (in < 0 || out <= norm_growth * (in > 0 ? in : 1) ||
        tp_health_may_grow(call, tracer->place->items + call->first))
        return TP_OK;
    struct tp_text value = {0};
    tp_text_add(&value, "norm %.6g, of inputs %.6g", out, in);
    const struct tp_dump_anomaly row = {
        .level = "high",
        .scene = "norm of outputs over 100 times that of inputs",
        .origin = TP_NO_ORIGIN,
        .value = text_of(tracer, &value)};
    if (tracer->out->grown++ == 0)
        tracer->out->first_grown = call->key;
    return add_row(tracer, at, row, err);
}

/* --- places --------------------------------------------------------------- */

static enum tp_status trace_call(struct tracer *tracer, size_t at,
                                 struct tp_error *err)
{
    struct given given = {.origin = TP_NO_ORIGIN};
    struct result result = {.origin = TP_NO_ORIGIN};
    enum tp_status status = look_at_inputs(tracer, at, &given, err);
    if (status == TP_OK)
        status = look_at_outputs(tracer, at, &given, &result, err);
    if (status != TP_OK)
        return status;
    return given.any || result.any
               ? add_nonfinite(tracer, at, &given, &result, err)
               : look_at_norms(tracer, at, err);
}

/* Counts what may hold NaN or Inf; gives how many do. */
static size_t count_tensors(struct tracer *tracer)
{
    size_t nonfinite = 0;
    for (size_t i = 0; i < tracer->place->item_count; i++) {
        const struct tp_dump_item *item = &tracer->place->items[i];
        unsigned health = tp_health_of(item);
        tracer->out->tensors += item->kind == TP_DUMP_TENSOR;
        tracer->out->unknown += health == TP_HEALTH_UNKNOWN;
        nonfinite += (health & NONFINITE) != 0;
    }
    return nonfinite;
}

static enum tp_status trace_place(struct tracer *tracer, size_t place,
                                  struct tp_error *err)
{
    tracer->at = place;
    tracer->place = &tracer->dump->places[place];
    tracer->first_origin = tracer->out->origin_count;
    tracer->last = tracer->last_backward = TP_NO_ORIGIN;
    tracer->masks = 0;
    const size_t calls = tracer->place->call_count;
    enum tp_status status =
        tp_seen_init(&tracer->seen, count_tensors(tracer), err);
    tracer->origin_of_call =
        calloc(calls ? calls : 1, sizeof *tracer->origin_of_call);
    if (!tracer->origin_of_call && status == TP_OK)
        status = tp_fail_memory(err);
    for (size_t i = 0; i < calls && status == TP_OK; i++)
        tracer->origin_of_call[i] = TP_NO_ORIGIN;
    for (size_t i = 0; i < calls && status == TP_OK; i++)
        status = trace_call(tracer, i, err);
    if (status == TP_OK)
        join_modules(tracer);
    free(tracer->origin_of_call);
    tp_seen_clear(&tracer->seen);
    return status;
}

/* --- steps ---------------------------------------------------------------- */

/* A communication that made it itself: all its parts are there and what they
 * gave is finite. */
static void settle_events(struct tracer *tracer, size_t first)
{
    struct tp_dump_anomalies *out = tracer->out;
    for (size_t i = first; i < out->origin_count; i++) {
        struct tp_dump_origin *origin = &out->origins[i];
        if (origin->kind != TP_ORIGIN_RECEIVED || origin->same != TP_NO_ORIGIN)
            continue;
        const struct tp_dump_part *part =
            part_of(tracer, origin->place, origin->call, origin->item);
        if (part && tp_dump_comm_is_whole(&tracer->comm, part))
            origin->kind = TP_ORIGIN_CALL;
    }
}

/* The messages of a list arrive after its call, so that their tensors are
 * first seen where they are used, and no call gave them. */
static void join_messages(struct tracer *tracer, size_t first)
{
    struct tp_dump_anomalies *out = tracer->out;
    for (size_t i = first; i < out->origin_count; i++) {
        const struct tp_dump_origin *origin = &out->origins[i];
        const struct tp_dump_item *item =
            &tracer->dump->places[origin->place].items[origin->item];
        for (size_t k = tracer->comm.count;
             origin->kind == TP_ORIGIN_GIVEN && k-- > 0;) {
            const struct tp_dump_part *part = &tracer->comm.parts[k];
            const size_t event = tracer->events[part->event];
            if (part->place == origin->place && part->call < origin->call &&
                event != TP_NO_ORIGIN &&
                tp_dump_comm_brings(&tracer->comm, tracer->dump, part, item)) {
                join(out, i, event);
                break;
            }
        }
    }
}

static enum tp_status trace_step(struct tracer *tracer, size_t first,
                                 size_t end, struct tp_error *err)
{
    const size_t origins = tracer->out->origin_count;
    enum tp_status status =
        tp_dump_comm_match(tracer->dump, first, end, &tracer->comm, err);
    const size_t events = tracer->comm.event_count;
    tracer->events = calloc(events ? events : 1, sizeof *tracer->events);
    if (!tracer->events && status == TP_OK)
        status = tp_fail_memory(err);
    for (size_t i = 0; i < events && status == TP_OK; i++)
        tracer->events[i] = TP_NO_ORIGIN;
    for (size_t i = first; i < end && status == TP_OK; i++)
        status = trace_place(tracer, i, err);
    if (status == TP_OK) {
        join_messages(tracer, origins);
        settle_events(tracer, origins);
    }
    free(tracer->events);
    tp_dump_comm_clear(&tracer->comm);
    return status;
}

/* Origins in the end, and how many rows each has. Rows are by step, rank,
 * order; so are the places. */
static void count_followers(const struct tp_dump *dump,
                            struct tp_dump_anomalies *out)
{
    size_t place = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct tp_dump_anomaly *row = &out->rows[i];
        while (place < dump->place_count &&
               !((size_t)row->order < dump->places[place].call_count &&
                 dump->places[place].calls[row->order].key == row->api_name))
            place++;
        row->origin = tp_dump_origin_of(out, row->origin);
        row->first = 0;
        if (row->origin == TP_NO_ORIGIN)
            continue;
        struct tp_dump_origin *origin = &out->origins[row->origin];
        row->first =
            origin->place == place && origin->call == (size_t)row->order;
        if (row->first)
            continue;
        if (origin->followers++ == 0) {
            origin->follower_place = place;
            origin->follower = (size_t)row->order;
        }
    }
}

enum tp_status tp_dump_anomalies_find(const struct tp_dump *dump,
                                      struct tp_dump_anomalies *anomalies,
                                      struct tp_error *err)
{
    struct tracer tracer = {.dump = dump, .out = anomalies};
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < dump->place_count && status == TP_OK; i = end) {
        for (end = i + 1; end < dump->place_count &&
                          dump->places[end].step == dump->places[i].step;)
            end++;
        status = trace_step(&tracer, i, end, err);
    }
    if (status == TP_OK)
        count_followers(dump, anomalies);
    return status;
}
