/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_FILES_H
#define TP_COMPARE_COMPARE_FILES_H

#include "compare/compare.h"
#include "dump/finding_files.h"

/*
 * The files of both runs that findings about a comparison are about: of the
 * tensors, else of the json files that tell of them. `files` is zeroed, and
 * released with tp_finding_files_clear also after a failure: TP_E_MEMORY.
 * Borrows both.
 */
enum tp_status tp_compare_finding_files(const struct tp_comparison *comparison,
                                        const struct tp_dump_findings *findings,
                                        struct tp_finding_files *files,
                                        struct tp_error *err);

#endif
