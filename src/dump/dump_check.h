/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_CHECK_H
#define TP_DUMP_DUMP_CHECK_H

#include "dump/dump_findings.h"
#include "dump/dump_integrity.h"

/*
 * Whether a dump is what was saved: its json files against each other, against
 * the files of its tensors, and these against themselves.
 */

/*
 * Runs all checks and appends what they find, in an order that does not depend
 * on the pool. `integrity` is zeroed by the caller and released with
 * tp_dump_integrity_clear, also after a failure: TP_E_MEMORY,
 * TP_E_INTERRUPTED.
 */
enum tp_status tp_dump_integrity_check(
    const struct tp_dump *dump, const struct tp_dump_check_options *options,
    struct tp_dump_findings *findings, struct tp_dump_integrity *integrity,
    struct tp_error *err);

#endif
