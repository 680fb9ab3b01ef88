/* SPDX-License-Identifier: MIT */
/*
 * The files of a check. All that lies below the roots is found at once, so
 * that one reached twice is read once; then each file gets the longest root
 * that its path begins with, and that root's project. Roots are sorted: a
 * shell may name 10^4 of them.
 *
 * Cost: a search among the roots for each part of each path.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "check/check_find.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

struct root {
    const char *path;   /* as given                                         */
    size_t length;      /* without slashes at the end                       */
    const char *folder; /* absolute: itself, or that of the file          */
    bool is_folder;
    const struct tp_check_project *project;
};

struct finder {
    struct tp_check_list *list;
    const struct tp_check_settings *given;
    struct root *roots;
    size_t count;
    struct tp_error *err;
};

static int by_path(const void *a, const void *b)
{
    const struct root *left = a, *right = b;
    size_t least = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->path, right->path, least);
    if (order != 0)
        return order;
    return (left->length > right->length) - (left->length < right->length);
}

/* The absolute folder of a root, the arena's. */
static enum tp_status set_folder(struct finder *finder, struct root *root)
{
    struct stat info;
    root->is_folder = stat(root->path, &info) == 0 && S_ISDIR(info.st_mode);
    size_t length = strlen(root->path);
    while (!root->is_folder && length > 0 && root->path[length - 1] != '/')
        length--;
    struct tp_arena *arena = &finder->list->arena;
    const char *folder =
        length ? tp_arena_text(arena, root->path, length) : ".";
    char *absolute = folder ? realpath(folder, NULL) : NULL;
    if (!folder || !absolute)
        return folder ? tp_fail_errno(finder->err, "cannot find %s", folder)
                      : tp_fail_memory(finder->err);
    root->folder = tp_arena_text(arena, absolute, strlen(absolute));
    free(absolute);
    return root->folder ? TP_OK : tp_fail_memory(finder->err);
}

/* The project of a folder; one that is known stands for itself. */
static enum tp_status set_project(struct finder *finder, struct root *root)
{
    struct tp_check_list *list = finder->list;
    struct tp_check_project new;
    enum tp_status status = tp_check_find_project(
        root->folder, &list->arena, &new.settings, &new.folder, finder->err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < list->project_count; i++) {
        const char *folder = list->projects[i]->folder;
        if (folder == new.folder ||
            (folder && new.folder && !strcmp(folder, new.folder))) {
            root->project = list->projects[i];
            return TP_OK;
        }
    }
    struct tp_check_project *kept = tp_arena_alloc(&list->arena, sizeof *kept);
    if (!kept)
        return tp_fail_memory(finder->err);
    tp_check_override(&new.settings, finder->given);
    *kept = new;
    root->project = kept;
    status =
        tp_grow(&list->projects, &list->project_capacity,
                list->project_count + 1, sizeof *list->projects, finder->err);
    if (status == TP_OK)
        list->projects[list->project_count++] = kept;
    return status;
}

static enum tp_status set_roots(struct finder *finder, const char *const *paths)
{
    enum tp_status status = TP_OK;
    const struct root *before = NULL;
    for (size_t i = 0; i < finder->count; i++) {
        size_t length = strlen(paths[i]);
        while (length > 1 && paths[i][length - 1] == '/')
            length--;
        finder->roots[i] = (struct root){.path = paths[i], .length = length};
    }
    qsort(finder->roots, finder->count, sizeof *finder->roots, by_path);
    for (size_t i = 0; i < finder->count && status == TP_OK; i++) {
        struct root *root = &finder->roots[i];
        status = set_folder(finder, root);
        if (status == TP_OK && before && !strcmp(before->folder, root->folder))
            root->project = before->project;
        else if (status == TP_OK)
            status = set_project(finder, root);
        before = root;
    }
    return status;
}

/* The root that a path was found below: the longest. */
static const struct root *root_of(const struct finder *finder, const char *path)
{
    for (size_t length = strlen(path); length > 0; length--) {
        struct root key = {.path = path, .length = length};
        if (path[length] && path[length] != '/' && length > 1)
            continue;
        const struct root *found =
            bsearch(&key, finder->roots, finder->count, sizeof key, by_path);
        if (found)
            return found;
    }
    return finder->roots; /* not reached: a path begins with its root */
}

/* Whether the part of a path up to a slash is `word`. */
static bool part_is(const char *part, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(part, word, length);
}

static bool is_test(const char *below)
{
    for (const char *slash; (slash = strchr(below, '/')); below = slash + 1) {
        if (part_is(below, (size_t)(slash - below), "tests"))
            return true;
    }
    size_t length = strlen(below);
    return !strncmp(below, "test_", 5) || !strcmp(below, "conftest.py") ||
           (length > 8 && !strcmp(below + length - 8, "_test.py"));
}

