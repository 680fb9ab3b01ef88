/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_INTEGRITY_H
#define TP_DUMP_DUMP_INTEGRITY_H

#include <signal.h>

#include "base/pool.h"
#include "dump/dump.h"
#include "dump/dump_measure.h"

/*
 * What the checks of a dump (dump/dump_check.h) want, and what they found
 * besides findings.
 */

/* What of the tensors is read. Files are looked for in any case. */
enum tp_dump_verify {
    TP_VERIFY_ALL,
    TP_VERIFY_STATS, /* statistics, and no CRC-32 that the json tells      */
    TP_VERIFY_CRC,   /* CRC-32 and no statistics                           */
    TP_VERIFY_NONE   /* nothing is opened                                  */
};

/* The words of these, then NULL. */
extern const char *const tp_dump_verify_words[];

struct tp_dump_check_options {
    enum tp_dump_verify verify;
    const struct tp_dump *crc_from; /* whose CRCs this dump's tensors should
                                       have, too; NULL: none               */
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
};

/* What became of an item's file. */
enum tp_dump_reading {
    TP_READING_NONE, /* the item has no file, or none was to be opened     */
    TP_READING_DONE,
    TP_READING_OTHER,  /* no tensor: an array of texts                     */
    TP_READING_DAMAGED /* `problem` says how                               */
};

/* An item as its file has it. */
struct tp_dump_checked {
    enum tp_dump_reading reading;
    const char *problem;   /* "": none                                     */
    enum tp_dtype element; /* of the file                                  */
    const char *shape;     /* of the file, where the json has another; ""  */
    const char *saved_as;  /* the file's name when it was written, where it
                              has another now; ""                          */
    struct tp_dump_measure measure;
};

/* What checks of CRC-32 came to. */
struct tp_dump_crc_counts {
    uint64_t equal;
    uint64_t later;  /* equal to what the tensor was changed to later      */
    uint64_t differ; /* without such a reason                              */
    uint64_t absent; /* of another dump: it has no such item, or no CRC-32 */
};

struct tp_dump_integrity {
    /* [place_count]: items of the place, or NULL where none was read */
    struct tp_dump_checked **items;
    size_t place_count;
    uint64_t files, bytes; /* of tensors that were read                     */
    uint64_t unread;       /* files that are there and hold no tensor       */
    uint64_t statistics;   /* numbers of the json that were recomputed      */
    struct tp_dump_crc_counts own, other; /* against its json; crc_from     */
    struct tp_arena arena; /* owns the texts                               */
};

/* Releases everything; empty afterwards. */
void tp_dump_integrity_clear(struct tp_dump_integrity *integrity);

#endif
