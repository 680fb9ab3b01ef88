/* SPDX-License-Identifier: MIT */
/*
 * A result goes where the same bits are: tensors are found again by a digest of
 * their elements and dtype, within a step of a rank, in calls behind the one
 * that made them. A tensor whose elements are all equal says nothing about
 * where it comes from and is left out. The consumer is computed twice, with
 * what was dumped and with what replaces it, so that its own kernel cancels.
 * Cost: the tensors of all calls read once for their digests, and again for
 * each result that changes and each call that takes it.
 */
#include "replay/replay_fix.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"

/* A tensor that goes into a call. */
struct taken {
    uint64_t digest;
    size_t place, row, item; /* row of the results; item of the call        */
};

struct slot {
    uint64_t *made; /* digests of results; 0: none                          */
    size_t made_count;
    struct taken *taken;
    size_t taken_count;
    struct tp_fixes fixes;
    enum tp_status status;
};

struct fixer {
    const struct tp_dump *dump;
    const struct tp_replay_options *options;
    const struct tp_replay_results *results;
    bool half_only;
    struct slot *slots;  /* of the rows of the results                      */
    struct taken *taken; /* all, by place, digest, row                      */
    size_t taken_count;
};

static struct tp_replay_call begin(const struct fixer *f, size_t row)
{
    const struct tp_replay_row *r = &f->results->rows[row];
    const struct tp_dump_place *place = &f->dump->places[r->place];
    return (struct tp_replay_call){.place = place,
                                   .call = &place->calls[r->call],
                                   .signature =
                                       r->verdict.operator->signature };
}

static bool is_forward(const struct fixer *f, size_t row)
{
    const struct tp_replay_row *r = &f->results->rows[row];
    return r->verdict.state == TP_REPLAY_JUDGED &&
           f->dump->places[r->place].calls[r->call].name.direction ==
               TP_FORWARD;
}

static bool is_flat(const struct tp_array *array)
{
    for (int64_t i = 1; i < array->count; i++)
        if (array->value[i] != array->value[0])
            return false;
    return true;
}

/* --- digests -------------------------------------------------------------- */

static enum tp_status note_results(const struct tp_replay_call *call,
                                   struct slot *slot, struct tp_error *err)
{
    const struct tp_dump_item *item;
    enum tp_status status = TP_OK;
    slot->made = calloc(call->call->count + 1, sizeof *slot->made);
    if (!slot->made)
        return tp_fail_memory(err);
    for (size_t i = 0; status == TP_OK && (item = tp_replay_result(call, i));
         i++) {
        struct tp_array array = {.dims = 0};
        status = tp_array_read(item, &array, err);
        if (status == TP_OK && !is_flat(&array))
            slot->made[i] = array.digest;
        slot->made_count = i + 1;
        tp_array_clear(&array);
    }
    return status;
}

static enum tp_status note_arguments(const struct tp_replay_call *call,
                                     size_t row, size_t place,
                                     struct slot *slot, struct tp_error *err)
{
    slot->taken = calloc(call->call->count + 1, sizeof *slot->taken);
    if (!slot->taken)
        return tp_fail_memory(err);
    for (size_t i = 0; i < call->call->count; i++)
        if (call->arrays[i].value && !is_flat(&call->arrays[i]))
            slot->taken[slot->taken_count++] =
                (struct taken){call->arrays[i].digest, place, row, i};
    return TP_OK;
}

static bool is_stopped(const struct fixer *f, struct slot *slot)
{
    if (f->options->stop && *f->options->stop)
        slot->status = TP_E_INTERRUPTED;
    return slot->status != TP_OK;
}

static void digest_one(void *context, size_t row, unsigned worker)
{
    struct fixer *f = context;
    struct slot *slot = &f->slots[row];
    struct tp_error err = {0};
    (void)worker;
    if (is_stopped(f, slot) || !is_forward(f, row))
        return;
    struct tp_replay_call call = begin(f, row);
    enum tp_status status = tp_replay_call_load(&call, &err);
    if (status == TP_OK)
        status =
            note_arguments(&call, row, f->results->rows[row].place, slot, &err);
    if (status == TP_OK)
        status = note_results(&call, slot, &err);
    tp_replay_call_clear(&call);
    /* what cannot be read has no digest */
    slot->status = status == TP_E_MEMORY ? status : TP_OK;
}

static int compare_taken(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->digest != y->digest)
        return x->digest < y->digest ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static enum tp_status sort_taken(struct fixer *f, struct tp_error *err)
{
    size_t all = 0;
    for (size_t i = 0; i < f->results->count; i++)
        all += f->slots[i].taken_count;
    f->taken = malloc((all + 1) * sizeof *f->taken);
    if (!f->taken)
        return tp_fail_memory(err);
    for (size_t i = 0; i < f->results->count; i++)
        for (size_t k = 0; k < f->slots[i].taken_count; k++)
            f->taken[f->taken_count++] = f->slots[i].taken[k];
    qsort(f->taken, f->taken_count, sizeof *f->taken, compare_taken);
    return TP_OK;
}

