/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_OPTION_VALUE_H
#define TP_CLI_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* A row of the table of options, and values by its kind and bounds. */

enum tp_option_kind {
    TP_OPTION_FLAG,   /* bool: true when given                            */
    TP_OPTION_TEXT,   /* const char *                                     */
    TP_OPTION_CHOICE, /* an enum: the member of one of `choices`          */
    TP_OPTION_COUNT,  /* uint64_t                                         */
    TP_OPTION_REAL,   /* double                                           */
    TP_OPTION_BYTES   /* uint64_t; K, M or G may follow                   */
};

/* A word and what it means. */
struct tp_option_choice {
    const char *word;
    int member; /* of the enum that the option is                         */
};

struct tp_option {
    const char *name;     /* "output_dir"                                */
    const char *argument; /* "DIR"; NULL for flags and choices           */
    const struct tp_option_choice *choices; /* ended by NULL; or:        */
    const char *const *words; /* those of an enum by member, then NULL   */
    const char *initial;      /* default, as one would give it; NULL: none   */
    const char *shown;        /* the default in the help; NULL: `initial`    */
    const char *help;         /* one line                                    */
    enum tp_option_kind kind;
    unsigned commands;  /* TP_FOR_...                                  */
    bool shapes;        /* rows depend on it                           */
    size_t offset;      /* of its value in struct tp_options           */
    double least, most; /* COUNT, REAL, BYTES: what is allowed         */
};

/* Choice i of a row that has choices; after the last one its word is NULL. */
struct tp_option_choice tp_option_choice_at(const struct tp_option *row,
                                            size_t i);

/* Adds the words of a choice, joined by '|'. */
void tp_option_add_words(const struct tp_option *row, struct tp_text *text);

/* Stores a value where the row has it, a text as a pointer to it. TP_E_USAGE
 * with a message that names the option: it is not allowed. */
enum tp_status tp_option_set(void *slot, const struct tp_option *row,
                             const char *value, struct tp_error *err);

/* Adds a value as one would give it, of a flag "yes" or "no"; of numbers only
 * counts are among those that shape rows. */
void tp_option_add_value(const void *slot, const struct tp_option *row,
                         struct tp_text *text);

#endif
