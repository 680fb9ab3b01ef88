/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PARSE_H
#define TP_TRACE_TRACE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/events.h"

/* What reads JSON proper: the only door to simdjson, which is C++. */

/* Bytes after a piece that must be there, whatever they hold. */
enum { TP_TRACE_PADDING = 64 };

/* Memory of one thread that parses. */
struct tp_trace_parser;

/* Released with tp_trace_parser_free; NULL when out of memory. `callers`: as in
 * struct tp_trace_watch. */
struct tp_trace_parser *tp_trace_parser_new(bool callers);

/* Accepts NULL. */
void tp_trace_parser_free(struct tp_trace_parser *parser);

/*
 * A part of the array of events: elements with commas between, and perhaps
 * what follows the array. The bytes text[-1], text[length] and the one behind
 * it are written to and put back; TP_TRACE_PADDING bytes behind text[length]
 * can be read.
 */
struct tp_trace_piece {
    char *text;
    size_t length;
    int64_t offset; /* of text[0] in the JSON */
};

enum tp_trace_end {
    TP_TRACE_WHOLE,  /* all of the piece was read                          */
    TP_TRACE_ENDED,  /* the array ends before *at; what follows was left   */
    TP_TRACE_BROKEN, /* at *at is something that is no event, or not JSON  */
    TP_TRACE_MEMORY  /* out of memory                                      */
};

/* Adds the events of a piece, up to the first that cannot be read. */
enum tp_trace_end tp_trace_parse(struct tp_trace_parser *parser,
                                 const struct tp_trace_piece *piece,
                                 struct tp_events *events, size_t *at);

/*
 * What the file says beside its events: `piece` is one object with the keys
 * of the root, say {"distributedInfo": {"rank": 1}}. False when it is not
 * JSON, or memory ran out; then *events may hold some of it.
 */
bool tp_trace_parse_facts(struct tp_trace_parser *parser,
                          const struct tp_trace_piece *piece,
                          struct tp_events *events);

#endif
