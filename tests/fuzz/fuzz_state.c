/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "state/state.h"
#include "state/state_image.h"
#include "tensors/quantised.h"

/*
 * The parts of a state, each as four bytes of length and so many bytes: what a
 * file with a right CRC-32 may hold. Whatever is accepted can be used as rows
 * are: every text, sum, cast, axis and code is read, and records are fitted to
 * a larger run.
 */

static uint64_t use_text(const char *text)
{
    fuzz_need(text != NULL, "a text is there");
    return strlen(text);
}

static uint64_t use_casts(const struct tp_row *row, size_t casts)
{
    size_t cast;
    uint64_t seen = 0;
    struct tp_quant_error error;
    const uint8_t *at = row->quant;
    while ((at = tp_quant_next(at, &cast, &error))) {
        fuzz_need(cast < casts, "a cast is of the plan");
        seen += error.values;
    }
    return seen;
}

static uint64_t use_dims(const struct tp_row *row)
{
    double sum = 0;
    for (size_t i = 0; row->dims && i < row->dims->count; i++) {
        const struct tp_dim_axis *axis = &row->dims->axes[i];
        for (size_t k = 0; k < axis->kept; k++)
            sum += axis->worst[k].max;
        sum += (double)strlen(tp_dim_risk_name(axis->risk));
    }
    return sum > 0;
}

static uint64_t use_codes(const struct tp_row *row)
{
    const struct tp_quantised *q = row->quantised;
    double sum = 0;
    if (!q)
        return 0;
    for (uint64_t i = 0; q->share && i < q->codes; i++)
        sum += q->share[i] + q->value[i];
    return (sum > 0) + use_text(q->layout) + use_text(q->format) +
           use_text(q->codes_path) + use_text(q->scales_path);
}

static uint64_t use_row(const struct tp_row *row, size_t casts,
                        struct tp_summary *summary)
{
    const struct tp_label *label = &row->label;
    tp_summary_merge_packed(summary, row->packed);
    fuzz_need((unsigned)row->dtype < TP_DTYPE_COUNT, "a dtype is known");
    return use_text(row->file) + use_text(row->path) + use_text(row->shape) +
           use_text(label->layer_type) + use_text(label->operation) +
           use_text(label->phase) + use_text(label->component) +
           use_text(label->quant_type) + use_text(label->tensor_name) +
           use_text(label->timestamp) + use_text(label->module) +
           use_text(tp_row_target_word(row)) + use_casts(row, casts) +
           use_dims(row) + use_codes(row);
}

static void use_state(struct tp_state *state)
{
    struct tp_summary *summary = calloc(1, sizeof *summary);
    volatile uint64_t seen = 0;
    fuzz_need(summary != NULL, "memory");
    for (size_t i = 0; i < state->records.count; i++) {
        struct tp_record *record = &state->records.items[i];
        seen += use_text(record->path);
        for (size_t k = 0; k < record->row_count; k++)
            seen += use_row(&record->rows[k], state->casts, summary);
        for (size_t k = 0; k < record->skipped_count; k++)
            seen += use_text(record->skipped[k].reason);
        for (size_t k = 0; k < record->tie_count; k++)
            seen += use_text(record->ties[k]);
        tp_record_seal(record);
        tp_record_fit_dims(record, 4);
    }
    free(summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_state_image image = {.whole = true};
    struct tp_arena arena = {0};
    struct tp_state state = {.records = {.arena = &arena}};
    struct tp_memo memo;
    struct tp_error err = {0};
    tp_memo_init(&memo);
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        uint32_t length = 0;
        if (size >= sizeof length)
            memcpy(&length, data, sizeof length);
        const size_t head = size < sizeof length ? size : sizeof length;
        data += head;
        size -= head;
        const size_t take = length < size ? length : size;
        struct tp_state_bytes *part = &image.parts[i];
        part->data = malloc(take + 1);
        fuzz_need(part->data != NULL, "memory");
        if (take)
            memcpy(part->data, data, take);
        part->size = take;
        part->capacity = take + 1;
        data += take;
        size -= take;
    }
    enum tp_status status = tp_state_decode(&image, &state, &memo, &err);
    fuzz_need(status == TP_OK || status == TP_E_DAMAGED, "good or damaged");
    if (status == TP_OK)
        use_state(&state);
    tp_state_image_clear(&image);
    tp_state_clear(&state);
    tp_memo_clear(&memo);
    tp_arena_clear(&arena);
    return 0;
}
