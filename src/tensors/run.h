/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RUN_H
#define TP_TENSORS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/notes.h"
#include "data/dtype.h"
#include "data/label.h"
#include "data/number.h"
#include "data/skipped.h"
#include "stats/blocks.h"
#include "stats/summary.h"
#include "tensors/cast_plan.h"

/*
 * A run: every tensor of the directories given, as one row of numbers with a
 * packed summary. This is what all later stages are made from; the tensors'
 * values are gone.
 */

struct tp_dims;
struct tp_memo;
struct tp_quantised;

/* One tensor. Texts are owned by the run's arena and never NULL. */
struct tp_row {
    const char *file; /* path as reached from the command line   */
    const char *path; /* inside the file                         */
    size_t source;    /* the file, among run->files              */
    size_t place;     /* among the tensors of the file           */
    struct tp_label label;
    int64_t ordinal;           /* among rows with all other labels equal  */
    enum tp_dtype dtype;       /* as stored                               */
    const struct tp_number *target; /* what overflow is judged against;
                                  NULL: nothing (integers, complex)       */
    enum tp_scale_rule scale_rule;  /* of an MX target                    */
    const char *shape;         /* "[16,1,64]"                             */
    int64_t first_dims[2];     /* shape[0], shape[1]; -1 when absent      */
    int64_t batch_size;        /* metadata, or from the shape; -1 unknown */
    double target_max;         /* largest finite of target; NaN if
                                  unknown or a block format's scale makes
                                  the question moot                       */
    struct tp_counts counts;
    struct tp_numbers numbers; /* exact, the quantiles too                */
    const struct tp_packed *packed;
    const uint8_t *quant; /* tp_quant_next; NULL: no cast was simulated   */
    const struct tp_dims *dims; /* NULL: not asked for                    */
    const struct tp_quantised *quantised; /* codes and scales of its values;
                             NULL: they are stored as they are              */
    bool aside;           /* among run->aside_count                        */
    bool layer_beside;    /* the layer is what construct.json says         */
};

struct tp_run {
    struct tp_arena arena;      /* owns every text and packed summary      */
    struct tp_found_list files; /* owns the paths                         */
    struct tp_digest *digests;  /* of what each file gave; NULL: not asked  */
    struct tp_memo *memo; /* of readings of later stages, borrowed; NULL: none
                             is kept                                       */
    struct tp_row *rows;        /* sorted: file path bytes, payload order  */
    size_t row_count;
    size_t aside_count; /* rows behind these, in the same order: codes and
                           scales, whose values are among the first, and
                           counters. Only tables of tensors have them      */
    struct tp_skipped *skipped;
    size_t skipped_count;
    struct tp_quant_plan plan;  /* the casts that row->quant counts        */
    struct tp_quantised *quantised; /* of the rows that have one, in order */
    size_t quantised_count;
    size_t *dims_first; /* [rows + 1]: rows of /dims before each row; NULL:
                           there are none                                  */
    struct tp_notes notes;      /* warnings, one sentence each             */
    bool parts;             /* rows of parts of tensors are among them */
    uint64_t files_read;    /* opened as a file with tensors           */
    uint64_t files_empty;   /* of them those that hold nothing but tensors,
                               of which there are none                    */
    uint64_t files_ignored; /* found, but not a file of ours           */
    uint64_t bytes_read;    /* sizes of the files read                 */
};

/* The words of a row, for tables and texts: its dtype; the id of its target,
 * or the dtype where there is none; the scale rule of an MX target, else "". */
const char *tp_row_dtype_word(const struct tp_row *row);
const char *tp_row_target_word(const struct tp_row *row);
const char *tp_row_scale_word(const struct tp_row *row);

/*
 * Whether the infinities of a row are those of a mask: all negative, in a
 * tensor that may hold one, with no NaN and nothing beyond its format's range.
 */
bool tp_row_is_mask(const struct tp_row *row);

/*
 * Adds a note, worded as printf does. A failing allocation drops the note:
 * the run itself is not the worse for it.
 */
void tp_run_note(struct tp_run *run, const char *format, ...) TP_PRINTF(2, 3);

/*
 * Numbers the rows that share all other labels, per rank and iteration, in
 * the order of counter, time stamp, file and place in the file.
 */
enum tp_status tp_run_number(struct tp_run *run, struct tp_error *err);

/* Adds a skipped row, damage, about a row that a later stage could not read
 * again. The reason is copied. TP_E_MEMORY only. */
enum tp_status tp_run_skip(struct tp_run *run, const struct tp_row *row,
                           const char *reason, struct tp_error *err);

/* Adds skipped rows, as above, for the problems of the run's files. */
enum tp_status tp_run_skip_again(struct tp_run *run, struct tp_error *err);

/* Releases everything a run owns; it is empty afterwards. */
void tp_run_clear(struct tp_run *run);

#endif
