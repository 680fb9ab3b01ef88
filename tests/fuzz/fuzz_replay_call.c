/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump_call.h"
#include "dump/dump_read.h"
#include "fuzz.h"
#include "replay/perturb.h"
#include "replay/replay.h"

/*
 * Calls of a dump.json, whose small tensors are filled with numbers from its
 * bytes: what the arguments mean, what is inferred of them, kernels and
 * gradients, once as they are and once perturbed. Whatever a call says, it is
 * computed, with results as the dump has them, or refused with a sentence.
 */

enum { CALLS = 8, ELEMENTS = 512, MOST = 1 << 14 };

/* Numbers in a fixed order. */
struct source {
    uint64_t state;
};

static uint64_t next(struct source *source)
{
    source->state =
        source->state * 6364136223846793005ULL + 1442695040888963407;
    return source->state >> 33;
}

/* Small numbers, some of which are none; places and flags of integers. */
static double number(struct source *source, enum tp_dtype dtype)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e300};
    const uint64_t n = next(source);
    if (dtype == TP_BOOL)
        return (double)(n & 1);
    if (tp_dtype_info(dtype)->kind == TP_CLASS_INTEGER)
        return (double)(n % 6) - (n % 64 == 0);
    return n % 61 == 0 ? special[n / 61 % 6] : ((double)(n % 256) - 128) / 32;
}

/* A tensor of an item; false: it is not a small one. */
static bool fill(const struct tp_dump_item *item, struct source *source,
                 struct tp_array *array)
{
    struct tp_error err = {0};
    int64_t count = 1;
    if (!item->has_shape || item->element == TP_DTYPE_COUNT ||
        tp_dtype_info(item->element)->kind == TP_CLASS_COMPLEX)
        return false;
    for (int i = 0; i < item->dims; i++) {
        count = item->shape[i] == 0 ? 0 : count;
        if (count > 0 && item->shape[i] > ELEMENTS / count)
            return false;
        count *= count ? item->shape[i] : 0;
    }
    array->dtype = item->element;
    if (tp_array_make(array, item->dims, item->shape, &err) != TP_OK)
        return false;
    for (int64_t i = 0; i < array->count; i++)
        array->value[i] = number(source, item->element);
    return true;
}

/* As tp_replay_call_load, without files; of a forward call of a backward call
 * also the results. */
static bool load(struct tp_replay_call *replay, bool results,
                 struct source *source)
{
    const size_t count = replay->call->count;
    replay->unit = tp_dtype_rounding(TP_FLOAT32);
    replay->arrays = calloc(count + 1, sizeof *replay->arrays);
    replay->outputs = calloc(count + 1, sizeof *replay->outputs);
    if (!replay->arrays || !replay->outputs)
        abort();
    replay->output_capacity = count + 1;
    bool right = true;
    for (size_t i = 0; right && i < count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        const bool result = item->place == TP_MSPROBE_OUTPUT;
        struct tp_array *to = result && results
                                  ? &replay->outputs[replay->output_count]
                                  : &replay->arrays[i];
        if (item->kind != TP_DUMP_TENSOR || item->element == TP_DTYPE_COUNT)
            continue;
        replay->own = fmax(replay->own, tp_dtype_rounding(item->element));
        if (result && !results)
            continue;
        replay->output_count += result;
        right = fill(item, source, to);
    }
    return right;
}

static bool begin(const struct tp_dump_place *place,
                  const struct tp_dump_call *call,
                  const struct tp_operator *row, struct source *source,
                  struct tp_replay_call *replay)
{
    *replay = (struct tp_replay_call){
        .place = place, .call = call, .signature = row->signature};
    if (!load(replay, false, source))
        return false;
    if (call->name.direction != TP_BACKWARD)
        return true;
    const struct tp_dump_call *before = tp_dump_forward_of(place, call);
    struct tp_replay_call *forward = calloc(1, sizeof *forward);
    if (!forward)
        abort();
    replay->forward = forward;
    if (!before) {
        free(forward);
        replay->forward = NULL;
        return false;
    }
    *forward = (struct tp_replay_call){
        .place = place, .call = before, .signature = row->signature};
    const bool right = load(forward, true, source);
    replay->own = fmax(replay->own, forward->own);
    return right;
}

static void run(struct tp_replay_call *replay, const struct tp_operator *row)
{
    struct tp_error err = {0};
    const enum tp_status status = tp_replay_run(replay, row, &err);
    fuzz_need(status == TP_OK || *err.message, "a refusal is worded");
    for (size_t i = 0; status == TP_OK && i < replay->output_count; i++) {
        const struct tp_dump_item *item = tp_replay_result(replay, i);
        const struct tp_array *output = &replay->outputs[i];
        fuzz_need(item && item->has_shape && item->dims == output->dims &&
                      !memcmp(item->shape, output->shape,
                              (size_t)item->dims * sizeof *item->shape),
                  "a result has the shape that was dumped");
    }
    tp_replay_outputs_clear(replay);
}

