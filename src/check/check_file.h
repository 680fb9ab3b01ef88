/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FILE_H
#define TP_CHECK_CHECK_FILE_H

#include "check/check_findings.h"
#include "check/check_settings.h"
#include "check/notebook.h"

/* One file to findings: scripts and notebooks. */

/* What became of one file. */
struct tp_check_file {
    char *path;
    bool named;  /* by the user, not found in a directory                  */
    size_t root; /* of which it is; those that are named share 0          */
    const struct tp_check_settings *settings; /* borrowed                 */
    unsigned tells; /* to others of its root: TP_TELLS_...                */
    struct tp_check_findings findings;
    struct tp_check_place *places; /* by line of a finding, less 1; NULL:
                                      lines are those of the file         */
    size_t place_count;
    struct tp_error problem; /* TP_OK, or why it could not be read whole  */
    uint32_t problem_line;   /* 0: none                                   */
};

/* Whether a directory is searched for files of that name. */
bool tp_check_is_script(const char *path);

/*
 * Reads the file at file->path: what it is follows from the end of its name. A
 * line with "# tprof: ignore" has no findings; with "# tprof: ignore[rule,
 * ...]" none of these. What cannot be read whole stands in file->problem;
 * TP_E_UNSUPPORTED there: the file is not what its name says, as any other
 * JSON. Release with tp_check_file_clear.
 */
void tp_check_file_read(struct tp_check_file *file);
void tp_check_file_clear(struct tp_check_file *file); /* releases all     */

/* The same for a source in memory; `path` tells its kind. Tests and fuzzers
 * begin here. Fails as tp_script_read does. */
enum tp_status tp_check_text_of(const char *path, const char *text,
                                size_t length, struct tp_check_file *file,
                                struct tp_error *err);

/* The same for a source of Python. */
enum tp_status tp_check_source(const char *source, size_t length,
                               struct tp_check_file *file,
                               struct tp_error *err);

/* Where the line of a finding is. */
struct tp_check_place tp_check_place_of(const struct tp_check_file *file,
                                        uint32_t line);

#endif
