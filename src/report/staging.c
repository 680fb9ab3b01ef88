/* SPDX-License-Identifier: MIT */
/*
 * All files of a run change at once, as far as a file system allows it: they
 * are made in OUTPUT/.result.MACHINE.PID.tmp (base/file.h: removed by a later
 * run when this one is killed before), then older files are moved from their
 * places into the folder `.old` of it, and the new ones into the places. Each
 * step is a rename within one file system, which takes no room; when one fails,
 * those before it are undone in turn; when the process is killed amid them, a
 * later run does the rest of them, which the file `.names` tells. A lock of the
 * directory keeps two runs that end at the same time apart, where the file
 * system has locks.
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

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"

#define ASIDE "result"
#define OLD ".old"
#define JOURNAL ".names"

enum { JOURNAL_MOST = 1 << 20 }; /* some ten kB are usual */

/* A rename that was done. */
struct move {
    char *from, *to;
};

struct commit {
    const char *output_dir, *staging;
    struct tp_text found;   /* the new files: names, each with its NUL       */
    struct tp_text journal; /* as write_journal makes it                   */
    struct move *moves;     /* in the order they were done                   */
    size_t count, capacity;
};

enum tp_status tp_staging_open(const char *output_dir, char **staging,
                               struct tp_error *err)
{
    char *path = tp_file_join(output_dir, ASIDE);
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

/* Takes older files out of their places, all of a list but `last`. */
static enum tp_status move_all_old(struct commit *commit,
                                   const struct tp_text *names,
                                   const char *last, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const char *at = tp_text_get(names);
         at < end_of(names) && status == TP_OK; at = next_name(at)) {
        if (strcmp(at, last) != 0)
            status = move_old(commit, at, err);
    }
    return status;
}

