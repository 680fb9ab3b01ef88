/* SPDX-License-Identifier: MIT */
/*
 * A call's rows are next to each other; one walk sums them up. The same calls
 * of all ranks are then brought together by their names, and the worst stands
 * for them: by msprobe's verdict, then by how far its results are off.
 */
#include "compare/compare_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "compare/compare_group.h"
#include "dump/dump_call.h"

static void keep_largest(double *worst, double value)
{
    if (!isnan(value) && !(value <= *worst))
        *worst = value;
}

/* --- calls ---------------------------------------------------------------- */

static void add_row(const struct tp_comparison *comparison,
                    const struct tp_compare_pair *pair,
                    const struct tp_compare_line *row,
                    struct tp_compare_call *call)
{
    const struct tp_compare_entry *entry = tp_compare_row_a(pair, row);
    const bool output = tp_compare_is_output(entry);
    const bool matched = row->b != TP_COMPARE_NONE;
    const bool equal = tp_compare_is_equal(pair, row, comparison->mode);
    const double error = tp_compare_error(pair, row, comparison->mode);
    const double before = fmax(call->error_in, call->error_out);
    call->rows++;
    call->matched += matched;
    call->equal += equal;
    call->arguments += matched && !output;
    call->results_unequal += matched && !equal && output;
    call->arguments_unequal += matched && !equal && !output;
    keep_largest(output ? &call->error_out : &call->error_in, error);
    if (!isnan(error) && error > 0 && !(error <= before))
        call->worst = entry->name;
    if (row->result > call->level)
        call->level = row->result;
}

static const char *module_of(struct tp_comparison *comparison,
                             const struct tp_dump_place *place,
                             const struct tp_dump_call *call)
{
    const struct tp_msprobe_part path = tp_dump_call_module(place, call);
    const char *text = tp_arena_text(&comparison->arena, path.at, path.length);
    return text ? text : "";
}

/* Begins the call of a row. */
static struct tp_compare_call begin(struct tp_comparison *comparison,
                                    size_t pair, size_t row)
{
    const struct tp_compare_pair *its = &comparison->pairs[pair];
    const struct tp_dump_place *place = its->a.place;
    const size_t index = tp_compare_row_a(its, &its->rows[row])->call;
    const struct tp_dump_call *call = &place->calls[index];
    return (struct tp_compare_call){.name = call->key,
                                    .module =
                                        module_of(comparison, place, call),
                                    .step = place->step,
                                    .rank = place->rank,
                                    .order = (int64_t)index,
                                    .error_in = NAN,
                                    .error_out = NAN,
                                    .worst = "",
                                    .pair = pair,
                                    .first = row};
}

static void sum_up(struct tp_comparison *comparison, size_t pair,
                   struct tp_compare_calls *calls)
{
    const struct tp_compare_pair *its = &comparison->pairs[pair];
    struct tp_compare_call *call = NULL;
    for (size_t i = 0; i < its->row_count; i++) {
        const struct tp_compare_line *row = &its->rows[i];
        const size_t index = tp_compare_row_a(its, row)->call;
        if (!call || call->order != (int64_t)index) {
            call = &calls->rows[calls->count++];
            *call = begin(comparison, pair, i);
        }
        add_row(comparison, its, row, call);
        call->adds = call->results_unequal && !call->arguments_unequal &&
                     call->matched == call->rows;
        call->result = tp_compare_result_words[call->level];
    }
}

/* --- over ranks ----------------------------------------------------------- */

/* Whether a is worse than b. */
static bool is_worse(enum tp_compare_result level, double error,
                     const struct tp_compare_api *than)
{
    if (level != than->level)
        return level > than->level;
    return !isnan(error) && !(error <= than->error_out);
}

static void add_call(const struct tp_compare_call *call,
                     struct tp_compare_api *api)
{
    if (!api->name || is_worse(call->level, call->error_out, api)) {
        api->worst_step = call->step;
        api->worst_rank = call->rank;
        api->error_in = call->error_in;
        api->error_out = call->error_out;
        api->result = call->result;
        api->level = call->level;
        api->worst = call->worst;
    }
    api->name = call->name;
    api->places++;
    api->errors += call->level == TP_COMPARE_ERROR;
    api->warnings += call->level == TP_COMPARE_WARNING;
}

