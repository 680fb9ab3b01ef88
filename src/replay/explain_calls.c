/* SPDX-License-Identifier: MIT */
/*
 * What a kernel may have had in its memory from an earlier call of its API, or
 * from the same call of the step before: results, and arguments one by one.
 * Cost: a run of the kernel for each argument of at most 33 calls.
 */
#include "replay/explain_tries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How far back other calls of an API are looked at. */
enum { CALLS_BACK = 32 };

static bool same_api(const struct tp_msprobe_name *a,
                     const struct tp_msprobe_name *b)
{
    return a->direction == b->direction && a->type.length == b->type.length &&
           a->path.length == b->path.length &&
           !memcmp(a->type.at, b->type.at, a->type.length) &&
           !memcmp(a->path.at, b->path.at, a->path.length);
}

/* A call that a kernel may have had in its memory. */
struct other {
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
};

/* Calls of the API before this one, nearest first; then the same one of the
 * step before. */
static size_t find_others(const struct tp_tries *t, struct other *others)
{
    const struct tp_dump_place *place = &t->dump->places[t->place];
    const struct tp_dump_call *own = &place->calls[t->index];
    size_t count = 0;
    for (size_t i = t->index; i-- > 0 && count < CALLS_BACK;)
        if (place->calls[i].known &&
            same_api(&place->calls[i].name, &own->name))
            others[count++] = (struct other){place, &place->calls[i]};
    for (size_t p = t->place; p-- > 0;) {
        const struct tp_dump_place *before = &t->dump->places[p];
        const struct tp_dump_call *call = tp_dump_call_of(before, own->key);
        if (before->rank == place->rank && call) {
            others[count++] = (struct other){before, call};
            break;
        }
    }
    return count;
}

static bool same_shape(const struct tp_array *a, const struct tp_array *b)
{
    return a->dims == b->dims && a->dtype == b->dtype &&
           !memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape);
}

static bool same_values(const struct tp_array *a, const struct tp_array *b)
{
    return same_shape(a, b) && a->digest == b->digest &&
           !memcmp(a->value, b->value, (size_t)a->count * sizeof *a->value);
}

static void say_from(struct tp_tries *t, const char *what,
                     const struct other *other)
{
    TP_SAY(t, "%s %.120s", what, other->call->key);
    if (other->place != &t->dump->places[t->place]) {
        const size_t used = strlen(t->explain->words);
        snprintf(t->explain->words + used, sizeof t->explain->words - used,
                 " of step %" PRId64, other->place->step);
    }
}

/* Whether all tensors of two calls are the same, whatever numbers and texts go
 * with them. What cannot be read is not. */
static bool same_tensors(const struct tp_replay_call *a,
                         const struct tp_replay_call *b)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->call->count && !a->arrays[i].value)
            i++;
        while (j < b->call->count && !b->arrays[j].value)
            j++;
        if (i == a->call->count || j == b->call->count)
            return i == a->call->count && j == b->call->count;
        if (!same_values(&a->arrays[i], &b->arrays[j]))
            return false;
    }
}

/* What an earlier call was given of what this one is: all of it, so that it
 * gives the same, right or wrong; all tensors, with other settings; others. */
enum given { ALL, TENSORS, OTHERS };

static enum given given_to(const struct tp_tries *t, const struct other *other)
{
    struct tp_error err = {0};
    struct tp_replay_call call = {.place = other->place,
                                  .call = other->call,
                                  .signature = t->call.signature};
    const bool same =
        tp_replay_did(&t->call, tp_replay_call_load(&call, &err)) &&
        same_tensors(&t->call, &call) &&
        (!t->call.forward || same_tensors(t->call.forward, call.forward));
    tp_replay_call_clear(&call);
    return !same                                       ? OTHERS
           : t->call.call->count == other->call->count ? ALL
                                                       : TENSORS;
}

/* Whether a result is that of an earlier call, of other arguments. */
static bool is_kept(const struct tp_tries *t, const struct other *other)
{
    const struct tp_replay_call call = {.place = other->place,
                                        .call = other->call};
    bool any = false;
    for (size_t i = 0; i < t->count; i++) {
        struct tp_error err = {0};
        struct tp_array array = {.dims = 0};
        const struct tp_dump_item *item = tp_replay_result(&call, i);
        const bool same = item &&
                          tp_replay_did(&t->call,
                                        tp_array_read(item, &array, &err)) &&
                          same_values(&t->dumped[i], &array);
        tp_array_clear(&array);
        if (!same)
            return false;
        any = true;
    }
    return any;
}

/* Whether a result has numbers: those that have none are all alike, and of a
 * few bits one in a hundred is the same as another of CALLS_BACK by chance. */
static bool has_numbers(const struct tp_array *array)
{
    enum { ENOUGH = 12 }; /* 2^-12 CALLS_BACK < 1 / 100                      */
    const double u = tp_dtype_rounding(array->dtype);
    const double bits = u > 0 ? -log2(u) : 1;
    double seen = 0;
    for (int64_t i = 0; i < array->count && seen < ENOUGH; i++)
        seen += isfinite(array->value[i]) ? bits : 0;
    return seen >= ENOUGH;
}

static bool try_kept(struct tp_tries *t, enum given given)
{
    struct other others[CALLS_BACK + 1];
    const size_t count = has_numbers(&t->dumped[t->verdict->result])
                             ? find_others(t, others)
                             : 0;
    for (size_t i = 0; i < count; i++)
        if (is_kept(t, &others[i]) && given_to(t, &others[i]) == given) {
            say_from(t, "it is the result of", &others[i]);
            return true;
        }
    return false;
}

bool tp_try_kept(struct tp_tries *t)
{
    return try_kept(t, OTHERS);
}

bool tp_try_kept_otherwise(struct tp_tries *t)
{
    return try_kept(t, TENSORS);
}

/* Whether a tensor of an earlier call in the place of this one's fits: of the
 * calls, or of what both are the backward calls of. */
static bool fits_tensor(struct tp_tries *t, struct tp_replay_call *own,
                        const struct tp_replay_call *earlier,
                        const struct other *other)
{
    for (size_t i = 0; i < own->call->count && i < earlier->call->count; i++) {
        const struct tp_array *there = &earlier->arrays[i];
        if (!own->arrays[i].value || !there->value ||
            !same_shape(&own->arrays[i], there) ||
            !tp_tries_fit_with(t, &own->arrays[i], there->value))
            continue;
        char what[80];
        snprintf(what, sizeof what, "its argument %.30s was that of",
                 own->place->items[own->call->first + i].argument);
        const struct other from = {other->place, earlier->call};
        say_from(t, what, &from);
        return true;
    }
    return false;
}

static bool fits_other(struct tp_tries *t, const struct other *other)
{
    struct tp_error err = {0};
    struct tp_replay_call call = {.place = other->place,
                                  .call = other->call,
                                  .signature = t->call.signature};
    if (other->call->count != t->call.call->count ||
        !tp_replay_did(&t->call, tp_replay_call_load(&call, &err)))
        return false;
    const bool fit =
        fits_tensor(t, &t->call, &call, other) ||
        (t->call.forward && call.forward &&
         call.forward->call->count == t->call.forward->call->count &&
         fits_tensor(t, t->call.forward, call.forward, other));
    tp_replay_call_clear(&call);
    return fit;
}

bool tp_try_stale(struct tp_tries *t)
{
    struct other others[CALLS_BACK + 1];
    const size_t count = find_others(t, others);
    for (size_t i = 0; i < count; i++)
        if (fits_other(t, &others[i]))
            return true;
    return false;
}
