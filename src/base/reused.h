/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_REUSED_H
#define TP_BASE_REUSED_H

#include <stddef.h>
#include <stdint.h>

/* What became of the records of an earlier run. */
struct tp_reused {
    size_t known;   /* files that were not read again                   */
    size_t read;    /* files that are new or changed                    */
    uint64_t bytes; /* of these                                         */
    size_t gone;    /* files that are no longer there                   */
    const char *first_gone;
    size_t hidden; /* which a run did not meet that may be there        */
    const char *first_hidden;
};

/* Counts one that the run did not meet: it is gone only where the system says
 * so, and not in a folder that cannot be read. */
void tp_reused_miss(struct tp_reused *reused, const char *path);

#endif