static int compare_apis(const void *left, const void *right)
{
    const struct tp_compare_api *a = left, *b = right;
    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    const double of_a = isnan(a->error_out) ? -1 : a->error_out;
    const double of_b = isnan(b->error_out) ? -1 : b->error_out;
    return of_a != of_b ? (of_a > of_b ? -1 : 1) : strcmp(a->name, b->name);
}

static enum tp_status merge(struct tp_compare_calls *calls,
                            struct tp_error *err)
{
    const size_t count = calls->count;
    const char **names = calloc(count + 1, sizeof *names);
    size_t *groups = calloc(count + 1, sizeof *groups);
    enum tp_status status = names && groups ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++)
        names[i] = calls->rows[i].name;
    if (status == TP_OK)
        status = tp_compare_group(names, count, groups, &calls->api_count, err);
    if (status == TP_OK) {
        calls->apis = calloc(calls->api_count + 1, sizeof *calls->apis);
        if (!calls->apis)
            status = tp_fail_memory(err);
    }
    for (size_t i = 0; i < count && status == TP_OK; i++)
        add_call(&calls->rows[i], &calls->apis[groups[i]]);
    if (status == TP_OK && calls->api_count)
        qsort(calls->apis, calls->api_count, sizeof *calls->apis, compare_apis);
    free(names);
    free(groups);
    return status;
}

/* --- all ------------------------------------------------------------------ */

enum tp_status tp_compare_calls_make(struct tp_comparison *comparison,
                                     struct tp_compare_calls *calls,
                                     struct tp_error *err)
{
    size_t most = 1;
    for (size_t i = 0; i < comparison->pair_count; i++)
        most += comparison->pairs[i].a.place->call_count;
    calls->rows = calloc(most, sizeof *calls->rows);
    if (!calls->rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < comparison->pair_count; i++)
        sum_up(comparison, i, calls);
    return merge(calls, err);
}

void tp_compare_calls_clear(struct tp_compare_calls *calls)
{
    free(calls->rows);
    free(calls->apis);
    memset(calls, 0, sizeof *calls);
}

static const struct tp_column call_columns[] = {
    TP_COLUMN(struct tp_compare_call, step, "1"),
    TP_COLUMN(struct tp_compare_call, rank, "1"),
    TP_COLUMN(struct tp_compare_call, order, "1"),
    TP_COLUMN(struct tp_compare_call, name, ""),
    TP_COLUMN(struct tp_compare_call, module, ""),
    TP_COLUMN(struct tp_compare_call, result, ""),
    TP_COLUMN(struct tp_compare_call, rows, "1"),
    TP_COLUMN(struct tp_compare_call, matched, "1"),
    TP_COLUMN(struct tp_compare_call, equal, "1"),
    TP_COLUMN(struct tp_compare_call, arguments_unequal, "1"),
    TP_COLUMN(struct tp_compare_call, results_unequal, "1"),
    TP_COLUMN(struct tp_compare_call, error_in, "1"),
    TP_COLUMN(struct tp_compare_call, error_out, "1"),
    TP_COLUMN(struct tp_compare_call, worst, ""),
};

bool tp_compare_is_tensor(const struct tp_dump_place *place, size_t call)
{
    const struct tp_dump_call *its = &place->calls[call];
    const struct tp_dump_item *item = &place->items[its->first];
    return its->count > 0 && item->place == TP_MSPROBE_CALL && !*item->argument;
}

void tp_compare_calls_table(const struct tp_compare_calls *calls,
                            struct tp_table *table)
{
    *table = TP_TABLE_OF("calls", call_columns, calls->rows, calls->count);
}

static const struct tp_column api_columns[] = {
    TP_COLUMN(struct tp_compare_api, name, ""),
    TP_COLUMN(struct tp_compare_api, result, ""),
    TP_COLUMN(struct tp_compare_api, places, "1"),
    TP_COLUMN(struct tp_compare_api, errors, "1"),
    TP_COLUMN(struct tp_compare_api, warnings, "1"),
    TP_COLUMN(struct tp_compare_api, worst_step, "1"),
    TP_COLUMN(struct tp_compare_api, worst_rank, "1"),
    TP_COLUMN(struct tp_compare_api, error_in, "1"),
    TP_COLUMN(struct tp_compare_api, error_out, "1"),
    TP_COLUMN(struct tp_compare_api, worst, ""),
};

void tp_compare_apis_table(const struct tp_compare_calls *calls,
                           struct tp_table *table)
{
    *table = TP_TABLE_OF("apis", api_columns, calls->apis, calls->api_count);
}