/* Whether results are small, too: a view may say that it is any size. */
static bool is_small(const struct tp_replay_call *replay)
{
    const struct tp_dump_item *item;
    for (size_t i = 0; (item = tp_replay_result(replay, i)); i++) {
        int64_t count = 1;
        for (int k = 0; k < item->dims; k++) {
            if (item->shape[k] > MOST / (count ? count : 1))
                return false;
            count *= item->shape[k];
        }
    }
    return true;
}

static void see(const struct tp_dump_place *place,
                const struct tp_dump_call *call, struct source *source)
{
    enum tp_replay_state state;
    struct tp_replay_call replay = {.place = place, .call = call};
    struct tp_error err = {0};
    const bool backward = call->known && call->name.direction == TP_BACKWARD;
    const struct tp_operator *row =
        backward ? tp_replay_backward_operator(call, &state)
                 : tp_replay_operator(call, &state);
    if (!row || state != TP_REPLAY_JUDGED || !is_small(&replay))
        return;
    if (begin(place, call, row, source, &replay)) {
        struct tp_perturbation change = {0};
        const enum tp_perturb_mode mode =
            (enum tp_perturb_mode)(next(source) % TP_PERTURB_MODES);
        const enum tp_perturb_compat compat =
            next(source) % 2 ? TP_COMPAT_MSPROBE : TP_COMPAT_NONE;
        run(&replay, row);
        replay.anew = true;
        if (tp_perturb_begin(&replay, mode, compat, &change, &err) == TP_OK)
            run(&replay, row);
        tp_perturb_end(&change);
    }
    tp_replay_call_clear(&replay);
}

/* --- mutation ------------------------------------------------------------- */

/* libFuzzer's own; absent where known inputs are replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
    __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed);

/* Digits at a place of a text. */
static size_t digits_at(const uint8_t *data, size_t size, size_t at)
{
    size_t count = 0;
    while (at + count < size && data[at + count] >= '0' &&
           data[at + count] <= '9')
        count++;
    return count;
}

/* Puts other digits in the stead of some, at a place; the new size. */
static size_t replace(uint8_t *data, size_t size, size_t at, size_t count,
                      const char *digits)
{
    const size_t length = strlen(digits);
    memmove(data + at + length, data + at + count, size - at - count);
    memcpy(data + at, digits, length);
    return size - count + length;
}

/* Another number, mostly wherever it stands: lengths of tensors belong
 * together, and a call with one that does not is refused at once. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    static const char *const others[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "8",
                                         "-1",
                                         "1e300",
                                         "1099511627776",
                                         "2147483647",
                                         "9223372036854775807",
                                         "-9223372036854775808"};
    struct source source = {seed};
    char old[32], text[24];
    const unsigned kind = (unsigned)(next(&source) % 4);
    size_t at = size ? next(&source) % size : 0, count = 0;
    while (at < size && (count = digits_at(data, size, at)) == 0)
        at++;
    if (kind == 0 || count == 0 || count >= sizeof old)
        return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
    memcpy(old, data + at, count);
    const char *other =
        others[next(&source) % (sizeof others / sizeof *others)];
    snprintf(text, sizeof text, "%s", other);
    for (size_t i = kind == 1 ? at : 0; i < size;) {
        const size_t here = digits_at(data, size, i);
        const bool same = here == count && !memcmp(data + i, old, count);
        if (same && size - count + strlen(text) <= most) {
            size = replace(data, size, i, count, text);
            i += strlen(text);
            if (kind == 1)
                break;
            continue;
        }
        i += here ? here : 1;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct tp_dump dump = {.place_count = 0};
    struct tp_error err = {0};
    struct source source = {size};
    dump.places = calloc(1, sizeof *dump.places);
    if (!dump.places)
        abort();
    tp_dump_place_init(&dump.places[0]);
    dump.place_count = 1;
    for (size_t i = 0; i < size; i++)
        source.state = source.state * 31 + data[i];
    tp_dump_read_memory(guard.data, size, &dump.places[0], &err);
    for (size_t i = 0; i < dump.places[0].call_count && i < CALLS; i++)
        see(&dump.places[0], &dump.places[0].calls[i], &source);
    tp_dump_clear(&dump);
    fuzz_guard_free(&guard);
    return 0;
}
