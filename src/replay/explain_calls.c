/* SPDX-License-Identifier: MIT */
/*
 * What a kernel may have had in its memory from an earlier call of its API, or
 * from the same call of the step before: results, and arguments one by one.
 * Cost: a run of the kernel for each argument of at most nine calls.
 */
#include "replay/explain_tries.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How far back other calls of an API are looked at. */
enum { CALLS_BACK = 8 };

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

/* Whether all tensors that go into an earlier call go into this one, too: then
 * it gives the same, right or wrong. What cannot be read is not the same. */
static bool has_same_given(const struct tp_tries *t, const struct other *other)
{
    struct tp_error err = {0};
    struct tp_replay_call call = {.place = other->place,
                                  .call = other->call,
                                  .signature = t->call.signature};
    bool same = other->call->count == t->call.call->count &&
                tp_replay_call_load(&call, &err) == TP_OK;
    for (size_t i = 0; same && i < t->call.call->count; i++) {
        const struct tp_array *own = &t->call.arrays[i];
        if (own->value || call.arrays[i].value)
            same = own->value && call.arrays[i].value &&
                   same_values(own, &call.arrays[i]);
    }
    tp_replay_call_clear(&call);
    return same;
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
        const bool same = item && tp_array_read(item, &array, &err) == TP_OK &&
                          same_values(&t->dumped[i], &array);
        tp_array_clear(&array);
        if (!same)
            return false;
        any = true;
    }
    return any;
}

bool tp_try_kept(struct tp_tries *t)
{
    struct other others[CALLS_BACK + 1];
    const size_t count = find_others(t, others);
    for (size_t i = 0; i < count; i++)
        if (is_kept(t, &others[i]) && !has_same_given(t, &others[i])) {
            say_from(t, "it is the result of", &others[i]);
            return true;
        }
    return false;
}

/* The tensors of an earlier call in the place of this one's. */
static bool fits_other(struct tp_tries *t, const struct other *other)
{
    struct tp_error err = {0};
    struct tp_replay_call call = {.place = other->place,
                                  .call = other->call,
                                  .signature = t->call.signature};
    bool fit = false;
    if (other->call->count != t->call.call->count ||
        tp_replay_call_load(&call, &err) != TP_OK)
        return false;
    for (size_t i = 0; i < t->call.call->count && !fit; i++) {
        const struct tp_array *own = &t->call.arrays[i];
        if (!own->value || !call.arrays[i].value ||
            !same_shape(own, &call.arrays[i]))
            continue;
        fit = tp_tries_fit_with(t, i, call.arrays[i].value);
        if (fit) {
            char what[80];
            snprintf(what, sizeof what, "its argument %.30s was that of",
                     t->call.place->items[t->call.call->first + i].argument);
            say_from(t, what, other);
        }
    }
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
