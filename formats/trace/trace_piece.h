/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PIECE_H
#define TP_TRACE_TRACE_PIECE_H

#include "base/text.h"
#include "formats/trace/trace_cut.h"
#include "formats/trace/trace_parse.h"

/*
 * Reads one piece of the array of events: at full speed as long as it is
 * JSON, from the first damage on event by event, with repairs.
 */

/* What a thread needs to read pieces. */
struct tp_trace_reader {
    struct tp_trace_parser *parser;
    struct tp_text repaired; /* one event, put right */
    struct tp_trace_key key; /* of the first event   */
};

/*
 * Adds the events of `piece` to `events`. With `last` the file ends with the
 * piece: an event that is cut off is then left out without complaint. *at is
 * where the array ended (TP_TRACE_ENDED; after the ']'); otherwise
 * TP_TRACE_WHOLE or TP_TRACE_MEMORY.
 */
enum tp_trace_end tp_trace_read_piece(struct tp_trace_reader *reader,
                                      const struct tp_trace_piece *piece,
                                      bool last, struct tp_events *events,
                                      size_t *at);

#endif
