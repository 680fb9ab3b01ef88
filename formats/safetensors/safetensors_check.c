/* SPDX-License-Identifier: MIT */
#include "formats/safetensors/safetensors_check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/text.h"
#include "base/text_index.h"

enum { SHOWN_MAX = 80 }; /* bytes of a name in a message */

/* In the order of the reference, which is that of alignment. */
const struct tp_safetensors_dtype tp_safetensors_dtypes[] = {
    {"BOOL", 8, TP_BOOL},
    {"F4", 4, TP_FLOAT4_E2M1FN_X2},
    {"F6_E2M3", 6, TP_FLOAT6_E2M3FN},
    {"F6_E3M2", 6, TP_FLOAT6_E3M2FN},
    {"U8", 8, TP_UINT8},
    {"I8", 8, TP_INT8},
    {"F8_E5M2", 8, TP_FLOAT8_E5M2},
    {"F8_E4M3", 8, TP_FLOAT8_E4M3FN},
    {"F8_E8M0", 8, TP_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", 8, TP_FLOAT8_E4M3FNUZ},
    {"F8_E5M2FNUZ", 8, TP_FLOAT8_E5M2FNUZ},
    {"I16", 16, TP_INT16},
    {"U16", 16, TP_UINT16},
    {"F16", 16, TP_FLOAT16},
    {"BF16", 16, TP_BFLOAT16},
    {"I32", 32, TP_INT32},
    {"U32", 32, TP_UINT32},
    {"F32", 32, TP_FLOAT32},
    {"C64", 64, TP_COMPLEX64},
    {"F64", 64, TP_FLOAT64},
    {"I64", 64, TP_INT64},
    {"U64", 64, TP_UINT64},
    {NULL, 0, TP_DTYPE_COUNT},
};

enum tp_status tp_safetensors_about(enum tp_status status,
                                    const struct tp_safetensors_entry *entry,
                                    struct tp_error *err)
{
    if (status == TP_OK || status == TP_E_MEMORY)
        return status;
    struct tp_text shown = {0};
    tp_text_printable_cut(&shown, entry->name, SHOWN_MAX);
    tp_while(err, "reading the tensor \"%s\"", tp_text_get(&shown));
    tp_text_clear(&shown);
    return status;
}

static int compare_entries(const void *a, const void *b)
{
    const struct tp_safetensors_entry *x = a, *y = b;
    int order = tp_order_uint64(x->begin, y->begin);
    if (!order)
        order = tp_order_uint64(x->end, y->end);
    return order ? order : tp_order_uint64((uint64_t)x->at, (uint64_t)y->at);
}

/* That the tensors follow each other without a gap from byte 0 on. */
static enum tp_status check_places(const struct tp_safetensors_header *header,
                                   struct tp_error *err)
{
    uint64_t last = 0;
    for (size_t i = 0; i < header->count; i++) {
        const struct tp_safetensors_entry *entry = &header->entries[i];
        enum tp_status status = TP_OK;
        if (entry->end < entry->begin)
            status = tp_fail(err, TP_E_DAMAGED, entry->at,
                             "its data ends at %" PRIu64
                             ", before it begins at %" PRIu64,
                             entry->end, entry->begin);
        else if (entry->begin != last)
            status = tp_fail(err, TP_E_DAMAGED, entry->at,
                             "its data begins at %" PRIu64
                             ", but the data before it ends at %" PRIu64
                             " (%s)",
                             entry->begin, last,
                             entry->begin > last ? "a gap" : "an overlap");
        if (status != TP_OK)
            return tp_safetensors_about(status, entry, err);
        last = entry->end;
    }
    return TP_OK;
}

/* That a tensor has the bytes that its shape and dtype need. */
static enum tp_status check_size(const struct tp_safetensors_entry *entry,
                                 struct tp_error *err)
{
    const struct tp_safetensors_dtype *dtype =
        &tp_safetensors_dtypes[entry->dtype];
    uint64_t bits = 1;
    bool overflow = false;
    for (int i = 0; i < entry->ndim; i++)
        overflow |= __builtin_mul_overflow(bits, (uint64_t)entry->shape[i],
                                           &bits);
    overflow |= __builtin_mul_overflow(bits, (uint64_t)dtype->bits, &bits);
    if (overflow)
        return tp_fail(err, TP_E_DAMAGED, entry->at,
                       "its shape has more than 2^64 bits");
    if (bits % 8)
        return tp_fail(err, TP_E_DAMAGED, entry->at,
                       "its elements of %u bits do not fill whole bytes",
                       dtype->bits);
    if (entry->end - entry->begin != bits / 8)
        return tp_fail(err, TP_E_DAMAGED, entry->at,
                       "shape and dtype %s need %" PRIu64
                       " bytes, its data has %" PRIu64,
                       dtype->name, bits / 8, entry->end - entry->begin);
    return TP_OK;
}

static enum tp_status check_names(const struct tp_safetensors_header *header,
                                  struct tp_error *err)
{
    struct tp_text_index index = {0};
    if (!tp_text_index_init(&index, header->count))
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < header->count; i++) {
        const struct tp_safetensors_entry *entry = &header->entries[i];
        /* names with a NUL inside are told apart by what is before it: two
         * of them that agree there are refused, which no writer makes */
        size_t *number = tp_text_index_put(&index, entry->name);
        if (*number != TP_TEXT_NEW)
            status = tp_safetensors_about(
                tp_fail(err, TP_E_DAMAGED, entry->at,
                        "two tensors have this name"),
                entry, err);
        *number = i;
    }
    tp_text_index_clear(&index);
    return status;
}

/* Notes in header->end whether the data ends where the file does. */
static void check_end(struct tp_safetensors_header *header, uint64_t data,
                      uint64_t size)
{
    const uint64_t held = size - data;
    const uint64_t last =
        header->count ? header->entries[header->count - 1].end : 0;
    size_t cut = 0;
    while (cut < header->count &&
           header->entries[header->count - 1 - cut].end > held)
        cut++;
    if (last > held)
        tp_fail(&header->end, TP_E_DAMAGED, (int64_t)size,
                "the file has %" PRIu64 " bytes, its header describes %" PRIu64
                ": %" PRIu64 " are missing, and with them %zu of %zu tensors "
                "(a download or a copy that was cut?)",
                size, data + last, last - held, cut, header->count);
    if (last < held)
        tp_fail(&header->end, TP_E_DAMAGED, (int64_t)(data + last),
                "%" PRIu64 " bytes follow the last tensor", held - last);
}

enum tp_status tp_safetensors_check(struct tp_safetensors_header *header,
                                    uint64_t data, uint64_t size,
                                    struct tp_error *err)
{
    if (header->count)
        qsort(header->entries, header->count, sizeof *header->entries,
              compare_entries);
    enum tp_status status = check_names(header, err);
    if (status == TP_OK)
        status = check_places(header, err);
    for (size_t i = 0; status == TP_OK && i < header->count; i++)
        status = tp_safetensors_about(check_size(&header->entries[i], err),
                                      &header->entries[i], err);
    if (status == TP_OK)
        check_end(header, data, size);
    for (size_t i = 0; status == TP_OK && i < header->count; i++) {
        header->entries[i].begin += data;
        header->entries[i].end += data;
    }
    return status;
}

