/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_DIMS_TABLE_H
#define TP_TENSORS_DIMS_TABLE_H

#include "data/table.h"
#include "tensors/run.h"

/*
 * /dims: for each axis of each tensor a row of index -1, which has the numbers
 * of the whole tensor, dim_ratio, max_ratio, the risk of sums in the stored
 * dtype, in fp16 and in bf16, and how many indices are outliers or dead; after
 * it the indices that were kept, where outliers and dead are 0 or 1, the ratios
 * NaN and the risks empty.
 */

/* Counts the rows there will be, into run->dims_first. TP_E_MEMORY. */
enum tp_status tp_dims_number(struct tp_run *run, struct tp_error *err);

/* The table; rows are made when they are needed. Borrows the run. */
void tp_dims_table_make(const struct tp_run *run, struct tp_table *table);

#endif
