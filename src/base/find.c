/* SPDX-License-Identifier: MIT */
/*
 * Finds files below a directory: depth first with a list of directories still
 * to read, names in byte order. A set of (device, inode) with open addressing
 * knows what was met, so links cannot make a loop and no directory is entered
 * twice. Links to files wait until all is found: the file itself goes first.
 *
 * Alternative: nftw, whose order is that of the directory, so of two ways to
 * one file another one may be taken on another machine; recursion, which a deep
 * tree could exhaust.
 *
 * Cost: one to three stat calls a name, n log n comparisons of names, memory
 * for each path that is kept.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/text.h"

/* A directory or file by identity, so that links cannot make us loop. */
struct identity {
    dev_t device;
    ino_t inode;
};

/* Open-addressing set of identities; grows at two thirds full. */
struct tp_found_seen {
    struct identity *slots;
    unsigned char *used;
    size_t count, capacity;
};

struct finder {
    struct tp_found_list *list;
    char **todo; /* directories still to read; a stack, no recursion */
    size_t todo_count, todo_capacity;
    struct tp_error *err;
};

static size_t slot_of(const struct tp_found_seen *seen, struct identity id)
{
    uint64_t hash = (uint64_t)id.inode * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)((hash ^ (hash >> 29) ^ (uint64_t)id.device) &
                           (seen->capacity - 1));
    while (seen->used[slot] && (seen->slots[slot].inode != id.inode ||
                                seen->slots[slot].device != id.device))
        slot = (slot + 1) & (seen->capacity - 1);
    return slot;
}

static enum tp_status seen_grow(struct tp_found_seen *seen,
                                struct tp_error *err)
{
    struct tp_found_seen bigger = {
        .capacity = seen->capacity ? 2 * seen->capacity : 64};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    bigger.used = calloc(bigger.capacity, 1);
    if (!bigger.slots || !bigger.used) {
        free(bigger.slots);
        free(bigger.used);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < seen->capacity; i++) {
        if (!seen->used[i])
            continue;
        size_t slot = slot_of(&bigger, seen->slots[i]);
        bigger.slots[slot] = seen->slots[i];
        bigger.used[slot] = 1;
    }
    bigger.count = seen->count;
    free(seen->slots);
    free(seen->used);
    *seen = bigger;
    return TP_OK;
}

/* Sets *is_new when the identity was not there before. */
static enum tp_status seen_add(struct tp_found_seen *seen,
                               const struct stat *info, bool *is_new,
                               struct tp_error *err)
{
    if (3 * (seen->count + 1) > 2 * seen->capacity &&
        seen_grow(seen, err) != TP_OK)
        return TP_E_MEMORY;
    struct identity id = {info->st_dev, info->st_ino};
    size_t slot = slot_of(seen, id);
    *is_new = !seen->used[slot];
    if (*is_new) {
        seen->slots[slot] = id;
        seen->used[slot] = 1;
        seen->count++;
    }
    return TP_OK;
}

static enum tp_status add_problem(struct finder *finder, const char *path)
{
    struct tp_found_list *list = finder->list;
    struct tp_text text = {0};
    tp_text_add(&text, "cannot read ");
    tp_text_printable(&text, path);
    tp_text_add(&text, ": %s", strerror(errno));
    if (text.failed || tp_grow(&list->problems, &list->problem_capacity,
                               list->problem_count + 1, sizeof *list->problems,
                               finder->err) != TP_OK) {
        tp_text_clear(&text);
        return tp_fail_memory(finder->err);
    }
    list->problems[list->problem_count++] = text.data;
    return TP_OK;
}

/* Takes ownership of `path`. */
static enum tp_status add_directory(struct finder *finder, char *path)
{
    if (tp_grow(&finder->todo, &finder->todo_capacity, finder->todo_count + 1,
                sizeof *finder->todo, finder->err) != TP_OK) {
        free(path);
        return TP_E_MEMORY;
    }
    finder->todo[finder->todo_count++] = path;
    return TP_OK;
}

