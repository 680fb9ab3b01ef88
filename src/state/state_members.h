/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_MEMBERS_H
#define TP_STATE_STATE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a state is made of. */
enum tp_state_part {
    TP_STATE_WORDS, /* texts, each ended by NUL: words of labels        */
    TP_STATE_NAMES, /* and those that few rows share                    */
    TP_STATE_FILES,
    TP_STATE_TIES, /* numbers of names                                 */
    TP_STATE_ROWS,
    TP_STATE_SKIPPED,
    TP_STATE_NUMBERS,  /* packed numbers of rows                           */
    TP_STATE_AXES,     /* their statistics by index                       */
    TP_STATE_PROBLEMS, /* numbers of names                                 */
    TP_STATE_MEMO,
    TP_STATE_RESULTS, /* of the memo                                      */
    TP_STATE_OPTIONS, /* texts of tp_state_header                         */
    TP_STATE_ROOTS,
    TP_STATE_PARTS
};

/*
 * What the words of rows, files, skipped and memo are: a member of the struct
 * each, one table for reading, writing and the file's own description. Whoever
 * changes one of these structs changes its table, and TP_STATE_SCHEMA.
 */

enum tp_state_kind {
    TP_STATE_WORD,   /* const char *: its number among the words           */
    TP_STATE_NAME,   /* const char *: among the names                      */
    TP_STATE_SAID,   /* the same, or NULL: SIZE_MAX                        */
    TP_STATE_INT64,  /* int64_t                                            */
    TP_STATE_SIZE,   /* size_t or uint64_t                                 */
    TP_STATE_REAL,   /* double                                             */
    TP_STATE_ENUM,   /* int, from 0 to `most`                              */
    TP_STATE_FLAG,   /* bool                                               */
    TP_STATE_TARGET, /* const struct tp_number *: a word, its id or ""     */
    TP_STATE_PACKED, /* place of a struct tp_packed among the numbers      */
    TP_STATE_CASTS,  /* of bytes as of tp_quant_pack, or SIZE_MAX          */
    TP_STATE_DIMS,   /* of a struct tp_dims, or SIZE_MAX                   */
    TP_STATE_CODES   /* of a struct tp_quantised, or SIZE_MAX              */
};

struct tp_state_member {
    const char *name;
    enum tp_state_kind kind;
    unsigned most; /* of an enum                                           */
    size_t offset;
};

/* The members of one struct. */
struct tp_state_members {
    const struct tp_state_member *members;
    size_t count, size; /* size: of the struct                             */
};

extern const struct tp_state_members tp_state_row, tp_state_file,
    tp_state_skipped, tp_state_memo;

/* The members of a part of words (enum tp_state_part), NULL of other parts. */
const struct tp_state_members *tp_state_members_of(int part);

/* What the layout of structs is that are kept as they are, of tensors or of
 * traces. */
enum { TP_STATE_LAYOUT_BYTES = 64 };
void tp_state_layout(bool traces, char text[TP_STATE_LAYOUT_BYTES]);

#endif
