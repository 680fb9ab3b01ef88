/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_TABLES_H
#define TP_QUANT_QUANT_TABLES_H

#include "data/table.h"
#include "quant/quant_groups.h"

/*
 * Sets up /quantization_worst, /quantization (one row per tensor and plain
 * cast, made on demand), /quantization_groups and /recommendations. They borrow
 * quant; without casts they have no rows.
 */
void tp_quant_tables_make(const struct tp_quant *quant,
                          struct tp_table *worst,
                          struct tp_table *quantization,
                          struct tp_table *groups,
                          struct tp_table *recommendations);

#endif
