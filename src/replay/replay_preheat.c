/* SPDX-License-Identifier: MIT */
/*
 * msprobe's preheat. The first step counts the calls of each API. Each of the
 * steps 1 to N - 1 samples min(ceil(calls / N), most) of them, calls number
 * (N (i - 1) + step) mod calls, and asks of each whether the device agrees with
 * the processor. If those that do have smaller ratios than those that do not,
 * the limit goes to the least ratio of the latter and stays; if all agree it is
 * doubled or halved (what is above 1 of it), as a ratio was beyond it or not;
 * if none does it goes to their least ratio and stays. It begins at 2.05, per
 * API and dtype, and is never below the usual one. Samples of a step before the
 * last one adjust nothing. Alternative: quantiles of all ratios; but then its
 * limits would not be msprobe's. Cost: a look through the APIs for each call.
 */
#include "replay/replay_preheat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const double first_limit = 2.05;

/* What the samples of a step say. */
struct seen {
    bool good, bad;              /* any that agrees, that does not           */
    double most_good, least_bad; /* ratios of these                         */
};

/* Of an API and a dtype. */
struct limit {
    const char *dtype;
    double value, least;
    bool fixed;
    struct seen seen;
};

/* An API of a rank. */
struct api {
    const char *name;
    size_t length;
    int64_t rank, step; /* the step that `called` and `sampled` count in    */
    uint64_t total, called, sampled;
    struct limit *limits;
    size_t count, capacity;
};

struct heater {
    struct api *apis;
    size_t count, capacity;
    uint64_t steps, most;
    struct tp_error *err;
};

static struct api *api_of(struct heater *h, const struct tp_preheat_call *call)
{
    for (size_t i = 0; i < h->count; i++) {
        struct api *api = &h->apis[i];
        if (api->rank == call->rank && api->length == call->api_length &&
            !memcmp(api->name, call->api, api->length))
            return api;
    }
    if (tp_grow(&h->apis, &h->capacity, h->count + 1, sizeof *h->apis,
                h->err) != TP_OK)
        return NULL;
    h->apis[h->count] = (struct api){
        .name = call->api, .length = call->api_length, .rank = call->rank};
    return &h->apis[h->count++];
}

static struct limit *limit_of(struct heater *h, struct api *api,
                              const struct tp_preheat_call *call)
{
    for (size_t i = 0; i < api->count; i++)
        if (!strcmp(api->limits[i].dtype, call->dtype))
            return &api->limits[i];
    if (tp_grow(&api->limits, &api->capacity, api->count + 1,
                sizeof *api->limits, h->err) != TP_OK)
        return NULL;
    api->limits[api->count] = (struct limit){
        .dtype = call->dtype, .value = first_limit, .least = call->least};
    return &api->limits[api->count++];
}

/* The samples that a step takes of an API. */
static uint64_t samples_of(const struct heater *h, const struct api *api)
{
    const uint64_t share = (api->total + h->steps - 1) / h->steps;
    return share < h->most ? share : h->most;
}

/* Whether call number `called` of this step is one of them. */
static bool is_sampled(const struct heater *h, const struct api *api)
{
    const uint64_t samples = samples_of(h, api);
    for (uint64_t i = 0; api->total && i < samples; i++) {
        const uint64_t number =
            (h->steps * i + (uint64_t)api->step) % api->total;
        if (api->called == (number ? number : api->total))
            return true;
    }
    return false;
}

static void adjust(struct limit *limit)
{
    const struct seen *seen = &limit->seen;
    double value = limit->value;
    if (seen->good && seen->bad) {
        if (seen->least_bad > seen->most_good) {
            value = fmin(seen->least_bad, value);
            limit->fixed = true;
        }
    } else if (seen->good) {
        value =
            1 + (seen->most_good > value ? (value - 1) * 2 : (value - 1) / 2);
    } else if (seen->bad) {
        value = fmin(seen->least_bad, value);
        limit->fixed = true;
    }
    limit->value = fmax(value, limit->least);
}

static void sample(struct heater *h, struct api *api, struct limit *limit,
                   const struct tp_preheat_call *call)
{
    struct seen *seen = &limit->seen;
    api->sampled++;
    if (limit->fixed)
        return;
    if (call->cpu_consistent)
        seen->most_good =
            seen->good ? fmax(seen->most_good, call->ratio) : call->ratio;
    else
        seen->least_bad =
            seen->bad ? fmin(seen->least_bad, call->ratio) : call->ratio;
    seen->good |= call->cpu_consistent;
    seen->bad |= !call->cpu_consistent;
    for (size_t i = 0; api->sampled >= samples_of(h, api) && i < api->count;
         i++)
        if (api->limits[i].seen.good || api->limits[i].seen.bad)
            adjust(&api->limits[i]);
}

static void begin_step(struct api *api, int64_t step)
{
    api->step = step;
    api->called = api->sampled = 0;
    for (size_t i = 0; i < api->count; i++)
        api->limits[i].seen = (struct seen){.good = false};
}

static enum tp_status take(struct heater *h, struct tp_preheat_call *call)
{
    call->limit = INFINITY;
    call->sample = 0;
    if (!call->compared)
        return TP_OK;
    struct api *api = api_of(h, call);
    if (!api)
        return tp_fail_memory(h->err);
    if (call->step == 0) {
        api->total++;
        return TP_OK;
    }
    if (api->step != call->step)
        begin_step(api, call->step);
    struct limit *limit = limit_of(h, api, call);
    if (!limit)
        return tp_fail_memory(h->err);
    call->limit = limit->value;
    call->total = api->total;
    if ((uint64_t)call->step >= h->steps)
        return TP_OK;
    api->called++;
    if (is_sampled(h, api)) {
        call->sample = api->called;
        sample(h, api, limit, call);
    }
    return TP_OK;
}

enum tp_status tp_preheat(struct tp_preheat_call *calls, size_t count,
                          int64_t steps, int64_t most, struct tp_error *err)
{
    struct heater h = {
        .steps = (uint64_t)steps, .most = (uint64_t)most, .err = err};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = take(&h, &calls[i]);
    for (size_t i = 0; i < h.count; i++)
        free(h.apis[i].limits);
    free(h.apis);
    return status;
}
