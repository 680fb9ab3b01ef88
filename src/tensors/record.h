/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RECORD_H
#define TP_TENSORS_RECORD_H

#include "base/intern.h"
#include "base/reused.h"
#include "base/world.h"
#include "scan/dim_rank.h"
#include "tensors/rank_file.h"
#include "tensors/run.h"

/*
 * What reading files gave, one record a file, before the rows are joined: all
 * that a run has to know of its files. Records of an earlier run stand for
 * files that are the same, and those of several machines are joined as those
 * of one.
 */

/* Texts, rows' packed numbers and all else that is pointed to are the arena's
 * of the run, but for the arrays of rows and skipped. */
struct tp_record {
    const char *path; /* of the file, as it was found                      */
    uint64_t size;
    int64_t modified; /* as of struct tp_found                             */
    struct tp_digest digest; /* of the numbers it gave, if that was asked  */
    struct tp_row *rows;
    size_t row_count;
    struct tp_skipped *skipped;
    size_t skipped_count, skipped_capacity;
    const char *conflict;   /* between metadata and name, or NULL          */
    const char *assumption; /* of the reader, or NULL                      */
    const char *beside;     /* what is wrong with dump.json, or NULL       */
    const char **ties;      /* paths of other files it describes tensors of */
    size_t tie_count;
    size_t tensors;   /* of the file: more than rows where some failed */
    size_t dims_keep; /* most indices kept of an axis                */
    const struct tp_rank_file *told; /* by a unit; NULL: nothing           */
    bool done;     /* read to its end: what stands here is all              */
    bool ignored;  /* not a file of ours                                    */
    bool empty;    /* by its nature: it may hold nothing but tensors          */
    bool taken;    /* its tensors are among those of another file             */
    bool indexed;  /* dump.json stands beside its folder                    */
    bool lone;     /* as of tp_lone_shards_has                              */
    bool elsewhere; /* another process of the run has it: nothing is here   */
    bool borrowed; /* rows and skipped are parts of all_rows, all_skipped  */
    /* of a part of a file that a process of a team read (tensors/claims.h): */
    size_t part, parts; /* which of how many; parts 0: it is a whole file  */
    bool changed;       /* the file did meanwhile                          */
    bool refused; /* the system did not give all of it: it may next time   */
};

/* Records by path. All-zero bytes, with an arena, are none. */
struct tp_records {
    struct tp_arena *arena; /* of the run, borrowed                        */
    struct tp_intern texts; /* in it: equal words are one pointer          */
    struct tp_record *items;
    size_t count, capacity;
    struct tp_record *parts; /* of files that several processes read       */
    size_t part_count, part_capacity;
    struct tp_row *all_rows; /* of records that were loaded together       */
    size_t all_row_count;    /* room of them                               */
    struct tp_skipped *all_skipped;
    const char **problems; /* of finding files: sentences                  */
    size_t problem_count, problem_capacity;
};

/* Makes a record for each file of a sorted list, which lends its paths and its
 * problems. The records were empty but for texts and arena. TP_E_MEMORY. */
enum tp_status tp_records_make(struct tp_records *records,
                               const struct tp_found_list *files,
                               struct tp_error *err);

/* Releases what is not the arena's; empty afterwards. */
void tp_records_clear(struct tp_records *records);

/* A text as tables show it: names are any bytes, a table is UTF-8. NULL: no
 * memory. */
const char *tp_records_text(struct tp_records *records, const char *text);

/* Room of its own for rows, and for one more thing skipped. TP_E_MEMORY. */
enum tp_status tp_record_reserve(struct tp_record *record, size_t rows,
                                 struct tp_error *err);
enum tp_status tp_record_skip(struct tp_records *records,
                              struct tp_record *record, const char *file,
                              const struct tp_skip *skip, struct tp_error *err);

/* Sets the digest, from the content of the record: the same for copies of a
 * file, whenever they were written. */
void tp_record_seal(struct tp_record *record);

/* Indices to keep of an axis of a file with so many tensors, in a run of so
 * many files. */
size_t tp_record_dims_keep(enum tp_dims_mode mode, size_t files,
                           size_t tensors);

/*
 * Fits the record to a run that keeps `keep` indices of an axis. False: it has
 * less, and the file has to be read again.
 */
bool tp_record_fit_dims(struct tp_record *record, size_t keep);

/*
 * Moves the records of `known` for files that are as they were to `records`,
 * which has one for each file of the run, empty; both are sorted by path. A
 * file goes with those that it describes, or is described by, all or none.
 */
void tp_records_reuse(struct tp_records *known, enum tp_dims_mode dims,
                      struct tp_records *records, struct tp_reused *reused);

/* What rank 0 knows already is `elsewhere` for the others of a world, and done.
 * TP_E_MEMORY, or as the world's. */
enum tp_status tp_records_share(const struct tp_world *world,
                                struct tp_records *records,
                                struct tp_error *err);

#endif