/* Whether a pattern is a path's, of a folder that holds it, or without a slash
 * that of any part. A star matches slashes, too. */
static bool matches(const char *pattern, char *path)
{
    size_t size = strlen(pattern);
    char copy[4096];
    if (!strncmp(pattern, "./", 2))
        pattern += 2, size -= 2;
    while (size > 0 && pattern[size - 1] == '/')
        size--;
    if (size == 0 || size >= sizeof copy)
        return false;
    memcpy(copy, pattern, size);
    copy[size] = '\0';
    bool parts = !strchr(copy, '/'), found = false;
    for (char *begin = path, *slash = path; slash && !found;) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        found = fnmatch(copy, begin, 0) == 0;
        if (slash)
            *slash++ = '/';
        if (parts && slash)
            begin = slash;
    }
    return found;
}

/* Whether the project leaves out what lies at `below` in its root. */
static bool is_excluded(const struct root *root, const char *below,
                        struct tp_text *path)
{
    const struct tp_check_settings *settings = &root->project->settings;
    if (settings->exclude_count == 0)
        return false;
    size_t length = strlen(root->project->folder);
    const char *folder = root->folder + length; /* which begins with it */
    path->length = 0;
    tp_text_add(path, "%s/%s", folder + (*folder == '/'), below);
    char *relative = path->data ? path->data : NULL;
    if (!relative || path->failed)
        return false;
    relative += *relative == '/';
    for (size_t i = 0; i < settings->exclude_count; i++) {
        if (matches(settings->exclude[i], relative))
            return true;
    }
    return false;
}

/* Takes the path of a file that is wanted. */
static bool take_file(struct finder *finder, char *path,
                      struct tp_text *scratch)
{
    struct tp_check_list *list = finder->list;
    const struct root *root = root_of(finder, path);
    const char *below = path + root->length;
    bool named = *below == '\0';
    while (*below == '/')
        below++;
    if (!named) {
        if (!tp_check_is_script(path) ||
            strstr(below, ".ipynb_checkpoints/") || /* Jupyter's copies */
            is_excluded(root, below, scratch))
            return false;
        if (!root->project->settings.include_tests && is_test(below)) {
            list->tests++;
            return false;
        }
    }
    list->files[list->count++] = (struct tp_check_file){
        .path = path,
        .named = named,
        .root = named ? 0 : (size_t)(root - finder->roots) + 1,
        .settings = &root->project->settings};
    return true;
}

static enum tp_status take_files(struct finder *finder,
                                 struct tp_found_list *found)
{
    struct tp_check_list *list = finder->list;
    struct tp_text scratch = {0};
    list->problems = found->problems;
    list->problem_count = found->problem_count;
    found->problems = NULL;
    found->problem_count = 0;
    list->files = calloc(found->count + 1, sizeof *list->files);
    if (!list->files)
        return tp_fail_memory(finder->err);
    for (size_t i = 0; i < found->count; i++) {
        if (take_file(finder, found->files[i].path, &scratch))
            found->files[i].path = NULL;
    }
    bool failed = scratch.failed;
    tp_text_clear(&scratch);
    return failed ? tp_fail_memory(finder->err) : TP_OK;
}

enum tp_status tp_check_find(const char *const *roots, size_t root_count,
                             const struct tp_check_settings *given,
                             struct tp_check_list *list, struct tp_error *err)
{
    struct tp_found_list found = {0};
    struct finder finder = {.list = list,
                            .given = given,
                            .roots = calloc(root_count, sizeof(struct root)),
                            .count = root_count,
                            .err = err};
    enum tp_status status = finder.roots ? TP_OK : tp_fail_memory(err);
    *list = (struct tp_check_list){0};
    for (size_t i = 0; i < root_count && status == TP_OK; i++)
        status = tp_file_find(roots[i], &found, err);
    if (status == TP_OK)
        status = tp_found_sort(&found, err);
    if (status == TP_OK)
        status = set_roots(&finder, roots);
    if (status == TP_OK)
        status = take_files(&finder, &found);
    tp_found_clear(&found);
    free(finder.roots);
    return status;
}

void tp_check_list_clear(struct tp_check_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        tp_check_file_clear(&list->files[i]);
    for (size_t i = 0; i < list->problem_count; i++)
        free(list->problems[i]);
    free(list->files);
    free(list->problems);
    free(list->projects);
    tp_arena_clear(&list->arena);
    *list = (struct tp_check_list){0};
}
