/* SPDX-License-Identifier: MIT */
/*
 * All files of a run change at once, as far as a file system allows it: they
 * are made in OUTPUT/.result.MACHINE.PID.tmp (base/file.h: removed by a later
 * run when this one is killed), then older files are moved from their places
 * into the folder `.old` of it, and the new ones into the places. Each step is
 * a rename within one file system, which takes no room; when one fails, those
 * before it are undone in turn. A lock of the directory keeps two runs that end
 * at the same time apart, where the file system has locks.
 *
 * Alternative: exchanging two directories in one call. It would be all or
 * nothing for a kill, too, but the directory is the user's, with files of
 * theirs and of other commands, and may be a mount point.
 *
 * Cost: two renames a file.
 */
#include "report/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define OLD ".old"

/* A rename that was done. */
struct move {
    char *from, *to;
};

struct commit {
    const char *output_dir, *staging;
    struct tp_text found; /* the new files: names, each with its NUL       */
    struct move *moves;   /* in the order they were done                   */
    size_t count, capacity;
};

enum tp_status tp_staging_open(const char *output_dir, char **staging,
                               struct tp_error *err)
{
    char *path = tp_file_join(output_dir, "result");
    *staging = path ? tp_file_aside(path) : NULL;
    free(path);
    if (!*staging)
        return tp_fail_memory(err);
    tp_file_remove_tree(*staging); /* of an earlier process of this number */
    return tp_file_make_directories(*staging, err);
}

static const char *next_name(const char *name)
{
    return name + strlen(name) + 1;
}

static const char *end_of(const struct tp_text *names)
{
    return tp_text_get(names) + names->length;
}

static bool has_name(const struct tp_text *names, const char *name)
{
    for (const char *at = tp_text_get(names); at < end_of(names);
         at = next_name(at)) {
        if (!strcmp(at, name))
            return true;
    }
    return false;
}

static bool is_file(const char *folder, const char *name, bool *no_memory)
{
    struct stat info;
    char *path = tp_file_join(folder, name);
    bool is = path && lstat(path, &info) == 0 && !S_ISDIR(info.st_mode);
    *no_memory |= path == NULL;
    free(path);
    return is;
}

bool tp_staging_replaces(const char *output_dir, const struct tp_text *names)
{
    bool unknown = names->failed, any = false;
    for (const char *at = tp_text_get(names); at < end_of(names);
         at = next_name(at))
        any |= is_file(output_dir, at, &unknown);
    return any || unknown;
}

/* Adds the files below staging/`folder`, "" or "category/". */
static enum tp_status find_new(struct commit *commit, const char *folder,
                               struct tp_error *err)
{
    char *path = tp_file_join(commit->staging, folder);
    if (!path)
        return tp_fail_memory(err);
    DIR *stream = opendir(path);
    enum tp_status status =
        stream ? TP_OK : tp_fail_errno(err, "cannot read %s", path);
    const struct dirent *entry;
    errno = 0;
    while (status == TP_OK && (entry = readdir(stream))) {
        struct stat info;
        struct tp_text name = {0};
        if (entry->d_name[0] == '.')
            continue;
        tp_text_add(&name, "%s%s", folder, entry->d_name);
        if (fstatat(dirfd(stream), entry->d_name, &info, 0) != 0)
            status =
                tp_fail_errno(err, "cannot read %s/%s", path, entry->d_name);
        else if (S_ISDIR(info.st_mode)) {
            tp_text_add(&name, "/");
            status = name.failed ? tp_fail_memory(err)
                                 : find_new(commit, tp_text_get(&name), err);
        } else {
            tp_text_bytes(&commit->found, tp_text_get(&name), name.length + 1);
            commit->found.failed |= name.failed;
        }
        tp_text_clear(&name);
        errno = 0;
    }
    if (status == TP_OK && errno != 0)
        status = tp_fail_errno(err, "cannot read %s", path);
    if (stream)
        closedir(stream);
    free(path);
    return status == TP_OK && commit->found.failed ? tp_fail_memory(err)
                                                   : status;
}

static enum tp_status move(struct commit *commit, char *from, char *to,
                           struct tp_error *err)
{
    enum tp_status status =
        from && to ? tp_grow(&commit->moves, &commit->capacity,
                             commit->count + 1, sizeof *commit->moves, err)
                   : tp_fail_memory(err);
    if (status == TP_OK && rename(from, to) != 0)
        status = tp_fail_errno(err, "cannot move %s to %s", from, to);
    if (status == TP_OK) {
        commit->moves[commit->count++] = (struct move){from, to};
        return TP_OK;
    }
    free(from);
    free(to);
    return status;
}

