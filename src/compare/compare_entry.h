/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_ENTRY_H
#define TP_COMPARE_COMPARE_ENTRY_H

#include "dump/dump.h"

/*
 * What a place of a dump has to compare, as msprobe's tables list it: a row for
 * each argument, keyword, parameter and result, call by call, with the texts
 * that Python prints for them.
 */

/* What a statistic or value is when two are subtracted. */
enum tp_compare_kind {
    TP_COMPARE_NUMBER, /* finite                                           */
    TP_COMPARE_NAN,
    TP_COMPARE_INF,
    TP_COMPARE_NEGATIVE_INF,
    TP_COMPARE_DEVICE, /* a text that names a device: "cuda:0"             */
    TP_COMPARE_OTHER,  /* True, None, a text                               */
    TP_COMPARE_ABSENT  /* N/A: there is no such row                        */
};

struct tp_compare_value {
    enum tp_compare_kind kind;
    double number;    /* NaN where it is none                              */
    const char *text; /* "0.5", "Nan", "inf", "None"                       */
};

/* One row of one side. Texts are the arena's, or constant, and never NULL. */
struct tp_compare_entry {
    const struct tp_dump_item *item;
    size_t call;           /* of the place                               */
    const char *name;      /* "Functional.linear.0.forward.input.0"      */
    const char *key;       /* the name, calls of the backward pass counted
                              in their own order                         */
    const char *dtype;     /* "torch.float32", "<class 'int'>", "None"   */
    const char *shape;     /* "[2, 8]", "[]", "None"                     */
    const char *grad;      /* "True", "False", "N/A": not said           */
    const char *md5;       /* as tp_dump_item; of a value that of its text */
    const char *data_name; /* of the file; "-1": it has none             */
    struct tp_compare_value stats[TP_DUMP_STATS];
};

struct tp_compare_entries {
    const struct tp_dump_place *place;
    struct tp_compare_entry *rows;
    size_t count, capacity;
    struct tp_arena arena; /* owns the texts                               */
};

/*
 * Lists what a place (borrowed) has; `stats` also words the statistics, which
 * takes most of the time. `entries` is zeroed by the caller and released with
 * tp_compare_entries_clear, also after a failure: TP_E_MEMORY.
 */
enum tp_status tp_compare_entries_make(const struct tp_dump_place *place,
                                       bool stats,
                                       struct tp_compare_entries *entries,
                                       struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_compare_entries_clear(struct tp_compare_entries *entries);

/* Whether a row is a result: its name has ".output.". */
bool tp_compare_is_output(const struct tp_compare_entry *entry);

#endif
