/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_LABEL_COLUMNS_H
#define TP_DATA_LABEL_COLUMNS_H

#include "data/label.h"
#include "data/table.h"

/* Columns that say which tensor a row is of, as initialisers; `at` is the
 * struct tp_label of the row. */
#define TP_LABEL_COLUMNS(row, at)                            \
    TP_COLUMN_AS(row, "layer_type", at.layer_type, ""),      \
        TP_COLUMN_AS(row, "layer_idx", at.layer_idx, "1"),   \
        TP_COLUMN_AS(row, "operation", at.operation, ""),    \
        TP_COLUMN_AS(row, "phase", at.phase, ""),            \
        TP_COLUMN_AS(row, "component", at.component, ""),    \
        TP_COLUMN_AS(row, "quant_type", at.quant_type, ""),  \
        TP_COLUMN_AS(row, "tensor_name", at.tensor_name, "")

/* What keys of checkpoints add to that: the last columns of a table. */
#define TP_KEY_COLUMNS(row, at)                    \
    TP_COLUMN_AS(row, "module", at.module, ""),    \
        TP_COLUMN_AS(row, "expert", at.expert, "1")

#endif