/* Takes an older file out of its place, if there is one. */
static enum tp_status move_old(struct commit *commit, const char *name,
                               struct tp_error *err)
{
    struct tp_text place = {0};
    bool no_memory = false;
    if (!is_file(commit->output_dir, name, &no_memory))
        return no_memory ? tp_fail_memory(err) : TP_OK;
    tp_text_add(&place, "%s/" OLD "/%zu", commit->staging, commit->count);
    enum tp_status status =
        move(commit, tp_file_join(commit->output_dir, name),
             place.failed ? NULL : strdup(tp_text_get(&place)), err);
    tp_text_clear(&place);
    return status;
}

static enum tp_status move_new(struct commit *commit, const char *name,
                               struct tp_error *err)
{
    const char *slash = strrchr(name, '/');
    enum tp_status status = TP_OK;
    char *to = tp_file_join(commit->output_dir, name);
    if (slash && to) {
        char *end = to + strlen(to) - strlen(slash);
        *end = '\0';
        status = tp_file_make_directories(to, err);
        *end = '/';
    }
    if (status == TP_OK)
        return move(commit, tp_file_join(commit->staging, name), to, err);
    free(to);
    return status;
}

static enum tp_status move_all_old(struct commit *commit,
                                   const struct tp_text *names,
                                   const char *last, struct tp_error *err)
{
    enum tp_status status = move_old(commit, last, err);
    const struct tp_text *const lists[] = {names, &commit->found};
    for (int i = 0; i < 2; i++) {
        for (const char *at = tp_text_get(lists[i]);
             at < end_of(lists[i]) && status == TP_OK; at = next_name(at)) {
            /* what stands in both is gone the second time */
            if (i == 0 || !has_name(names, at))
                status = move_old(commit, at, err);
        }
    }
    return status;
}

static enum tp_status move_all(struct commit *commit,
                               const struct tp_text *names, const char *last,
                               struct tp_error *err)
{
    enum tp_status status = move_all_old(commit, names, last, err);
    for (const char *at = tp_text_get(&commit->found);
         at < end_of(&commit->found) && status == TP_OK; at = next_name(at)) {
        if (strcmp(at, last) != 0)
            status = move_new(commit, at, err);
    }
    if (status == TP_OK && has_name(&commit->found, last))
        status = move_new(commit, last, err);
    return status;
}

/* Undoes the moves, the last one first; false: not all of them. */
static bool move_back(const struct commit *commit)
{
    bool all = true;
    for (size_t i = commit->count; i-- > 0;) {
        const struct move *done = &commit->moves[i];
        if (rename(done->to, done->from) == 0)
            continue;
        /* for a file system on which renaming fails, and linking does not */
        all &= link(done->to, done->from) == 0 && unlink(done->to) == 0;
    }
    return all;
}

static enum tp_status prepare(struct commit *commit, struct tp_error *err)
{
    char *old = tp_file_join(commit->staging, OLD);
    enum tp_status status =
        old ? tp_file_make_directories(old, err) : tp_fail_memory(err);
    free(old);
    return status == TP_OK ? find_new(commit, "", err) : status;
}

static void commit_clear(struct commit *commit)
{
    for (size_t i = 0; i < commit->count; i++) {
        free(commit->moves[i].from);
        free(commit->moves[i].to);
    }
    free(commit->moves);
    tp_text_clear(&commit->found);
}

enum tp_status tp_staging_commit(const char *output_dir, const char *staging,
                                 const struct tp_text *names, const char *last,
                                 struct tp_error *err)
{
    struct commit commit = {.output_dir = output_dir, .staging = staging};
    bool back = true;
    enum tp_status status =
        names->failed ? tp_fail_memory(err) : prepare(&commit, err);
    if (status == TP_OK) {
        int lock = open(output_dir, O_RDONLY | O_CLOEXEC);
        if (lock >= 0)
            flock(lock, LOCK_EX);
        status = move_all(&commit, names, last, err);
        if (status != TP_OK)
            back = move_back(&commit);
        if (lock >= 0)
            close(lock);
    }
    if (!back)
        tp_fail(err, status, -1,
                "%.200s; what was there before could not be put back and is "
                "in %.200s/" OLD,
                err ? err->message : "", staging);
    else
        tp_file_remove_tree(staging);
    commit_clear(&commit);
    return status;
}

void tp_staging_hide(const char *staging, char *message)
{
    const char *name = tp_file_base_name(staging);
    const size_t length = strlen(name);
    char *at;
    /* it comes after a slash and before one, or ends the message */
    while ((at = strstr(message, name)) &&
           strncmp(at + length, "/" OLD, strlen("/" OLD)) != 0) {
        char *rest = at + length + (at[length] == '/');
        memmove(at, rest, strlen(rest) + 1);
    }
}
