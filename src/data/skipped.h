/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_SKIPPED_H
#define TP_DATA_SKIPPED_H

#include "base/file.h"
#include "data/table.h"

/* The table /skipped, which all commands have: what could not be read. */

/* One thing that could not be analysed. Texts are never NULL. */
struct tp_skipped {
    const char *file;   /* its path; "": the reason names it                */
    const char *path;   /* of what in the file; "": all of it               */
    const char *reason;
    int64_t offset;     /* byte; -1                                         */
    bool damage;        /* counts for exit status 3                         */
    bool missing;       /* because a file is not there                      */
};

/* Rows; all-zero bytes are none. Texts are borrowed. */
struct tp_skipped_list {
    struct tp_skipped *rows;
    size_t count, capacity;
};

/* Adds what could not be read of files that were found, and of folders: each
 * once, all rows in the order of paths, then words. TP_E_MEMORY. */
enum tp_status tp_skipped_add_found(struct tp_skipped_list *list,
                                    const struct tp_found_list *found,
                                    struct tp_error *err);

/* Appends the same without the folders; the rows before stay as they are. */
enum tp_status tp_skipped_add_files(struct tp_skipped_list *list,
                                    const struct tp_found_list *found,
                                    struct tp_error *err);

/* How many of them are damaged, or the system did not give them. */
enum tp_status tp_skipped_damage(const struct tp_found_list *found,
                                 size_t *count, struct tp_error *err);

/* Releases the rows, not the texts; empty afterwards. */
void tp_skipped_clear(struct tp_skipped_list *list);

/* Sets up the table of rows, which are borrowed. */
void tp_skipped_table(const struct tp_skipped *rows, size_t count,
                      struct tp_table *table);

#endif