/* --- consumers ------------------------------------------------------------ */

static double change_of(const struct tp_array *a, const struct tp_array *b)
{
    double change = 0, size = 0;
    for (int64_t i = 0; i < a->count; i++) {
        const double x = a->value[i], y = b->value[i];
        if (!isfinite(x) || !isfinite(y))
            continue;
        change += (y - x) * (y - x);
        size += x * x;
    }
    return size > 0 ? sqrt(change / size) : 0;
}

/* The change of a consumer's results together, and their rounding. */
static void compare_results(const struct tp_replay_call *call,
                            const struct tp_array *before, size_t count,
                            struct tp_fix_row *row)
{
    for (size_t i = 0; i < count && i < call->output_count; i++) {
        if (before[i].count != call->outputs[i].count)
            continue;
        row->consumer_change = fmax(row->consumer_change,
                                    change_of(&before[i], &call->outputs[i]));
        row->rounding = fmax(row->rounding, tp_dtype_rounding(before[i].dtype));
    }
}

/* Computes a consumer with `with` in the place of its item. */
static enum tp_status run_consumer(const struct fixer *f,
                                   const struct taken *taken,
                                   const struct tp_array *with,
                                   struct tp_fix_row *row, struct tp_error *err)
{
    const struct tp_operator *operator= f->results->rows[taken->row].verdict.
    operator;
    struct tp_replay_call call = begin(f, taken->row);
    enum tp_status status = tp_replay_call_load(&call, err);
    if (status == TP_OK && call.arrays[taken->item].count != with->count)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "another shape");
    if (status == TP_OK)
        status = tp_replay_run(&call, operator, err);
    struct tp_array *before = call.outputs;
    const size_t count = call.output_count;
    call.outputs = NULL;
    call.output_count = call.output_capacity = 0;
    if (status == TP_OK) {
        memcpy(call.arrays[taken->item].value, with->value,
               (size_t)with->count * sizeof *with->value);
        status = tp_replay_run(&call, operator, err);
    }
    if (status == TP_OK)
        compare_results(&call, before, count, row);
    for (size_t i = 0; i < count; i++)
        tp_array_clear(&before[i]);
    free(before);
    tp_replay_call_clear(&call);
    return status;
}