static enum tp_status move_all(struct commit *commit, struct tp_error *err)
{
    const char *last = tp_text_get(&commit->journal), *first = next_name(last);
    const struct tp_text removed = {
        .data = (char *)first,
        .length = (size_t)(end_of(&commit->journal) - first)};
    const bool comes = has_name(&commit->found, last);
    enum tp_status status = comes ? move_old(commit, last, err) : TP_OK;
    if (status == TP_OK)
        status = move_all_old(commit, &removed, "", err);
    if (status == TP_OK)
        status = move_all_old(commit, &commit->found, last, err);
    for (const char *at = tp_text_get(&commit->found);
         at < end_of(&commit->found) && status == TP_OK; at = next_name(at)) {
        if (strcmp(at, last) != 0)
            status = move_new(commit, at, err);
    }
    return status == TP_OK && comes ? move_new(commit, last, err) : status;
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

/* What is to be done, for tp_staging_recover: `last`, and the names of which
 * there is nothing new, `last` first if it is one of them. A file only where
 * old could mix with new: a disk may have no room left for it. */
static enum tp_status write_journal(struct commit *commit,
                                    const struct tp_text *names,
                                    const char *last, struct tp_error *err)
{
    struct tp_text *journal = &commit->journal;
    tp_text_bytes(journal, last, strlen(last) + 1);
    if (!has_name(&commit->found, last))
        tp_text_bytes(journal, last, strlen(last) + 1);
    for (const char *at = tp_text_get(names); at < end_of(names);
         at = next_name(at)) {
        if (strcmp(at, last) != 0 && !has_name(&commit->found, at))
            tp_text_bytes(journal, at, strlen(at) + 1);
    }
    char *path = tp_file_join(commit->staging, JOURNAL);
    enum tp_status status = TP_OK;
    if (!path || names->failed || journal->failed)
        status = tp_fail_memory(err);
    else if (tp_staging_replaces(commit->output_dir, names))
        status = tp_file_write(path, journal->data, journal->length, err);
    free(path);
    return status;
}

static enum tp_status prepare(struct commit *commit,
                              const struct tp_text *names, const char *last,
                              struct tp_error *err)
{
    char *old = tp_file_join(commit->staging, OLD);
    enum tp_status status =
        old ? tp_file_make_directories(old, err) : tp_fail_memory(err);
    free(old);
    if (status == TP_OK)
        status = find_new(commit, "", err);
    return status == TP_OK ? write_journal(commit, names, last, err) : status;
}

static void commit_clear(struct commit *commit)
{
    for (size_t i = 0; i < commit->count; i++) {
        free(commit->moves[i].from);
        free(commit->moves[i].to);
    }
    free(commit->moves);
    tp_text_clear(&commit->found);
    tp_text_clear(&commit->journal);
}

/* Whether a text is a journal, each of whose names stays in its folder. */
static bool is_journal(const struct tp_text *text)
{
    bool good = text->length > 0 && text->data[text->length - 1] == '\0';
    for (const char *at = tp_text_get(text); good && at < end_of(text);
         at = next_name(at))
        good = *at && *at != '/' && !strstr(at, "..");
    return good;
}

/* Finishes one commit, if it was begun. */
static enum tp_status finish(const char *output_dir, const char *staging,
                             struct tp_error *err)
{
    struct commit commit = {.output_dir = output_dir, .staging = staging};
    bool begun = false;
    char *path = tp_file_join(staging, JOURNAL);
    enum tp_status status =
        path ? tp_file_look(path, &begun, err) : tp_fail_memory(err);
    if (status == TP_OK && begun)
        status =
            tp_bytes_load(path, "a journal", JOURNAL_MOST, &commit.journal.data,
                          &commit.journal.length, err);
    begun &= is_journal(&commit.journal);
    if (status == TP_OK && begun)
        status = find_new(&commit, "", err);
    if (status == TP_OK && begun)
        status = move_all(&commit, err);
    if (status == TP_OK)
        tp_file_remove_tree(staging);
    free(path);
    commit_clear(&commit);
    return status;
}

static enum tp_status finish_all(const char *output_dir, struct tp_error *err)
{
    static const char prefix[] = "." ASIDE ".";
    enum tp_status status = TP_OK;
    DIR *stream = opendir(output_dir);
    if (!stream)
        return tp_fail_errno(err, "cannot read %s", output_dir);
    const struct dirent *entry;
    errno = 0;
    while (status == TP_OK && (entry = readdir(stream))) {
        if (!strncmp(entry->d_name, prefix, sizeof prefix - 1) &&
            tp_file_is_abandoned(entry->d_name)) {
            char *staging = tp_file_join(output_dir, entry->d_name);
            status = staging ? finish(output_dir, staging, err)
                             : tp_fail_memory(err);
            free(staging);
        }
        errno = 0;
    }
    if (status == TP_OK && errno != 0)
        status = tp_fail_errno(err, "cannot read %s", output_dir);
    closedir(stream);
    return status;
}

/* A descriptor that has the lock until it is closed. */
static int lock_directory(const char *output_dir)
{
    int lock = open(output_dir, O_RDONLY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

static void unlock_directory(int lock)
{
    if (lock >= 0)
        close(lock);
}

enum tp_status tp_staging_recover(const char *output_dir, struct tp_error *err)
{
    const int lock = lock_directory(output_dir);
    enum tp_status status = finish_all(output_dir, err);
    unlock_directory(lock);
    return status;
}

enum tp_status tp_staging_commit(const char *output_dir, const char *staging,
                                 const struct tp_text *names, const char *last,
                                 struct tp_error *err)
{
    struct commit commit = {.output_dir = output_dir, .staging = staging};
    bool back = true;
    const int lock = lock_directory(output_dir);
    /* of a run that was killed after this one began */
    enum tp_status status = finish_all(output_dir, err);
    if (status == TP_OK)
        status = prepare(&commit, names, last, err);
    if (status == TP_OK) {
        status = move_all(&commit, err);
        back = status == TP_OK || move_back(&commit);
    }
    unlock_directory(lock);
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
