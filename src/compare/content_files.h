/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_FILES_H
#define TP_COMPARE_CONTENT_FILES_H

#include "compare/content.h"
#include "dump/finding_files.h"

/*
 * The files that findings of a comparison by content are about: what each side
 * has under the names that the finding tells of A and of B. `files` is zeroed,
 * and released with tp_finding_files_clear also after a failure: TP_E_MEMORY.
 * Borrows both.
 */
enum tp_status tp_content_finding_files(const struct tp_content *content,
                                        const struct tp_dump_findings *findings,
                                        struct tp_finding_files *files,
                                        struct tp_error *err);

#endif
