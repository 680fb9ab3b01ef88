/* SPDX-License-Identifier: MIT */
/*
 * From options to rights. Files that options name are written aside and
 * renamed, so that what is left is their folder, and what lies in it: the
 * kernel knows no right for one name. Temporary files have a folder of their
 * own below $TMPDIR, which others use, too; it is empty at all times, and goes
 * at the end.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "cli/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "mpi/world_open.h"
#include "sandbox/landlock.h"

static enum tp_sandbox_role role_of(const struct tp_options *options,
                                    const struct tp_confine_use *use)
{
    if (tp_world_talks())
        return TP_SANDBOX_WORLD;
    return use->computes && options->device == TP_ON_CUDA ? TP_SANDBOX_DEVICE
                                                          : TP_SANDBOX_READER;
}

/* $TMPDIR, as base/spill.c takes it. */
static const char *temporary_root(void)
{
    const char *root = getenv("TMPDIR");
    return root && *root ? root : "/tmp";
}

/* Without one there are no temporary files, which most runs never need. */
static enum tp_status make_temporary(struct tp_confined *confined,
                                     struct tp_error *err)
{
    struct tp_sandbox_means unused;
    int version;
    enum tp_status status = tp_landlock_version(&version, &unused, err);
    if (version == 0 || tp_world_talks())
        return status;
    confined->temporary = tp_file_join(temporary_root(), "tprof-XXXXXX");
    if (!confined->temporary)
        return tp_fail_memory(err);
    if (!mkdtemp(confined->temporary)) {
        free(confined->temporary);
        confined->temporary = NULL;
        return TP_OK;
    }
    return setenv("TMPDIR", confined->temporary, 1) == 0 ? TP_OK
                                                         : tp_fail_memory(err);
}

/* A wish, and the texts in it that are its own. */
struct wishing {
    struct tp_sandbox_wish wish;
    char *texts[2 * TP_SANDBOX_FOLDERS];
    size_t count;
};

/* Adds the folder that the last name of a path is in. */
static enum tp_status add_parent(struct wishing *wishing, const char **list,
                                 const char *path, struct tp_error *err)
{
    if (!path)
        return TP_OK;
    char *parent = tp_output_parent(path);
    if (!parent)
        return tp_fail_memory(err);
    wishing->texts[wishing->count++] = parent;
    while (*list)
        list++;
    *list = parent;
    return TP_OK;
}

/* Folders that were made go again if the run fails, as far as empty. */
static enum tp_status add_made(struct wishing *wishing,
                               const struct tp_options *options,
                               const struct tp_output_made *made,
                               struct tp_error *err)
{
    const char **list = wishing->wish.emptied;
    if (!made)
        return TP_OK;
    const char *const files[] = {made->json ? options->output_json : NULL,
                                 made->annotated ? options->annotate : NULL};
    enum tp_status status = add_parent(
        wishing, list, made->output_dir ? options->output_dir : NULL, err);
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        char *folder;
        status = tp_output_folder_of(files[i], &folder, err);
        if (status == TP_OK)
            status = add_parent(wishing, list, folder, err);
        free(folder);
    }
    return status;
}

static enum tp_status make_wish(struct wishing *wishing,
                                const struct tp_options *options,
                                const struct tp_confine_use *use,
                                const struct tp_confined *confined,
                                struct tp_error *err)
{
    struct stat info;
    const bool is_folder = options->annotate &&
                           stat(options->annotate, &info) == 0 &&
                           S_ISDIR(info.st_mode);
    const char *const named[] = {options->state, options->output_json,
                                 is_folder ? NULL : options->annotate};
    struct tp_sandbox_wish *wish = &wishing->wish;
    enum tp_status status = TP_OK;
    size_t n = 0;
    if (use->writes)
        wish->folders[n++] = options->output_dir;
    if (is_folder)
        wish->folders[n++] = options->annotate;
    if (confined->temporary)
        wish->folders[n++] = confined->temporary;
    for (int i = 0; i < 3 && status == TP_OK; i++)
        status = add_parent(wishing, wish->folders, named[i], err);
    if (status == TP_OK)
        status = add_parent(wishing, wish->emptied, confined->temporary, err);
    return status == TP_OK ? add_made(wishing, options, use->made, err)
                           : status;
}

static enum tp_status give_away(const struct tp_options *options,
                                const struct tp_confine_use *use,
                                struct tp_confined *confined,
                                struct tp_error *err)
{
    struct wishing wishing = {.wish = {.role = role_of(options, use)}};
    enum tp_status status = make_wish(&wishing, options, use, confined, err);
    if (status == TP_OK)
        status = tp_sandbox_enter(&wishing.wish, &confined->sandbox, err);
    for (size_t i = 0; i < wishing.count; i++)
        free(wishing.texts[i]);
    return status;
}

enum tp_status tp_confine(const struct tp_options *options,
                          const struct tp_confine_use *use,
                          struct tp_confined *confined, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *confined = (struct tp_confined){.tried = !options->no_sandbox &&
                                              tp_sandbox_is_built()};
    if (!confined->tried)
        return TP_OK;
    if (use->draws && !options->no_plots)
        status = tp_gnuplot_starter_open(options->output_dir,
                                         &confined->starter, err);
    if (status == TP_OK && use->temporary)
        status = make_temporary(confined, err);
    if (status == TP_OK)
        status = give_away(options, use, confined, err);
    if (status == TP_OK && confined->starter)
        status = tp_gnuplot_starter_wait(confined->starter, err);
    return status;
}

/* For _exit: whatever else ends a child is no answer. */
enum { ANSWER_YES = 17 };

static _Noreturn void answer_in_child(const struct tp_options *options,
                                      bool (*ask)(const char *path),
                                      const char *path)
{
    const struct tp_sandbox_wish wish = {.role = TP_SANDBOX_READER};
    struct tp_sandbox sandbox;
    if (!options->no_sandbox &&
        tp_sandbox_enter(&wish, &sandbox, NULL) != TP_OK)
        _exit(0);
    _exit(ask(path) ? ANSWER_YES : 0);
}

enum tp_status tp_confined_ask(const struct tp_options *options,
                               bool (*ask)(const char *path), const char *path,
                               bool *answer, struct tp_error *err)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        answer_in_child(options, ask, path);
    pid_t ended = child;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 &&
           errno == EINTR)
        ;
    if (child < 0 || ended < 0)
        return tp_fail_errno(err, "cannot look at a file in a process apart");
    *answer = WIFEXITED(status) && WEXITSTATUS(status) == ANSWER_YES;
    return TP_OK;
}

void tp_confine_words(const struct tp_confined *confined, struct tp_text *text)
{
    if (confined->tried)
        tp_sandbox_words(&confined->sandbox, text);
    else if (tp_sandbox_is_built())
        tp_text_add(text, "none, as --no_sandbox asks");
    else
        tp_text_add(text, "%s", tp_sandbox_built());
}

void tp_confine_end(struct tp_confined *confined)
{
    tp_gnuplot_starter_close(confined->starter);
    if (confined->temporary)
        rmdir(confined->temporary);
    free(confined->temporary);
    *confined = (struct tp_confined){.tried = false};
}
