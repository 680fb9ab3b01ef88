/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* pwrite */
#include "cli/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static const char stem[] = ".reading-";

/* A path of each worker, with NULs behind it. */
enum { SLOT = 4096 };

/* When a process is killed mpirun sends SIGTERM to the others, and kills them a
 * second later: so long the living have to take their journals away. */
enum { WAITS = 12, WAIT_NS = 50 * 1000 * 1000 };

static enum tp_status find_journals(const struct tp_options *options,
                                    struct tp_found_list *list)
{
    char *path = tp_file_join(options->output_dir, stem);
    enum tp_status status =
        path ? tp_found_numbered(path, list, NULL) : TP_E_MEMORY;
    free(path);
    return status;
}

static const char *rank_of(const char *path)
{
    return tp_file_base_name(path) + strlen(stem);
}

/* Says what the journal of a process that is gone has, and removes it: whoever
 * does that first. */
static void tell(const struct tp_options *options, const char *path,
                 const char *when)
{
    char slot[SLOT + 1] = "";
    FILE *file = fopen(path, "rb");
    const bool first = unlink(path) == 0;
    while (file && first && fread(slot, 1, SLOT, file) > 0) {
        struct tp_text text = {0};
        tp_text_printable(&text, slot);
        if (text.length)
            tp_print_warning(options, "process %s was killed%s: it was reading "
                                      "%s",
                             rank_of(path), when, tp_text_get(&text));
        tp_text_clear(&text);
        memset(slot, 0, sizeof slot);
    }
    if (file)
        fclose(file);
}

static void tell_all(const struct tp_options *options, const char *when)
{
    struct tp_found_list list = {0};
    find_journals(options, &list);
    for (size_t i = 0; i < list.count; i++)
        tell(options, list.files[i].path, when);
    tp_found_clear(&list);
}

void tp_journal_recover(const struct tp_options *options)
{
    tell_all(options, " in an earlier run");
}

void tp_journal_open(struct tp_journal *journal,
                     const struct tp_options *options)
{
    *journal = (struct tp_journal){.options = options, .fd = -1};
    pthread_mutex_init(&journal->lock, NULL);
}

/* A process that cannot write it reads all the same. */
static void begin(struct tp_journal *j)
{
    char name[64];
    j->begun = true;
    snprintf(name, sizeof name, "%s%u", stem, j->options->world->rank);
    j->path = tp_file_join(j->options->output_dir, name);
    if (j->path)
        j->fd = open(j->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

void tp_journal_reading(void *journal, const char *path, unsigned worker)
{
    struct tp_journal *j = journal;
    char slot[SLOT] = "";
    pthread_mutex_lock(&j->lock);
    if (!j->begun)
        begin(j);
    pthread_mutex_unlock(&j->lock);
    snprintf(slot, sizeof slot, "%s", path);
    if (j->fd >= 0 &&
        pwrite(j->fd, slot, sizeof slot, (off_t)worker * SLOT) != SLOT)
        slot[0] = '\0'; /* a full disk: then nothing can be named */
}

/* Gives the living time. */
static void name_lost(const struct tp_options *options)
{
    for (int i = 0; i < WAITS; i++) {
        const struct timespec time = {0, WAIT_NS};
        nanosleep(&time, NULL);
    }
    tell_all(options, "");
}

void tp_journal_close(struct tp_journal *journal)
{
    if (!journal->options)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    if (journal->path)
        unlink(journal->path);
    free(journal->path);
    if (tp_interrupted)
        name_lost(journal->options);
    pthread_mutex_destroy(&journal->lock);
    *journal = (struct tp_journal){.options = NULL};
}
