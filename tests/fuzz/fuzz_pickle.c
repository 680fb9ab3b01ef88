/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/torch/pickle.h"
#include "fuzz.h"

/*
 * The pickle machine alone, on an input in memory and on the same input as a
 * file, whose window it has to move: both must come to the same end.
 */

static void check_text(const struct tp_value_text *text, size_t size)
{
    static volatile unsigned char sink;
    fuzz_need(text->where <= size, "a text lies in the input");
    for (uint64_t i = 0; text->data && i < text->length; i++)
        sink = (unsigned char)(sink ^ text->data[i]);
}

static void check_items(const struct tp_pickle *pickle,
                        const struct tp_value_items *items)
{
    fuzz_need(items->count <= items->capacity &&
                  (size_t)items->first + items->capacity <= pickle->item_count,
              "items lie in the pool");
    for (uint32_t i = 0; i < items->count; i++) {
        tp_ref ref = pickle->items[items->first + i];
        fuzz_need(ref < pickle->count || ref == TP_REF_NONE,
                  "a reference names a value");
    }
}

static void check_value(const struct tp_pickle *pickle, tp_ref ref, size_t size)
{
    const struct tp_value *value = &pickle->values[ref];
    tp_ref key, item;
    int64_t integer;
    double real;
    fuzz_need((uint64_t)tp_pickle_offset(pickle, ref) < size,
              "a value comes from an opcode of the input");
    switch (value->kind) {
    case TP_VALUE_STRING:
    case TP_VALUE_BYTES:
    case TP_VALUE_BIG_INT:
        check_text(&value->u.text, size);
        break;
    case TP_VALUE_GLOBAL:
        fuzz_need(strlen(value->u.text.data) == value->u.text.length,
                  "a global's name is NUL-terminated");
        break;
    case TP_VALUE_LIST:
    case TP_VALUE_TUPLE:
    case TP_VALUE_SET:
    case TP_VALUE_DICT:
        check_items(pickle, &value->u.items);
        break;
    case TP_VALUE_CALL:
        check_items(pickle, &value->u.call.items);
        break;
    default:
        break;
    }
    tp_pickle_pair(pickle, ref, 0, &key, &item);
    tp_pickle_item(pickle, ref, 1);
    tp_pickle_lookup(pickle, ref, "metadata");
    tp_pickle_int(pickle, ref, &integer);
    tp_pickle_float(pickle, ref, &real);
}

static int scratch_file(void)
{
    static FILE *file;
    if (!file)
        file = tmpfile();
    fuzz_need(file != NULL, "a temporary file");
    return fileno(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct tp_pickle pickle = {0}, from_file = {0};
    struct tp_error err = {0}, file_err = {0};
    struct tp_bytes bytes, file = {.fd = scratch_file(), .size = size};
    uint64_t position = 0, file_position = 0;

    tp_bytes_view(guard.data, size, &bytes);
    enum tp_status status =
        tp_pickle_read(&bytes, &position, size, &pickle, &err);
    for (size_t i = 0; i < pickle.count; i++)
        check_value(&pickle, (tp_ref)i, size);
    fuzz_need(status != TP_OK || (position <= size && pickle.count > 0),
              "a pickle that was read has a value and an end");

    fuzz_need(ftruncate(file.fd, 0) == 0 &&
                  pwrite(file.fd, data, size, 0) == (ssize_t)size,
              "the input as a file");
    enum tp_status file_status =
        tp_pickle_read(&file, &file_position, size, &from_file, &file_err);
    fuzz_need(status == file_status && position == file_position &&
                  pickle.count == from_file.count &&
                  pickle.root == from_file.root &&
                  strcmp(err.message, file_err.message) == 0,
              "memory and file give the same");
    tp_pickle_clear(&pickle);
    tp_pickle_clear(&from_file);
    fuzz_guard_free(&guard);
    return 0;
}
