/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_RECORD_H
#define TP_TRACE_TRACE_RECORD_H

#include "base/digest.h"
#include "base/intern.h"
#include "base/reused.h"
#include "trace/trace.h"
#include "trace/trace_beside.h"

/*
 * What reading files gave, one record a file, before ranks are compared: all
 * that a run has to know of its files. Records of an earlier run stand for
 * files that are the same, and those of several machines, or processes, are
 * joined as those of one.
 */
struct tp_trace_record {
    const char *path;        /* of the file, as it was found               */
    uint64_t size;
    int64_t modified;        /* as of struct tp_found                      */
    struct tp_digest digest; /* of what it gave, if that was asked         */
    struct tp_trace trace;   /* its texts are the arena's                  */
    enum tp_status status;   /* not TP_OK: it gave no trace, for ...       */
    const char *reason;      /* ... this reason, else ""                   */
    int64_t offset;
    bool named;     /* by the user, or as traces only are                  */
    bool empty;     /* a trace without events                              */
    bool done;      /* read to its end: what stands here is all            */
    bool elsewhere; /* another process of the run has it                   */
};

/* Records by path. All-zero bytes, with an arena, are none. */
struct tp_trace_records {
    struct tp_arena *arena; /* borrowed: of all texts                      */
    struct tp_intern texts; /* in it: equal words are one pointer          */
    struct tp_trace_record *items;
    size_t count;
    const char **problems; /* of finding files: sentences                  */
    size_t problem_count;
    struct tp_trace_said_list said; /* beside the traces                   */
};

/* Makes a record for each file that is read, of a list that lends its paths
 * and problems. Those are traces by their names, and what `is_root` tells. The
 * records were empty but for texts and arena. TP_E_MEMORY. */
enum tp_status tp_trace_records_make(
    struct tp_trace_records *records, const struct tp_found_list *files,
    bool (*is_root)(const void *context, const char *path),
    const void *context, struct tp_error *err);

/* Releases what is not the arena's; empty afterwards. */
void tp_trace_records_clear(struct tp_trace_records *records);

/* Sets the digest, from the content of the record. TP_E_MEMORY. */
enum tp_status tp_trace_record_seal(struct tp_trace_record *record,
                                    struct tp_error *err);

/* Orders records by path, size and digest. */
int tp_trace_record_compare(const void *left, const void *right);

/* Moves the records of `known` for files that are as they were to `records`,
 * which has one for each file of the run, empty; both are sorted by path. */
void tp_trace_records_reuse(struct tp_trace_records *known,
                            struct tp_trace_records *records,
                            struct tp_reused *reused);

#endif
