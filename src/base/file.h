/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_FILE_H
#define TP_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct stat;

/*
 * Files we write and directories we read. Nothing is ever half-written under
 * its final name: output is written beside it and renamed when complete.
 */

/*
 * The name to write to before `path` exists: same folder, hidden, unique to
 * this process. Released with free(); NULL when out of memory.
 */
char *tp_file_aside(const char *path);

/*
 * Whether a name is one of tp_file_aside, made on this machine by a process
 * that is gone. Names of other machines and containers, and those whose process
 * number is in use, are not.
 */
bool tp_file_is_abandoned(const char *name);

/*
 * Removes what processes that are gone left under such names in `folder`
 * itself: files, and folders with all that is in them. What cannot be read or
 * removed is left as it is.
 */
void tp_file_remove_abandoned(const char *folder);

/* The same for what was to become the file of this path, or one whose name
 * begins with its. */
void tp_file_remove_abandoned_of(const char *path);

/* Removes a file, or a folder with all that is in it. What cannot be removed
 * is left. */
void tp_file_remove_tree(const char *path);

/*
 * Whether there is a file or folder of that name. TP_E_IO, and *there false,
 * where the system does not tell.
 */
enum tp_status tp_file_look(const char *path, bool *there,
                            struct tp_error *err);

/* Writes all bytes, however many calls it takes; TP_E_IO: see errno. */
enum tp_status tp_file_write_all(int fd, const void *bytes, size_t size);

/* A regular file for reading, -1 with errno: EINVAL where it is none. A pipe
 * that nobody writes does not hang the run. */
int tp_file_open(const char *path);

/*
 * Why a file that another program could not finish takes no more: the errno of
 * adding to it, or 0. It is spoiled, or made, by that: for names aside only.
 */
int tp_file_refusal(const char *path);

/*
 * Renames `aside` to `path` after checking that its bytes reached the disk.
 * On failure `aside` is removed.
 */
enum tp_status tp_file_commit(const char *aside, const char *path,
                              struct tp_error *err);

/* Writes a whole file aside and renames it. */
enum tp_status tp_file_write(const char *path, const void *data, size_t size,
                             struct tp_error *err);

/* Makes a directory and its parents; one that exists is fine. */
enum tp_status tp_file_make_directories(const char *path, struct tp_error *err);

/* What is behind the last slash of a path; all of one without. */
const char *tp_file_base_name(const char *path);

/* "dir/name" in new memory (free()); NULL when out of memory. */
char *tp_file_join(const char *dir, const char *name);

/* When a file was last written, as tp_found has it. */
int64_t tp_file_modified(const struct stat *info);

/* Why a file, or something in it, could not be read. */
struct tp_found_problem {
    struct tp_found_problem *next;
    bool damage;      /* not: it is no file of ours, or has a limit too many */
    int64_t offset;   /* byte; -1                                            */
    const char *path; /* of what in the file; "": all of it                  */
    char reason[];
};

/* One regular file that was found. */
struct tp_found {
    char *path;       /* the start path, then names joined by '/' */
    uint64_t size;    /* bytes                                     */
    int64_t modified; /* ns since 1970; 0: not known               */
    struct tp_found_problem *problems; /* owned; in any order */
    uint64_t read; /* what it was when it was first read; 0: it was not    */
};

struct tp_found_seen; /* which files and directories were met, find.c */

/* What was found; all-zero bytes are an empty list. */
struct tp_found_list {
    struct tp_found_seen *seen;
    char **links; /* symbolic links to files, until the list is sorted */
    size_t link_count, link_capacity;
    struct tp_found *files; /* sorted by the bytes of their path */
    size_t count, capacity;
    bool borrowed; /* the paths are somebody else's */
    char **problems; /* sentences: what could not be read */
    size_t problem_count, problem_capacity;
};

/*
 * Adds every regular file below `root` (or `root` itself if it is one).
 * Symbolic links are followed. What has been met before, in this call or an
 * earlier one for the same list, by another path, is left out: a directory is
 * entered once, and a file reached through a link counts only if it was not
 * reached otherwise. What cannot be opened becomes a problem; only a root that
 * is not there fails (TP_E_NOT_FOUND). Not for concurrent use.
 */
enum tp_status tp_file_find(const char *root, struct tp_found_list *list,
                            struct tp_error *err);

/* Adds the links that led to something new and sorts the list by path. Call
 * once, after the last find. Fails with TP_E_MEMORY only. */
enum tp_status tp_found_sort(struct tp_found_list *list, struct tp_error *err);

/* Adds a path of no file, of 0 bytes, to a sorted list, unless it is there.
 * TP_E_MEMORY. */
enum tp_status tp_found_add(struct tp_found_list *list, const char *path,
                            struct tp_error *err);

/* Adds the files whose path is `stem` and a decimal number to a sorted list, as
 * tp_found_add does. Those of a folder that cannot be read are none. */
enum tp_status tp_found_numbered(const char *stem, struct tp_found_list *list,
                                 struct tp_error *err);

/*
 * Whether a file of this size and time is the one that was read before; the
 * first one is. TP_E_CHANGED, and from then on, once that is kept as below. Any
 * number of threads.
 */
enum tp_status tp_found_meet(struct tp_found *found, uint64_t size,
                             int64_t modified, struct tp_error *err);

/* The same of the file that has the path now; TP_OK where none has. */
enum tp_status tp_found_look(struct tp_found *found, struct tp_error *err);

/* Keeps why a file, or something in it (`path`, "": all of it), could not be
 * read. Any number of threads. TP_E_MEMORY. */
enum tp_status tp_found_fail(struct tp_found *found, const char *path,
                             const struct tp_error *why, struct tp_error *err);

/* Whether something of a list could not be read as it is damaged, or the system
 * did not give it: files, what is in files, folders. */
bool tp_found_damaged(const struct tp_found_list *list);

/* The first file of a list that has a problem; NULL: none has. */
const struct tp_found *tp_found_first_bad(const struct tp_found_list *list);

/* The number of a path in a sorted list; `count`: it is not there. */
size_t tp_found_index(const struct tp_found_list *list, const char *path);

/* Releases everything; the list is empty afterwards. */
void tp_found_clear(struct tp_found_list *list);

#endif
