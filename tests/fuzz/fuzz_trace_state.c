/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "state/state_image.h"
#include "state/trace_state.h"
#include "trace/trace_join.h"
#include "trace/trace_lists.h"
#include "trace/trace_run.h"
#include "verdict/trace_judge.h"

/*
 * The words and rows of a state of traces: four bytes of length and so many
 * bytes of words, then the rows, what a file with a right CRC-32 may hold.
 * Whatever is accepted is joined to a run and judged as other traces are, and
 * every text of a table is read.
 */

static size_t use_tables(const struct tp_trace *trace)
{
    size_t seen = 0;
    for (enum tp_trace_list i = 0; i < TP_TRACE_JOINED; i++) {
        const struct tp_table table = tp_trace_list_table(trace, i);
        for (size_t row = 0; row < table.row_count; row++) {
            for (size_t c = 0; c < table.column_count; c++) {
                if (table.columns[c].type == TP_COLUMN_TEXT)
                    seen +=
                        strlen(tp_cell_text(&table, row, &table.columns[c]));
            }
        }
    }
    return seen;
}

static void use_state(struct tp_trace_state *state)
{
    struct tp_trace_run run = {.trace_count = 0};
    struct tp_trace_judged judged;
    const struct tp_trace_limits limits = tp_trace_limits_default();
    const struct tp_roof_choice roofs = {.device = NULL};
    struct tp_error err = {0};
    volatile size_t seen = 0;
    memset(&judged, 0, sizeof judged);
    fuzz_need(tp_trace_run_join(&state->records, &roofs, &run, &err) == TP_OK,
              "records become a run");
    for (size_t i = 0; i < run.trace_count; i++)
        seen += use_tables(&run.traces[i]);
    if (run.trace_count)
        fuzz_need(tp_trace_judge(&run, &limits, &judged, &err) == TP_OK,
                  "a run is judged");
    tp_trace_judged_clear(&judged);
    tp_trace_run_clear(&run);
}

static void set_part(struct tp_state_image *image, int part,
                     const uint8_t *data, size_t size)
{
    struct tp_state_bytes *bytes = &image->parts[part];
    bytes->data = malloc(size + 1);
    fuzz_need(bytes->data != NULL, "memory");
    if (size)
        memcpy(bytes->data, data, size);
    bytes->size = size;
    bytes->capacity = size + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_state_image image = {.whole = true, .traces = true};
    struct tp_arena arena = {0};
    struct tp_trace_state state = {.records = {.arena = &arena}};
    struct tp_error err = {0};
    uint32_t length = 0;
    if (size < sizeof length)
        return 0;
    memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    const size_t words = length < size ? length : size;
    set_part(&image, TP_STATE_OPTIONS, (const uint8_t *)"", 1);
    set_part(&image, TP_STATE_ROOTS, (const uint8_t *)"", 1);
    set_part(&image, TP_STATE_WORDS, data, words);
    set_part(&image, TP_STATE_RESULTS, data + words, size - words);
    enum tp_status status = tp_trace_state_decode(&image, &state, &err);
    fuzz_need(status == TP_OK || status == TP_E_DAMAGED, "good or damaged");
    if (status == TP_OK)
        use_state(&state);
    tp_state_image_clear(&image);
    tp_trace_state_clear(&state);
    tp_arena_clear(&arena);
    return 0;
}