int64_t tp_file_modified(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

/* Takes ownership of `path`; `info` NULL: of no file. */
static enum tp_status add_file(struct tp_found_list *list, char *path,
                               const struct stat *info, struct tp_error *err)
{
    if (tp_grow(&list->files, &list->capacity, list->count + 1,
                sizeof *list->files, err) != TP_OK) {
        free(path);
        return TP_E_MEMORY;
    }
    struct tp_found found = {.path = path};
    if (info) {
        found.size = (uint64_t)info->st_size;
        found.modified = tp_file_modified(info);
    }
    list->files[list->count++] = found;
    return TP_OK;
}

/* Keeps a link to a file for tp_found_sort. Takes ownership of `path`. */
static enum tp_status add_link(struct tp_found_list *list, char *path,
                               struct tp_error *err)
{
    if (tp_grow(&list->links, &list->link_capacity, list->link_count + 1,
                sizeof *list->links, err) != TP_OK) {
        free(path);
        return TP_E_MEMORY;
    }
    list->links[list->link_count++] = path;
    return TP_OK;
}

/* A file met before is another name of it (hard links are two files: their
 * names may say different things), or the same place by another path. */
static enum tp_status visit_file(struct finder *finder, char *path,
                                 const struct stat *info)
{
    bool is_new = false;
    struct tp_found_list *list = finder->list;
    enum tp_status status = seen_add(list->seen, info, &is_new, finder->err);
    if (status == TP_OK && (is_new || info->st_nlink > 1))
        return add_file(list, path, info, finder->err);
    free(path);
    return status;
}

/* Sorts one path by its kind. Takes ownership of it. */
static enum tp_status visit(struct finder *finder, char *path)
{
    struct stat info;
    bool is_new = false, is_link = false;
    enum tp_status status = TP_OK;
    int failed = lstat(path, &info);
    if (!failed && S_ISLNK(info.st_mode)) {
        is_link = true;
        failed = stat(path, &info);
    }
    if (failed)
        status = add_problem(finder, path);
    else if (S_ISREG(info.st_mode) && is_link)
        return add_link(finder->list, path, finder->err);
    else if (S_ISREG(info.st_mode))
        return visit_file(finder, path, &info);
    else if (S_ISDIR(info.st_mode)) {
        status = seen_add(finder->list->seen, &info, &is_new, finder->err);
        if (status == TP_OK && is_new)
            return add_directory(finder, path);
    }
    free(path);
    return status;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

/* Names are visited in byte order, so that of two ways to one directory the
 * same one is taken on every machine. */
static enum tp_status read_directory(struct finder *finder, const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, not_dots, by_name);
    if (count < 0)
        return errno == ENOMEM ? tp_fail_memory(finder->err)
                               : add_problem(finder, path);
    enum tp_status status = TP_OK;
    for (int i = 0; i < count; i++) {
        if (status == TP_OK) {
            char *child = tp_file_join(path, names[i]->d_name);
            status = child ? visit(finder, child) : tp_fail_memory(finder->err);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

enum tp_status tp_file_find(const char *root, struct tp_found_list *list,
                            struct tp_error *err)
{
    struct stat info;
    struct finder finder = {.list = list, .err = err};
    if (stat(root, &info) != 0)
        return tp_fail(err, errno == ENOENT ? TP_E_NOT_FOUND : TP_E_IO, -1,
                       "cannot read %s: %s", root, strerror(errno));
    if (!list->seen && !(list->seen = calloc(1, sizeof *list->seen)))
        return tp_fail_memory(err);
    char *copy = strdup(root);
    enum tp_status status = copy ? visit(&finder, copy) : tp_fail_memory(err);
    while (status == TP_OK && finder.todo_count > 0) {
        char *path = finder.todo[--finder.todo_count];
        status = read_directory(&finder, path);
        free(path);
    }
    while (finder.todo_count > 0)
        free(finder.todo[--finder.todo_count]);
    free(finder.todo);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_path(const void *a, const void *b)
{
    const struct tp_found *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* Adds what the links led to and nothing else did, in path order. */
static enum tp_status take_links(struct tp_found_list *list,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    qsort(list->links, list->link_count, sizeof *list->links, by_text);
    for (size_t i = 0; i < list->link_count; i++) {
        struct stat info;
        bool is_new = false;
        char *path = list->links[i];
        list->links[i] = NULL;
        if (status == TP_OK && stat(path, &info) == 0)
            status = seen_add(list->seen, &info, &is_new, err);
        if (status == TP_OK && is_new)
            status = add_file(list, path, &info, err);
        else
            free(path);
    }
    list->link_count = 0;
    return status;
}

enum tp_status tp_found_sort(struct tp_found_list *list, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (list->link_count > 0)
        status = take_links(list, err);
    if (list->count > 0)
        qsort(list->files, list->count, sizeof *list->files, by_path);
    return status;
}

/* The number of the first path that does not sort before this one. */
static size_t first_from(const struct tp_found_list *list, const char *path)
{
    size_t i;
    TP_PARTITION_POINT(i, list->count, strcmp(list->files[i].path, path) < 0);
    return i;
}

enum tp_status tp_found_add(struct tp_found_list *list, const char *path,
                            struct tp_error *err)
{
    const size_t at = first_from(list, path);
    if (at < list->count && strcmp(list->files[at].path, path) == 0)
        return TP_OK;
    char *copy = strdup(path);
    if (!copy)
        return tp_fail_memory(err);
    enum tp_status status = add_file(list, copy, NULL, err);
    if (status != TP_OK)
        return status;
    const struct tp_found added = list->files[list->count - 1];
    memmove(&list->files[at + 1], &list->files[at],
            (list->count - 1 - at) * sizeof added);
    list->files[at] = added;
    return TP_OK;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

enum tp_status tp_found_numbered(const char *stem, struct tp_found_list *list,
                                 struct tp_error *err)
{
    const char *name = tp_file_base_name(stem);
    const size_t length = strlen(name), folder = (size_t)(name - stem);
    char *path = folder ? strndup(stem, folder) : strdup(".");
    DIR *dir = path ? opendir(path) : NULL;
    enum tp_status status = path ? TP_OK : tp_fail_memory(err);
    const struct dirent *entry;
    free(path);
    while (dir && status == TP_OK && (entry = readdir(dir))) {
        const char *number = entry->d_name + length;
        if (strncmp(entry->d_name, name, length) != 0 || !is_number(number))
            continue;
        char *found = malloc(strlen(stem) + strlen(number) + 1);
        status = found ? TP_OK : tp_fail_memory(err);
        if (found)
            status = tp_found_add(
                list, strcat(strcpy(found, stem), number), err);
        free(found);
    }
    if (dir)
        closedir(dir);
    return status;
}

size_t tp_found_index(const struct tp_found_list *list, const char *path)
{
    const size_t at = first_from(list, path);
    return at < list->count && strcmp(list->files[at].path, path) == 0
               ? at
               : list->count;
}

/* --- what is wrong with them ---------------------------------------------- */

/* States that are met are odd. */
enum { NO_STATE = 2 };

enum tp_status tp_found_meet(struct tp_found *found, uint64_t size,
                             int64_t modified, struct tp_error *err)
{
    uint64_t known = 0;
    const uint64_t state =
        (size * 0x9e3779b97f4a7c15u ^ (uint64_t)modified) | 1; /* not 0 */
    return __atomic_compare_exchange_n(&found->read, &known, state, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
                   known == state
               ? TP_OK
               : tp_fail(err, TP_E_CHANGED, -1,
                         "the file is another than when it was first read");
}

enum tp_status tp_found_look(struct tp_found *found, struct tp_error *err)
{
    struct stat info;
    return stat(found->path, &info) != 0
               ? TP_OK
               : tp_found_meet(found, (uint64_t)info.st_size,
                               tp_file_modified(&info), err);
}

static bool is_same(const struct tp_found_problem *problem, const char *path,
                    const struct tp_error *why)
{
    return problem && problem->offset == why->offset &&
           !strcmp(problem->path, path) &&
           !strcmp(problem->reason, why->message);
}

enum tp_status tp_found_fail(struct tp_found *found, const char *path,
                             const struct tp_error *why, struct tp_error *err)
{
    const size_t length = strlen(why->message) + 1;
    struct tp_found_problem *made =
        malloc(sizeof *made + length + strlen(path) + 1);
    if (!made)
        return tp_fail_memory(err);
    *made = (struct tp_found_problem){
        .next = __atomic_load_n(&found->problems, __ATOMIC_ACQUIRE),
        .damage = why->code != TP_E_UNSUPPORTED && why->code != TP_E_LIMIT,
        .offset = why->offset,
        .path = made->reason + length};
    memcpy(made->reason, why->message, length);
    strcpy(made->reason + length, path);
    if (why->code == TP_E_CHANGED) /* no state is that which was read */
        __atomic_store_n(&found->read, NO_STATE, __ATOMIC_RELAXED);
    if (is_same(made->next, path, why)) { /* all the same ones go later */
        free(made);
        return TP_OK;
    }
    while (!__atomic_compare_exchange_n(&found->problems, &made->next, made,
                                        false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        continue;
    return TP_OK;
}

bool tp_found_damaged(const struct tp_found_list *list)
{
    bool damaged = list->problem_count > 0;
    for (size_t i = 0; i < list->count && !damaged; i++)
        for (const struct tp_found_problem *at = list->files[i].problems; at;
             at = at->next)
            damaged |= at->damage;
    return damaged;
}

const struct tp_found *tp_found_first_bad(const struct tp_found_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i].problems)
            return &list->files[i];
    return NULL;
}

static void clear_problems(struct tp_found *found)
{
    for (struct tp_found_problem *at = found->problems, *next; at; at = next) {
        next = at->next;
        free(at);
    }
}

void tp_found_clear(struct tp_found_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        clear_problems(&list->files[i]);
        if (!list->borrowed)
            free(list->files[i].path);
    }
    for (size_t i = 0; i < list->problem_count; i++)
        free(list->problems[i]);
    for (size_t i = 0; i < list->link_count; i++)
        free(list->links[i]);
    if (list->seen) {
        free(list->seen->slots);
        free(list->seen->used);
    }
    free(list->seen);
    free(list->links);
    free(list->files);
    free(list->problems);
    memset(list, 0, sizeof *list);
}
