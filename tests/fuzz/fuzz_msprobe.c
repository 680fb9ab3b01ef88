/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/msprobe/msprobe_dump.h"
#include "fuzz.h"

/*
 * dump.json of msprobe, at once and some bytes at a time: both must find the
 * same calls. The first byte of an input says how many bytes.
 */

struct seen {
    size_t calls, items, bytes;
    size_t size; /* of the input */
};

static enum tp_status see_call(void *context,
                               const struct tp_msprobe_call *call,
                               struct tp_error *err)
{
    struct seen *seen = context;
    (void)err;
    fuzz_need(call->order == seen->calls, "calls are counted");
    fuzz_need(call->offset >= 0 && (size_t)call->offset < seen->size,
              "an entry is in the file");
    struct tp_msprobe_name name;
    const size_t length = strlen(call->key);
    fuzz_need(!tp_msprobe_name_parse(call->key, length, &name) ||
                  name.call.length <= length,
              "a name is part of the key");
    seen->calls++;
    seen->items += call->items.count;
    for (size_t i = 0; i < call->items.count; i++) {
        const struct tp_msprobe_item *item = &call->items.items[i];
        fuzz_need(item->place != TP_MSPROBE_CALL, "an item has a place");
        const char *type = tp_json_text(item->value, "type", "");
        seen->bytes += strlen(item->argument) + strlen(type) +
                       (size_t)tp_msprobe_is_tensor(type);
    }
    return TP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct seen whole = {.size = size}, pieces = {.size = size};
    struct tp_error err = {0}, other = {0};
    struct fuzz_guard guard = fuzz_guard_copy(data + 1, size - 1);
    const struct tp_msprobe_sink one = {&whole, see_call, NULL},
                                 two = {&pieces, see_call, NULL};
    enum tp_status status =
        tp_msprobe_read_memory(guard.data, size - 1, size, &one, &err);
    enum tp_status in_pieces = tp_msprobe_read_memory(
        guard.data, size - 1, (size_t)data[0] + 1, &two, &other);
    fuzz_need((status == TP_OK) == (err.code == TP_OK), "an error is worded");
    fuzz_need(status == in_pieces && whole.calls == pieces.calls &&
                  whole.items == pieces.items && whole.bytes == pieces.bytes &&
                  err.offset == other.offset,
              "the same calls by any number of bytes");
    fuzz_guard_free(&guard);
    return 0;
}
