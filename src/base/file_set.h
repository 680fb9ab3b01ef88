/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_FILE_SET_H
#define TP_BASE_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/*
 * The files of one folder that belong together: any number of them, of which
 * few are open at a time. Names come from files and are not believed: only
 * plain names of the folder are taken. Adding is for one thread, reading for
 * any number.
 */
struct tp_file_set;

/* A set of files beside `path`: in its folder. NULL: out of memory. Released
 * with tp_file_set_free, which accepts NULL. */
struct tp_file_set *tp_file_set_new(const char *path);
void tp_file_set_free(struct tp_file_set *set);

/* Whether a name is that of a file in the folder itself: not empty, "." or
 * "..", and without a slash. */
bool tp_file_set_takes(const char *name);

/* The number of a file, which is put in unless it is there. TP_E_DAMAGED: it
 * is no plain name; TP_E_MEMORY. */
enum tp_status tp_file_set_add(struct tp_file_set *set, const char *name,
                               size_t *number, struct tp_error *err);

/* Puts in the files of the folder whose names are wanted, in the order of their
 * names; or, unless `below` is NULL, the file of that name in each folder that
 * is wanted. TP_E_IO: the folder cannot be read; TP_E_MEMORY. */
enum tp_status tp_file_set_find(struct tp_file_set *set,
                                bool (*wanted)(const void *context,
                                               const char *name),
                                const void *context, const char *below,
                                struct tp_error *err);

/* How many there are, and their names. */
size_t tp_file_set_count(const struct tp_file_set *set);
const char *tp_file_set_name(const struct tp_file_set *set, size_t number);

/*
 * Opens a file for reading through *bytes until it is given back, which every
 * success needs; TP_E_NOT_FOUND: it is not there; TP_E_IO. The message names
 * the file.
 */
enum tp_status tp_file_set_take(struct tp_file_set *set, size_t number,
                                struct tp_bytes *bytes, struct tp_error *err);
void tp_file_set_give(struct tp_file_set *set, size_t number);

/* Whether all files that were read are as they were when they were opened
 * first: as tp_bytes_unchanged, of the first that is not; the message names
 * it. */
enum tp_status tp_file_set_unchanged(struct tp_file_set *set,
                                     struct tp_error *err);

#endif
