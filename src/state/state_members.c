/* SPDX-License-Identifier: MIT */
#include "state/state_members.h"

#include <inttypes.h>
#include <stdio.h>

#include "tensors/memo.h"
#include "tensors/quantised.h"
#include "tensors/record.h"
#include "trace/trace_pack.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MEMBERS(list, type)                \
    {                                      \
        list, COUNT_OF(list), sizeof(type) \
    }

#define ROW(kind, member)                                            \
    {                                                                \
#member, TP_STATE_##kind, 0, offsetof(struct tp_row, member) \
    }
#define ROW_ENUM(member, most)                                        \
    {                                                                 \
#member, TP_STATE_ENUM, most, offsetof(struct tp_row, member) \
    }

/* Counts and the other numbers follow from what is packed. */
static const struct tp_state_member row_members[] = {
    ROW(WORD, path),
    ROW(SIZE, place),
    ROW(WORD, label.layer_type),
    ROW(INT64, label.layer_idx),
    ROW(WORD, label.operation),
    ROW(WORD, label.phase),
    ROW(WORD, label.component),
    ROW(WORD, label.quant_type),
    ROW(WORD, label.tensor_name),
    ROW(INT64, label.rank),
    ROW(INT64, label.sample_idx),
    ROW(INT64, label.group_idx),
    ROW(INT64, label.iteration),
    ROW(INT64, label.counter),
    ROW(NAME, label.timestamp),
    ROW(INT64, label.batch_size),
    ROW(WORD, label.module),
    ROW(INT64, label.expert),
    ROW_ENUM(label.direction, TP_BACKWARD),
    ROW_ENUM(label.roles, 2 * TP_ROLE_COUNTER - 1),
    ROW_ENUM(dtype, TP_DTYPE_COUNT - 1),
    ROW(TARGET, target),
    ROW_ENUM(scale_rule, 255),
    ROW(WORD, shape),
    ROW(INT64, first_dims[0]),
    ROW(INT64, first_dims[1]),
    ROW(INT64, batch_size),
    ROW(REAL, target_max),
    ROW(REAL, numbers.quantile[0]),
    ROW(REAL, numbers.quantile[1]),
    ROW(REAL, numbers.quantile[2]),
    ROW(REAL, numbers.quantile[3]),
    ROW(REAL, numbers.quantile[4]),
    ROW(REAL, numbers.quantile[5]),
    ROW(REAL, numbers.quantile[6]),
    ROW(PACKED, packed),
    ROW(CASTS, quant),
    ROW(DIMS, dims),
    ROW(CODES, quantised),
    ROW(FLAG, aside),
    ROW(FLAG, layer_beside),
};

_Static_assert(TP_QUANTILES == 7, "each quantile has a word");

#define FILE_HAS(kind, member)                                          \
    {                                                                   \
#member, TP_STATE_##kind, 0, offsetof(struct tp_record, member) \
    }

static const struct tp_state_member file_members[] = {
    FILE_HAS(NAME, path),           FILE_HAS(SIZE, size),
    FILE_HAS(INT64, modified),      FILE_HAS(SIZE, digest.word[0]),
    FILE_HAS(SIZE, digest.word[1]), FILE_HAS(SIZE, row_count),
    FILE_HAS(SIZE, skipped_count),  FILE_HAS(SAID, conflict),
    FILE_HAS(SAID, assumption),     FILE_HAS(SAID, beside),
    FILE_HAS(SIZE, tie_count),      FILE_HAS(SIZE, tensors),
    FILE_HAS(SIZE, dims_keep),      FILE_HAS(FLAG, ignored),
    FILE_HAS(FLAG, empty),          FILE_HAS(FLAG, taken),
    FILE_HAS(FLAG, indexed),        FILE_HAS(FLAG, lone),
    FILE_HAS(FLAG, refused),
};

#define SKIPPED(kind, member)                                            \
    {                                                                    \
#member, TP_STATE_##kind, 0, offsetof(struct tp_skipped, member) \
    }

/* The file is that of the record. */
static const struct tp_state_member skipped_members[] = {
    SKIPPED(NAME, path),   SKIPPED(NAME, reason),  SKIPPED(INT64, offset),
    SKIPPED(FLAG, damage), SKIPPED(FLAG, missing),
};

#define MEMO(kind, member)                                                  \
    {                                                                       \
#member, TP_STATE_##kind, 0, offsetof(struct tp_memo_entry, member) \
    }

/* Results stand one behind the other. */
static const struct tp_state_member memo_members[] = {
    MEMO(SIZE, key.word[0]),
    MEMO(SIZE, key.word[1]),
    MEMO(SIZE, size),
};

const struct tp_state_members tp_state_row =
    MEMBERS(row_members, struct tp_row);
const struct tp_state_members tp_state_file =
    MEMBERS(file_members, struct tp_record);
const struct tp_state_members tp_state_skipped =
    MEMBERS(skipped_members, struct tp_skipped);
const struct tp_state_members tp_state_memo =
    MEMBERS(memo_members, struct tp_memo_entry);

const struct tp_state_members *tp_state_members_of(int part)
{
    switch (part) {
    case TP_STATE_ROWS:
        return &tp_state_row;
    case TP_STATE_FILES:
        return &tp_state_file;
    case TP_STATE_SKIPPED:
        return &tp_state_skipped;
    case TP_STATE_MEMO:
        return &tp_state_memo;
    default:
        return NULL;
    }
}

void tp_state_layout(bool traces, char text[TP_STATE_LAYOUT_BYTES])
{
    if (traces) {
        snprintf(text, TP_STATE_LAYOUT_BYTES, "%016" PRIx64,
                 tp_trace_pack_layout());
        return;
    }
    const uint32_t order = 0x04030201; /* of bytes */
    snprintf(text, TP_STATE_LAYOUT_BYTES, "%zu.%zu.%zu.%zu.%zu.%d",
             sizeof(struct tp_packed), sizeof(struct tp_dims),
             sizeof(struct tp_dim_axis), sizeof(struct tp_dim_index),
             sizeof(struct tp_quantised), *(const unsigned char *)&order);
}
