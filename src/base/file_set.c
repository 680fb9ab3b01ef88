/* SPDX-License-Identifier: MIT */
/*
 * Files that are opened when they are read. A checkpoint has a file for each of
 * some thousand ranks, or for each of 10^5 tensors, and a process may have some
 * thousand open; so at most OPEN_MAX stay open, and a hand that goes round
 * closes the next one that nobody reads. To read each whole into memory would
 * need no descriptors and all of the memory. Cost: two short locks for each
 * read, of up to a megabyte.
 */
#include "base/file_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_index.h"

enum { OPEN_MAX = 64 };

struct member {
    char *name;
    struct tp_bytes bytes; /* fd -1: closed; the rest as of the first opening */
    unsigned users;
    bool opened; /* once, at least                                      */
};

struct tp_file_set {
    char *folder;
    struct member *members;
    size_t count, room;
    struct tp_text_index index; /* number by name */
    size_t indexed;             /* names there is room for in it */
    pthread_mutex_t lock;       /* guards bytes, users, changed, hand */
    size_t open_count, hand;
    struct tp_error changed; /* the first file that did, while it was read  */
};

struct tp_file_set *tp_file_set_new(const char *path)
{
    struct tp_file_set *set = calloc(1, sizeof *set);
    const size_t length = (size_t)(tp_file_base_name(path) - path);
    if (set)
        set->folder = malloc(length + 3);
    if (!set || !set->folder) {
        free(set);
        return NULL;
    }
    memcpy(set->folder, path, length);
    memcpy(set->folder + length, "./", 3);
    if (length)
        set->folder[length] = 0;
    pthread_mutex_init(&set->lock, NULL);
    return set;
}

void tp_file_set_free(struct tp_file_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++) {
        tp_bytes_close(&set->members[i].bytes);
        free(set->members[i].name);
    }
    free(set->members);
    free(set->folder);
    tp_text_index_clear(&set->index);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

bool tp_file_set_takes(const char *name)
{
    return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/');
}

/* Room in the index for one name more. */
static bool reserve_name(struct tp_file_set *set)
{
    if (set->count < set->indexed)
        return true;
    const size_t room = set->indexed ? 2 * set->indexed : 64;
    if (!tp_text_index_init(&set->index, room))
        return false;
    set->indexed = room;
    for (size_t i = 0; i < set->count; i++)
        *tp_text_index_put(&set->index, set->members[i].name) = i;
    return true;
}

/* Puts in the name, unless it is there. */
static enum tp_status put(struct tp_file_set *set, const char *name,
                          size_t *number, struct tp_error *err)
{
    if (!reserve_name(set) || tp_grow(&set->members, &set->room, set->count + 1,
                                      sizeof *set->members, NULL) != TP_OK)
        return tp_fail_memory(err);
    char *copy = strdup(name);
    if (!copy)
        return tp_fail_memory(err);
    size_t *place = tp_text_index_put(&set->index, copy);
    if (*place != TP_TEXT_NEW) {
        free(copy);
    } else {
        set->members[set->count] =
            (struct member){.name = copy, .bytes = {.fd = -1}};
        *place = set->count++;
    }
    *number = *place;
    return TP_OK;
}

enum tp_status tp_file_set_add(struct tp_file_set *set, const char *name,
                               size_t *number, struct tp_error *err)
{
    if (!tp_file_set_takes(name))
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "the file \"%s\" is not one of the same folder; it is "
                       "not opened",
                       name);
    return put(set, name, number, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Copies of the wanted names of an open folder. */
static enum tp_status list_names(
    DIR *folder, bool (*wanted)(const void *context, const char *name),
    const void *context, char ***names, size_t *count, struct tp_error *err)
{
    size_t room = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!wanted(context, entry->d_name))
            continue;
        if (tp_grow(names, &room, *count + 1, sizeof **names, NULL) != TP_OK ||
            !((*names)[*count] = strdup(entry->d_name)))
            return tp_fail_memory(err);
        ++*count;
    }
    return TP_OK;
}

/* Puts in NAME or, unless it is NULL, NAME/below. */
static enum tp_status put_below(struct tp_file_set *set, const char *name,
                                const char *below, struct tp_error *err)
{
    size_t number;
    struct tp_text path = {0};
    tp_text_add(&path, "%s%s%s", name, below ? "/" : "", below ? below : "");
    enum tp_status status = path.failed
                                ? tp_fail_memory(err)
                                : put(set, tp_text_get(&path), &number, err);
    tp_text_clear(&path);
    return status;
}

