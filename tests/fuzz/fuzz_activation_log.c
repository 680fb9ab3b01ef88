/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "dump/dump_activations.h"
#include "formats/torchtitan/activation_log.h"
#include "fuzz.h"

/*
 * A log of torchtitan's activations, and the calls that it becomes: names lie
 * in the file, in order; each call has one result, behind what it was given.
 */

struct seen {
    size_t count, size;
    int64_t last;
};

static enum tp_status see(void *context, const struct tp_activation *one,
                          struct tp_error *err)
{
    struct seen *seen = context;
    (void)err;
    fuzz_need(one->offset > seen->last && (size_t)one->offset < seen->size,
              "a name is in the file, behind the one before");
    fuzz_need(one->ndim <= TP_LIMIT_DIMS, "a shape has its limit");
    seen->last = one->offset;
    seen->count++;
    fuzz_need(strlen(one->name) <= seen->size &&
                  strlen(one->producers) <= seen->size,
              "texts end");
    return TP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct seen seen = {.size = size};
    struct tp_error err = {0};
    struct tp_bytes bytes;
    const struct tp_activation_sink sink = {&seen, see};
    tp_bytes_view(guard.data, size, &bytes);
    enum tp_status status = tp_activation_log_read(&bytes, &sink, &err);
    fuzz_need((status == TP_OK) == (err.code == TP_OK), "an error is worded");
    struct tp_dump dump = {.place_count = 0};
    struct tp_dump_place place;
    tp_dump_place_init(&place);
    fuzz_need(tp_dump_activations_read(&bytes, &place, NULL) == status,
              "calls are read as activations are");
    fuzz_need(place.call_count == seen.count, "a call for each");
    for (size_t i = 0; i < place.call_count; i++) {
        const struct tp_dump_call *call = &place.calls[i];
        fuzz_need(call->count > 0 &&
                      call->first + call->count <= place.item_count,
                  "a call has its items");
        for (size_t k = 0; k < call->count; k++)
            fuzz_need((place.items[call->first + k].place ==
                       TP_MSPROBE_OUTPUT) == (k + 1 == call->count),
                      "the last item is the result");
    }
    dump.places = calloc(1, sizeof place);
    fuzz_need(dump.places != NULL, "memory");
    dump.places[0] = place;
    dump.place_count = 1;
    tp_dump_clear(&dump);
    fuzz_guard_free(&guard);
    return 0;
}