/* The first tensor of a digest that a later call takes. */
static size_t find_taken(const struct fixer *f, size_t place, size_t row,
                         uint64_t digest)
{
    const struct taken key = {digest, place, row + 1, 0};
    size_t low = 0, high = f->taken_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_taken(&f->taken[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum tp_status add_consumers(const struct fixer *f, size_t row,
                                    size_t result, const struct tp_array *with,
                                    double change, struct tp_error *err)
{
    struct slot *slot = &f->slots[row];
    const struct tp_replay_row *r = &f->results->rows[row];
    const struct tp_dump_place *place = &f->dump->places[r->place];
    const uint64_t digest = slot->made[result];
    bool any = false;
    for (size_t i = find_taken(f, r->place, row, digest);
         digest && i < f->taken_count && f->taken[i].digest == digest &&
         f->taken[i].place == r->place;
         i++) {
        const struct taken *taken = &f->taken[i];
        const struct tp_dump_call *consumer =
            &place->calls[f->results->rows[taken->row].call];
        struct tp_fix_row fix = {
            .step = r->step,
            .rank = r->rank,
            .order = r->order,
            .api_name = r->api_name,
            .output_index = (int64_t)result,
            .consumer = consumer->key,
            .argument = place->items[consumer->first + taken->item].argument,
            .change = change};
        if (run_consumer(f, taken, with, &fix, err) != TP_OK) {
            if (err->code == TP_E_MEMORY)
                return TP_E_MEMORY;
            continue; /* it was judged: only with other values it cannot */
        }
        any = true;
        enum tp_status status =
            tp_grow(&slot->fixes.rows, &slot->fixes.capacity,
                    slot->fixes.count + 1, sizeof fix, err);
        if (status != TP_OK)
            return status;
        slot->fixes.rows[slot->fixes.count++] = fix;
    }
    slot->fixes.consumed += any;
    return TP_OK;
}

/* --- results -------------------------------------------------------------- */

/* Replaces a result by what was computed, rounded, if that is another one. */
static enum tp_status replace(const struct fixer *f, size_t row, size_t result,
                              struct tp_replay_call *call, struct tp_error *err)
{
    struct tp_array *made = &call->outputs[result];
    struct tp_array dumped = {.dims = 0};
    if (made->loose || tp_dtype_rounding(made->dtype) == 0)
        return TP_OK;
    enum tp_status status =
        tp_array_read(tp_replay_result(call, result), &dumped, err);
    if (status == TP_OK && dumped.count == made->count) {
        for (int64_t i = 0; i < made->count; i++)
            made->value[i] = tp_dtype_round(made->dtype, made->value[i]);
        const double change = change_of(&dumped, made);
        f->slots[row].fixes.replaced += change > 0;
        if (change > 0)
            status = add_consumers(f, row, result, made, change, err);
    }
    tp_array_clear(&dumped);
    return status;
}

static bool has_half(const struct tp_replay_call *call)
{
    for (size_t i = 0; i < call->call->count; i++)
        if (call->arrays[i].value && (call->arrays[i].dtype == TP_FLOAT16 ||
                                      call->arrays[i].dtype == TP_BFLOAT16))
            return true;
    return false;
}

static void fix_one(void *context, size_t row, unsigned worker)
{
    struct fixer *f = context;
    struct slot *slot = &f->slots[row];
    struct tp_error err = {0};
    (void)worker;
    if (is_stopped(f, slot) || !is_forward(f, row) || !slot->made)
        return;
    struct tp_replay_call call = begin(f, row);
    enum tp_status status = tp_replay_call_load(&call, &err);
    if (status == TP_OK && (!f->half_only || has_half(&call))) {
        status =
            tp_replay_run(&call, f->results->rows[row].verdict.operator, & err);
        for (size_t i = 0;
             status == TP_OK && i < call.output_count && i < slot->made_count;
             i++)
            status = replace(f, row, i, &call, &err);
    }
    tp_replay_call_clear(&call);
    slot->status = status == TP_E_MEMORY ? status : TP_OK;
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status status_of(const struct fixer *f, struct tp_error *err)
{
    for (size_t i = 0; i < f->results->count; i++) {
        if (f->slots[i].status == TP_E_INTERRUPTED)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        if (f->slots[i].status != TP_OK)
            return tp_fail_memory(err);
    }
    return TP_OK;
}

static enum tp_status collect(const struct fixer *f, struct tp_fixes *fixes,
                              struct tp_error *err)
{
    for (size_t i = 0; i < f->results->count; i++) {
        const struct tp_fixes *own = &f->slots[i].fixes;
        enum tp_status status =
            tp_grow(&fixes->rows, &fixes->capacity, fixes->count + own->count,
                    sizeof *fixes->rows, err);
        if (status != TP_OK)
            return status;
        if (own->count)
            memcpy(fixes->rows + fixes->count, own->rows,
                   own->count * sizeof *own->rows);
        fixes->count += own->count;
        fixes->replaced += own->replaced;
        fixes->consumed += own->consumed;
    }
    return TP_OK;
}

enum tp_status tp_fixes_make(const struct tp_dump *dump,
                             const struct tp_replay_options *options,
                             const struct tp_replay_results *results,
                             bool half_only, struct tp_fixes *fixes,
                             struct tp_error *err)
{
    const size_t count = results->count;
    struct fixer f = {.dump = dump,
                      .options = options,
                      .results = results,
                      .half_only = half_only,
                      .slots = calloc(count + 1, sizeof *f.slots)};
    if (!f.slots)
        return tp_fail_memory(err);
    tp_pool_for(options->pool, count, digest_one, &f);
    enum tp_status status = status_of(&f, err);
    if (status == TP_OK)
        status = sort_taken(&f, err);
    if (status == TP_OK) {
        tp_pool_for(options->pool, count, fix_one, &f);
        status = status_of(&f, err);
    }
    if (status == TP_OK)
        status = collect(&f, fixes, err);
    for (size_t i = 0; i < count; i++) {
        free(f.slots[i].made);
        free(f.slots[i].taken);
        free(f.slots[i].fixes.rows);
    }
    free(f.slots);
    free(f.taken);
    return status;
}

void tp_fixes_clear(struct tp_fixes *fixes)
{
    free(fixes->rows);
    *fixes = (struct tp_fixes){.rows = NULL};
}

void tp_fixes_table(const struct tp_fixes *fixes, struct tp_table *table)
{
    static const struct tp_column columns[] = {
        TP_COLUMN(struct tp_fix_row, step, "1"),
        TP_COLUMN(struct tp_fix_row, rank, "1"),
        TP_COLUMN(struct tp_fix_row, order, "1"),
        TP_COLUMN(struct tp_fix_row, api_name, ""),
        TP_COLUMN(struct tp_fix_row, output_index, "1"),
        TP_COLUMN(struct tp_fix_row, consumer, ""),
        TP_COLUMN(struct tp_fix_row, argument, ""),
        TP_COLUMN(struct tp_fix_row, change, "1"),
        TP_COLUMN(struct tp_fix_row, consumer_change, "1"),
        TP_COLUMN(struct tp_fix_row, rounding, "1"),
    };
    *table = TP_TABLE_OF("fixes", columns, fixes->rows, fixes->count);
}
