/* SPDX-License-Identifier: MIT */
#ifndef TP_JSON_JSON_VALUE_H
#define TP_JSON_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/*
 * A JSON text as a tree of plain values. Python's literals NaN, Infinity and
 * -Infinity are numbers, too.
 */

enum tp_json_kind {
    TP_JSON_NULL,
    TP_JSON_BOOL,
    TP_JSON_INTEGER, /* fits an int64_t                                    */
    TP_JSON_REAL,    /* any other number                                   */
    TP_JSON_STRING,
    TP_JSON_LIST,
    TP_JSON_OBJECT
};

/* A value. Owned by the arena it was parsed into. */
struct tp_json {
    enum tp_json_kind kind;
    const char *key;       /* of a member; NULL: an item, or the root       */
    const char *text;      /* of a string, which ends in NUL; may hold NUL  */
    size_t length;         /* of the text                                   */
    int64_t integer;       /* also of a bool: 0 or 1                        */
    double real;           /* of integers, too                              */
    struct tp_json *first; /* item or member; NULL: none                    */
    struct tp_json *next;  /* behind this one in its list or object         */
    size_t count;          /* items or members                              */
};

/* Memory that parsing texts one after the other shares. */
struct tp_json_parser;

/* Released with tp_json_parser_free; NULL when out of memory. */
struct tp_json_parser *tp_json_parser_new(void);

/* Accepts NULL. */
void tp_json_parser_free(struct tp_json_parser *parser);

/*
 * Parses `length` bytes into `arena`. TP_E_DAMAGED when they are not JSON, or
 * nested deeper than TP_LIMIT_JSON_DEPTH; TP_E_MEMORY. One thread a parser.
 */
enum tp_status tp_json_parse(struct tp_json_parser *parser, const char *text,
                             size_t length, struct tp_arena *arena,
                             const struct tp_json **value,
                             struct tp_error *err);

/* The last member of that name of an object; NULL: none, or no object. */
const struct tp_json *tp_json_member(const struct tp_json *object,
                                     const char *key);

/*
 * The same for several names in one walk: found[i] is the last member named
 * keys[i]. Cheapest where keys are in the order in which members mostly are;
 * other members cost a comparison with each.
 */
void tp_json_members(const struct tp_json *object, const char *const *keys,
                     size_t count, const struct tp_json **found);

/* Its text; `absent` when there is no such string. */
const char *tp_json_text(const struct tp_json *object, const char *key,
                         const char *absent);

/* A copy of a value, all of it the arena's. As deep as the parser lets a text
 * be. TP_E_MEMORY. */
enum tp_status tp_json_copy(const struct tp_json *value, struct tp_arena *arena,
                            const struct tp_json **copy, struct tp_error *err);

/* Whether a value is a number, and which. */
bool tp_json_is_number(const struct tp_json *value);

#endif
