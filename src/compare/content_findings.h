/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_FINDINGS_H
#define TP_COMPARE_CONTENT_FINDINGS_H

#include "compare/compare_findings.h"
#include "compare/content_table.h"

/* Finds names that changed places, and tensors that are on one side only.
 * `findings` as those of tp_compare_findings_make. */
enum tp_status tp_content_findings_make(const struct tp_content *content,
                                        const struct tp_content_rows *rows,
                                        struct tp_dump_findings *findings,
                                        struct tp_error *err);

#endif
