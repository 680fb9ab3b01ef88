/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_JOURNAL_H
#define TP_CLI_JOURNAL_H

#include <pthread.h>

#include "cli/options.h"

/*
 * What each process of a world is reading, in a small file of its own in the
 * output directory, so that a file that kills a process can be named: by those
 * that are left, or by the next run. All-zero bytes: none.
 */
struct tp_journal {
    const struct tp_options *options; /* NULL: none                        */
    pthread_mutex_t lock;
    char *path; /* NULL: nothing was read, or it cannot be written         */
    int fd;
    bool begun;
};

/* Says what processes of an earlier run were reading when they were killed, and
 * removes their journals: for rank 0, or a run without others, while no process
 * of its own reads. The output directory is there. */
void tp_journal_recover(const struct tp_options *options);

/* The output directory of rank 0 is there; the others make nothing before they
 * read. */
void tp_journal_open(struct tp_journal *journal,
                     const struct tp_options *options);

/* A worker begins to read a file: a function of struct tp_collect_team. */
void tp_journal_reading(void *journal, const char *path, unsigned worker);

/* Ends the journal of this process, which is alive. After a signal it names
 * what processes that are gone were reading. */
void tp_journal_close(struct tp_journal *journal);

#endif
