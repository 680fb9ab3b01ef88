/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_ROW_H
#define TP_TENSORS_ROW_H

#include "data/number.h"
#include "data/tensor.h"
#include "scan/scan.h"
#include "tensors/run.h"

/* From one tensor and its label to one row of the run. */

/* "[" 64 times "9223372036854775807," "]" */
enum { TP_ROW_SHAPE_MAX = TP_LIMIT_DIMS * 20 + 3 };

/* Distinct quant types that are looked at for a warning; a run has three. */
enum { TP_ROW_TYPES_MAX = 64 };

/* How quant types become target formats. */
struct tp_row_rules {
    enum tp_scale_rule mx_scale;             /* of MX formats             */
    const struct tp_number *backward_format; /* NULL: as forward          */
};

/*
 * Fills everything of the row that does not need the values: label, dtype,
 * target format, shape, batch size. `shape` receives the text the row then
 * points to. Returns the format to judge overflow against, NULL for none
 * (integers, complex). Texts are borrowed from tensor, label and shape.
 */
const struct tp_number *tp_row_describe(const struct tp_tensor *tensor,
                                        const struct tp_label *label,
                                        const struct tp_row_rules *rules,
                                        char shape[TP_ROW_SHAPE_MAX],
                                        struct tp_row *row);

/* Whether a tensor is the row's, as far as path, dtype and shape tell. */
bool tp_row_is_of(const struct tp_row *row, const struct tp_tensor *tensor);

/* Fills counts and numbers from a scan. */
void tp_row_measure(struct tp_row *row, const struct tp_scan_result *scan);

/* One note for each quant_type of the run that names no number format. */
void tp_row_note_unknown_types(struct tp_run *run);

#endif