enum tp_status tp_file_set_find(struct tp_file_set *set,
                                bool (*wanted)(const void *context,
                                               const char *name),
                                const void *context, const char *below,
                                struct tp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    DIR *folder = opendir(set->folder);
    if (!folder)
        return tp_fail_errno(err, "cannot read the folder %s", set->folder);
    enum tp_status status =
        list_names(folder, wanted, context, &names, &count, err);
    closedir(folder);
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (status == TP_OK)
            status = put_below(set, names[i], below, err);
        free(names[i]);
    }
    free(names);
    return status;
}

size_t tp_file_set_count(const struct tp_file_set *set)
{
    return set->count;
}

const char *tp_file_set_name(const struct tp_file_set *set, size_t number)
{
    return set->members[number].name;
}

/* Looks whether an open file is what it was. */
static void check_member(struct tp_file_set *set, const struct member *member)
{
    struct tp_error why = {.code = TP_OK};
    if (set->changed.code != TP_OK ||
        tp_bytes_unchanged(&member->bytes, &why) == TP_OK)
        return;
    tp_while(&why, "reading %s", member->name);
    set->changed = why;
}

/* Closes files that nobody reads, until few enough are open. */
static void close_unused(struct tp_file_set *set)
{
    for (size_t seen = 0; set->open_count >= OPEN_MAX && seen < set->count;
         seen++) {
        struct member *member = &set->members[set->hand];
        set->hand = (set->hand + 1) % set->count;
        if (member->bytes.fd < 0 || member->users)
            continue;
        check_member(set, member);
        close(member->bytes.fd);
        member->bytes.fd = -1;
        set->open_count--;
    }
}

static enum tp_status open_path(const struct tp_file_set *set,
                                const struct member *member, int *fd,
                                struct tp_error *err)
{
    char *path = malloc(strlen(set->folder) + strlen(member->name) + 1);
    if (!path)
        return tp_fail_memory(err);
    strcpy(path, set->folder);
    strcat(path, member->name);
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (*fd < 0 && errno == ENOENT)
        return tp_fail(err, TP_E_NOT_FOUND, -1, "the file %s is not there",
                       member->name);
    return *fd >= 0 ? TP_OK
                    : tp_fail_errno(err, "cannot open %s", member->name);
}

static enum tp_status open_member(struct tp_file_set *set,
                                  struct member *member, struct tp_error *err)
{
    struct tp_bytes bytes;
    int fd = -1;
    close_unused(set);
    enum tp_status status = open_path(set, member, &fd, err);
    if (status != TP_OK)
        return status;
    status = tp_bytes_take(fd, &bytes, err);
    if (status != TP_OK) {
        tp_while(err, "opening %s", member->name);
        tp_bytes_close(&bytes);
        return status;
    }
    if (!member->opened)
        member->bytes = bytes;
    member->bytes.fd = fd;
    member->opened = true;
    set->open_count++;
    return TP_OK;
}

enum tp_status tp_file_set_take(struct tp_file_set *set, size_t number,
                                struct tp_bytes *bytes, struct tp_error *err)
{
    struct member *member = &set->members[number];
    memset(bytes, 0, sizeof *bytes);
    pthread_mutex_lock(&set->lock);
    enum tp_status status =
        member->bytes.fd < 0 ? open_member(set, member, err) : TP_OK;
    if (status == TP_OK) {
        member->users++;
        *bytes = member->bytes;
    }
    pthread_mutex_unlock(&set->lock);
    return status;
}

enum tp_status tp_file_set_unchanged(struct tp_file_set *set,
                                     struct tp_error *err)
{
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < set->count; i++)
        check_member(set, &set->members[i]);
    const struct tp_error *why = &set->changed;
    enum tp_status status = why->code;
    if (status != TP_OK)
        status = tp_fail(err, why->code, why->offset, "%s", why->message);
    pthread_mutex_unlock(&set->lock);
    return status;
}

void tp_file_set_give(struct tp_file_set *set, size_t number)
{
    pthread_mutex_lock(&set->lock);
    set->members[number].users--;
    pthread_mutex_unlock(&set->lock);
}
