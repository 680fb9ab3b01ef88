/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_CLASS_H
#define TP_COMPARE_CONTENT_CLASS_H

#include "compare/content_claim.h"

/*
 * Claims what units of A and of B agree in the digests of a kind (all but
 * TP_CONTENT_BY_SUM): as stored or, with `casts`, where one is rounded to the
 * dtype of the other. Of several the names decide; two tensors that are left
 * over on one side become copies. TP_E_MEMORY.
 */
enum tp_status tp_content_claim_classes(struct tp_content_matcher *m,
                                        enum tp_content_kind kind, bool casts,
                                        struct tp_error *err);

#endif
