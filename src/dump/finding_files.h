/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_FINDING_FILES_H
#define TP_DUMP_FINDING_FILES_H

#include "dump/dump_findings.h"

/* The files that findings about dumps are about: of tensors and, of what is
 * about no tensor, the json that says it. */

/* Texts are the dump's or the list's. */
struct tp_finding_file {
    int64_t finding;  /* its row                                           */
    const char *what; /* "output.0", "A: input.1", "dump.json"             */
    const char *file; /* a path, which need not be there                   */
};

/* All-zero bytes are none. */
struct tp_finding_files {
    struct tp_finding_file *rows; /* by finding                            */
    size_t count, capacity;
    struct tp_arena arena;
};

/* Of one call: what is taken of it, for which finding, and what is put before
 * each name: "A: ". */
struct tp_finding_call {
    int64_t finding;
    const char *side;
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
};

/* A file; NULL for `what` or `file` is a text that found no memory:
 * TP_E_MEMORY. Borrows both. */
enum tp_status tp_finding_files_add(struct tp_finding_files *files,
                                    int64_t finding, const char *what,
                                    const char *file, struct tp_error *err);

/* Files of an item, or nothing where it has none; TP_E_MEMORY. */
enum tp_status tp_finding_files_item(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     const struct tp_dump_item *item,
                                     struct tp_error *err);

/* Files of all that a call gave and was given, in this order: of so many that
 * they are read, then one row that counts the others. TP_E_MEMORY. */
enum tp_status tp_finding_files_call(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     struct tp_error *err);

/* A file of the place's directory, NULL: the one that tells of its calls.
 * TP_E_MEMORY. */
enum tp_status tp_finding_files_told(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     const char *name, struct tp_error *err);

/* Those of all findings about a dump; `files` is zeroed, and released with
 * tp_finding_files_clear also after a failure: TP_E_MEMORY. Borrows both. */
enum tp_status tp_dump_finding_files(const struct tp_dump *dump,
                                     const struct tp_dump_findings *findings,
                                     struct tp_finding_files *files,
                                     struct tp_error *err);

/* The table "finding_files". */
void tp_finding_files_table(const struct tp_finding_files *files,
                            struct tp_table *table);

/* Releases everything; empty afterwards. */
void tp_finding_files_clear(struct tp_finding_files *files);

#endif
