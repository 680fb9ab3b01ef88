/* SPDX-License-Identifier: MIT */
/*
 * The events of one piece of the array: the fast parser as far as it goes,
 * then event by event.
 *
 * From the first damage on each event is bounded by the next place to cut
 * (trace_cut.h) or by its own brackets, repaired and parsed alone; what cannot
 * be repaired is dropped and the walk goes on behind it. Giving up at the
 * first error would lose the rest of the file. Bytes that are walked in vain
 * are limited to PATIENCE times the piece, so time stays linear.
 */
#include "formats/trace/trace_piece.h"

#include <string.h>

#include "formats/trace/trace_repair.h"

/* A walk over the events of a damaged piece. */
struct walk {
    struct tp_trace_reader *reader;
    const struct tp_trace_piece *piece;
    struct tp_events *events;
    bool last;
    size_t at;
    struct tp_trace_cut next; /* first place to cut after `at`; next 0: none */
    bool no_next;             /* there is none up to the end */
    /* Bytes that may still be read in vain, to find the end of an event and
     * to repair one that no place to cut bounds. */
    size_t search_left, repair_left;
};

/* How often the bytes of a piece may be walked over in vain. Beyond it an
 * event that does not end before the next place to cut is taken for broken,
 * so that time stays in proportion to the size of the file. */
enum { PATIENCE = 8 };

static int64_t offset_of(const struct walk *walk)
{
    return walk->piece->offset + (int64_t)walk->at;
}

/* Parses text[at, end) as one element. */
static enum tp_trace_end parse_one(struct walk *walk, size_t end)
{
    struct tp_trace_piece one = {.text = walk->piece->text + walk->at,
                                 .length = end - walk->at,
                                 .offset = offset_of(walk)};
    size_t at;
    return tp_trace_parse(walk->reader->parser, &one, walk->events, &at);
}

static void spend(size_t *left, size_t bytes)
{
    *left -= bytes < *left ? bytes : *left;
}

/* A cut whose '}' is before `at` belongs to what was read already. */
static void find_next(struct walk *walk)
{
    size_t from = walk->at + 1;
    while (!walk->no_next &&
           (walk->next.next <= walk->at || walk->next.end <= walk->at)) {
        walk->next = tp_trace_cut_next(walk->piece->text, from,
                                       walk->piece->length,
                                       &walk->reader->key);
        walk->no_next = walk->next.next == 0;
        from = walk->next.next + 1;
    }
}

/* The end of the element at `at`; 0 when it has none. */
static size_t find_end(struct walk *walk)
{
    const char *text = walk->piece->text;
    size_t limit = walk->piece->length;
    find_next(walk);
    if (walk->next.next) {
        size_t end = tp_trace_value_end(text, walk->at, walk->next.end);
        if (end || walk->search_left == 0)
            return end;
    }
    size_t end = tp_trace_value_end(text, walk->at, limit);
    size_t cost = (end ? end : limit) - walk->at;
    if (walk->next.next) /* perhaps in vain */
        spend(&walk->search_left, cost);
    return end;
}

/* Parses the element as tp_trace_repair writes it; false when it cannot. */
static bool parse_repaired(struct walk *walk, enum tp_trace_end *parsed)
{
    const char *text = walk->piece->text + walk->at;
    struct tp_text *out = &walk->reader->repaired;
    struct tp_trace_repairs repairs;
    bool bounded = walk->next.next != 0;
    size_t limit = (bounded ? walk->next.end : walk->piece->length) - walk->at;
    if (!bounded && walk->repair_left == 0)
        return false;
    size_t end = tp_trace_repair(text, limit, offset_of(walk), out, &repairs);
    if (!bounded)
        spend(&walk->repair_left, end ? end : limit);
    size_t length = out->length, at;
    if (out->failed || tp_grow(&out->data, &out->capacity,
                               length + TP_TRACE_PADDING + 2, 1, NULL)) {
        *parsed = TP_TRACE_MEMORY;
        return true;
    }
    if (end == 0)
        return false;
    memmove(out->data + 1, out->data, length);
    struct tp_trace_piece one = {.text = out->data + 1,
                                 .length = length,
                                 .offset = offset_of(walk)};
    *parsed = tp_trace_parse(walk->reader->parser, &one, walk->events, &at);
    if (*parsed != TP_TRACE_WHOLE)
        return *parsed == TP_TRACE_MEMORY;
    tp_trace_repairs_count(&repairs, walk->events);
    walk->at += end;
    return true;
}

/* Reads the element at `at` and moves behind it. */
static enum tp_trace_end read_one(struct walk *walk)
{
    size_t end = find_end(walk);
    if (end) {
        enum tp_trace_end parsed = parse_one(walk, end);
        if (parsed == TP_TRACE_MEMORY)
            return parsed;
        if (parsed == TP_TRACE_WHOLE) {
            walk->at = end;
            return parsed;
        }
    }
    enum tp_trace_end parsed;
    bool object = walk->piece->text[walk->at] == '{';
    if (object && parse_repaired(walk, &parsed))
        return parsed;
    if (!end && !walk->next.next && walk->last) { /* cut off */
        walk->events->array_end = offset_of(walk);
        walk->at = walk->piece->length;
        return TP_TRACE_WHOLE;
    }
    tp_events_repaired(walk->events, TP_REPAIR_DROPPED, offset_of(walk));
    if (walk->next.next && (object || !end))
        walk->at = walk->next.comma;
    else
        walk->at = end ? end : walk->piece->length;
    return TP_TRACE_WHOLE;
}

static enum tp_trace_end walk_events(struct walk *walk)
{
    const char *text = walk->piece->text;
    size_t length = walk->piece->length;
    enum tp_trace_end end = TP_TRACE_WHOLE;
    while (end == TP_TRACE_WHOLE) {
        int64_t comma = -1;
        while (walk->at < length &&
               (text[walk->at] == ',' || tp_json_is_blank(text[walk->at]))) {
            if (text[walk->at] == ',' && comma >= 0)
                tp_events_repaired(walk->events, TP_REPAIR_COMMA, comma);
            if (text[walk->at] == ',')
                comma = offset_of(walk);
            walk->at++;
        }
        if (walk->at == length)
            break;
        if (text[walk->at] == ']') {
            if (comma >= 0)
                tp_events_repaired(walk->events, TP_REPAIR_COMMA, comma);
            walk->at++;
            return TP_TRACE_ENDED;
        }
        end = read_one(walk);
    }
    return end;
}

enum tp_trace_end tp_trace_read_piece(struct tp_trace_reader *reader,
                                      const struct tp_trace_piece *piece,
                                      bool last, struct tp_events *events,
                                      size_t *at)
{
    enum tp_trace_end end = tp_trace_parse(reader->parser, piece, events, at);
    if (end != TP_TRACE_BROKEN)
        return end;
    /* With the comma before it: commas are judged, too. */
    while (*at > 0 && tp_json_is_blank(piece->text[*at - 1]))
        --*at;
    if (*at > 0 && piece->text[*at - 1] == ',')
        --*at;
    struct walk walk = {.reader = reader,
                        .piece = piece,
                        .events = events,
                        .last = last,
                        .at = *at,
                        .search_left = PATIENCE * piece->length,
                        .repair_left = PATIENCE * piece->length};
    end = walk_events(&walk);
    *at = walk.at;
    return end;
}
