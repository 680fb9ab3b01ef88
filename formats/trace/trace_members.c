/* SPDX-License-Identifier: MIT */
/*
 * What a trace says beside its events: the members of the object around the
 * array, before and behind it, parsed as an object of their own.
 *
 * If the parser refuses them they are repaired first; of a file that is cut,
 * the last member is dropped when it cannot be whole. Reading them with the
 * events would tie the pieces, which threads read, together. O(length) of the
 * members.
 */
#include "formats/trace/trace_members.h"

#include "formats/trace/trace_cut.h"
#include "formats/trace/trace_parse.h"
#include "formats/trace/trace_repair.h"

/* Where the last member begins that the cut may have hit: at its comma, or
 * behind the brace when it is the only one. */
static size_t last_member(const struct tp_text *text)
{
    size_t start = tp_trace_skip(text->data, 0, text->length) + 1;
    size_t last = start, depth = 0, at = start;
    while (at < text->length) {
        char c = text->data[at];
        if (c == '"') {
            at = tp_trace_string_end(text->data, at, text->length);
            if (at == 0)
                break;
            continue;
        }
        if (c == ',' && depth == 0)
            last = at;
        depth += c == '{' || c == '[';
        depth -= depth > 0 && (c == '}' || c == ']');
        at++;
    }
    return last;
}

static void drop_comma(struct tp_text *text)
{
    size_t length = text->length;
    while (length > 0 && tp_json_is_blank(text->data[length - 1]))
        length--;
    if (length > 0 && text->data[length - 1] == ',')
        text->length = length - 1;
}

/* Parses the object that `text` holds; what follows is overwritten. */
static bool parse(struct tp_trace_parser *parser, struct tp_text *text,
                  int64_t offset, struct tp_events *events)
{
    static const char padding[TP_TRACE_PADDING];
    struct tp_trace_piece piece = {.length = text->length, .offset = offset};
    tp_text_bytes(text, padding, sizeof padding);
    piece.text = text->data;
    text->length = piece.length;
    return !text->failed && tp_trace_parse_facts(parser, &piece, events);
}

static enum tp_status read_facts(struct tp_trace_parser *parser,
                                 const struct tp_trace_members *facts,
                                 struct tp_events *events,
                                 struct tp_error *err)
{
    struct tp_text *text = facts->text, repaired = {0};
    struct tp_trace_repairs repairs;
    if (text->failed || !parser)
        return tp_fail_memory(err);
    if (parse(parser, text, facts->offset, events))
        return TP_OK;
    size_t start = tp_trace_skip(text->data, 0, text->length);
    bool good = tp_trace_repair(text->data + start, text->length - start,
                                facts->offset + (int64_t)start, &repaired,
                                &repairs) > 0 &&
                parse(parser, &repaired, facts->offset, events);
    if (good)
        tp_trace_repairs_count(&repairs, events);
    else
        tp_events_repaired(events, TP_REPAIR_DROPPED, facts->offset);
    bool failed = text->failed || repaired.failed;
    tp_text_clear(&repaired);
    return failed ? tp_fail_memory(err) : TP_OK;
}

bool tp_trace_is_object(const char *text, size_t length)
{
    struct tp_text copy = {0};
    struct tp_events events = {0};
    struct tp_trace_parser *parser = tp_trace_parser_new(false);
    tp_text_bytes(&copy, text, length);
    const bool good =
        parser && !copy.failed && parse(parser, &copy, 0, &events);
    tp_trace_parser_free(parser);
    tp_text_clear(&copy);
    tp_events_clear(&events);
    return good;
}

enum tp_status tp_trace_read_members(const struct tp_trace_members *facts,
                                   struct tp_events *events,
                                   struct tp_error *err)
{
    struct tp_text *text = facts->text;
    if (facts->cut)
        text->length = last_member(text);
    else
        drop_comma(text);
    tp_text_bytes(text, "}", 1);
    struct tp_trace_parser *parser = tp_trace_parser_new(false);
    enum tp_status status = read_facts(parser, facts, events, err);
    tp_trace_parser_free(parser);
    return status;
}
