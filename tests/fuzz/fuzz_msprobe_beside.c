/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/msprobe/msprobe_stack.h"
#include "formats/msprobe/msprobe_tree.h"
#include "fuzz.h"

/*
 * The files beside dump.json, stack.json and construct.json: each input is read
 * as both, at once and some bytes at a time, which must tell the same. The
 * first byte of an input says how many bytes.
 */

struct seen {
    size_t stacks, calls, nodes, bytes;
};

static enum tp_status see_stack(void *context, const struct tp_json *lines,
                                struct tp_error *err)
{
    struct seen *seen = context;
    (void)err;
    fuzz_need(lines->kind == TP_JSON_LIST, "a stack is a list");
    seen->stacks++;
    for (const struct tp_json *at = lines->first; at; at = at->next)
        seen->bytes += at->kind == TP_JSON_STRING ? strlen(at->text) : 1;
    return TP_OK;
}

static enum tp_status see_call(void *context, const char *call,
                               struct tp_error *err)
{
    struct seen *seen = context;
    (void)err;
    fuzz_need(seen->stacks > 0, "a call has a stack");
    seen->calls++;
    seen->bytes += strlen(call);
    return TP_OK;
}

static enum tp_status see_parent(void *context, const char *call,
                                 const char *parent, struct tp_error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->nodes++;
    seen->bytes += strlen(call) + strlen(parent);
    return TP_OK;
}

/* Reads the input as both; what was wrong with it is the same for both. */
static enum tp_status see(const void *data, size_t size, size_t chunk,
                          struct seen *seen, struct tp_error *err)
{
    const struct tp_msprobe_stack_sink stack = {seen, see_stack, see_call};
    const struct tp_msprobe_tree_sink tree = {seen, see_parent};
    struct tp_error other = {0};
    enum tp_status status =
        tp_msprobe_read_stack_memory(data, size, chunk, &stack, err);
    enum tp_status again =
        tp_msprobe_read_tree_memory(data, size, chunk, &tree, &other);
    fuzz_need(status == again && err->offset == other.offset,
              "it is JSON for both or for none");
    fuzz_need((status == TP_OK) == (err->code == TP_OK), "an error is worded");
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct seen whole = {0}, pieces = {0};
    struct tp_error err = {0}, other = {0};
    struct fuzz_guard guard = fuzz_guard_copy(data + 1, size - 1);
    enum tp_status status = see(guard.data, size - 1, size, &whole, &err);
    enum tp_status in_pieces =
        see(guard.data, size - 1, (size_t)data[0] + 1, &pieces, &other);
    fuzz_need(status == in_pieces && err.offset == other.offset &&
                  memcmp(&whole, &pieces, sizeof whole) == 0,
              "the same by any number of bytes");
    fuzz_guard_free(&guard);
    return 0;
}
