// SPDX-License-Identifier: MIT
/*
 * Events from a piece of the array of a trace. The piece gets brackets, so that
 * it is JSON of its own, and simdjson walks through its elements. Members that
 * are known are read where they stand, all others skipped; keys of an event
 * are found by their first letter. A bit for each of them shows which ones came
 * twice. Of what is no event or no JSON, the place is returned, and all events
 * before it were kept.
 *
 * The whole file as one document would need no brackets and no places, but
 * could be read by one thread only, and what is broken would end it. Time is
 * linear in the bytes of the piece, up to the first event that is broken.
 */
#include <new>

#include "formats/trace/trace_json.inc"

extern "C" {
#include "formats/trace/trace_parse.h"
}

using namespace trace_json;

namespace {

struct reading {
    tp_trace_parser *parser;
    tp_events *events;
    const char *base; // where the JSON's byte `offset` is
    int64_t offset;

    int64_t where(const char *at) const { return offset + (at - base); }
};

// --- arguments -------------------------------------------------------------

bool get_comm(ondemand::value &value, tp_trace_arguments &args, text &out)
{
    args.comm = true;
    return get_text(value, out);
}

bool get_comm(ondemand::value &value, tp_trace_arguments &args, int64_t &out)
{
    args.comm = true;
    return get_integer(value, out);
}

// A list as it stands, without what is in it being looked at; of what is none,
// nothing.
bool get_list(ondemand::value &value, text &out)
{
    out = {};
    if (*value.raw_json_token().data() != '[')
        return is_value(token_of(value));
    ondemand::array list;
    std::string_view raw;
    if (value.get_array().get(list) || list.raw_json().get(raw))
        return false;
    size_t size = raw.size();
    while (size > 0 && tp_json_is_blank(raw[size - 1]))
        size--;
    out = {raw.data(), size};
    return true;
}

// Whether it is a key of what an operator was given.
bool read_input_list(const char *key, ondemand::value &value,
                     tp_trace_arguments &args, bool &good)
{
    if (is(key, "Input Dims") || is(key, "Input dims")) // of torch to 1.12
        good = get_list(value, args.inputs[TP_INPUT_DIMS]);
    else if (is(key, "Input type"))
        good = get_list(value, args.inputs[TP_INPUT_TYPES]);
    else if (is(key, "Input Strides"))
        good = get_list(value, args.inputs[TP_INPUT_STRIDES]);
    else
        return false;
    return true;
}

// What memory events say.
bool read_memory_argument(const char *key, ondemand::value &value,
                          tp_trace_arguments &args, bool &known)
{
    int64_t address;
    if (is(key, "Bytes"))
        return get_integer(value, args.memory.bytes);
    if (is(key, "Addr")) {
        if (!get_integer(value, address))
            return false;
        args.memory.address = address > 0 ? uint64_t(address) : 0;
        return true;
    }
    if (is(key, "Total Allocated"))
        return get_integer(value, args.memory.total_allocated);
    if (is(key, "Total Reserved"))
        return get_integer(value, args.memory.total_reserved);
    if (is(key, "Device Type"))
        return get_small(value, args.memory.device_type);
    if (is(key, "Device Id"))
        return get_small(value, args.memory.device_id);
    known = false;
    return true;
}

// What collectives say.
bool read_comm_argument(const char *key, ondemand::value &value,
                        tp_trace_arguments &args, bool &known)
{
    if (is(key, "Collective name"))
        return get_comm(value, args, args.collective);
    if (is(key, "In msg nelems"))
        return get_comm(value, args, args.in_elements);
    if (is(key, "Out msg nelems"))
        return get_comm(value, args, args.out_elements);
    if (is(key, "Group size"))
        return get_comm(value, args, args.group_size);
    if (is(key, "Process Group Name"))
        return get_comm(value, args, args.group_name);
    if (is(key, "Process Group Ranks"))
        return get_comm(value, args, args.group_ranks);
    if (is(key, "Seq"))
        return get_comm(value, args, args.sequence);
    if (is(key, "Comms Id"))
        return get_comm(value, args, args.comms_id);
    known = false;
    return true;
}

// Whether it is a key of what called an operator.
bool read_caller(const char *key, ondemand::value &value,
                 tp_trace_arguments &args, bool &good)
{
    if (is(key, "Sequence number"))
        good = get_integer(value, args.autograd);
    else if (is(key, "Fwd thread id"))
        good = get_integer(value, args.forward);
    else if (is(key, "Call stack"))
        good = get_text(value, args.stack);
    else
        return false;
    return true;
}

// Keys of arguments that begin with a capital letter: host and memory. Half of
// them are known by that letter to be of no use.
bool read_host_argument(const char *key, ondemand::value &value,
                        tp_trace_arguments &args, bool &known)
{
    bool good;
    switch (key[0]) {
    case 'A':
    case 'B':
    case 'D':
    case 'T':
        return read_memory_argument(key, value, args, known);
    case 'C':
    case 'F':
    case 'G':
    case 'I':
    case 'O':
    case 'P':
    case 'S':
        break;
    default:
        known = false;
        return true;
    }
    if (key[0] == 'I' && read_input_list(key, value, args, good))
        return good;
    if (is(key, "Concrete Inputs"))
        return get_list(value, args.inputs[TP_INPUT_VALUES]);
    if (args.callers && read_caller(key, value, args, good))
        return good;
    if (is(key, "CallFrom")) {
        args.caller = true;
        return skip(value);
    }
    return read_comm_argument(key, value, args, known);
}

bool read_device_argument(const char *key, ondemand::value &value,
                          tp_trace_arguments &args, bool &known)
{
    switch (key[0]) {
    case 'b':
        if (is(key, "bytes"))
            return get_integer(value, args.gpu.bytes);
        if (is(key, "block"))
            return get_three(value, args.gpu.block);
        if (is(key, "blocks per SM"))
            return get_real(value, args.gpu.blocks_per_sm);
        break;
    case 'c':
        if (is(key, "correlation"))
            return get_integer(value, args.correlation);
        if (is(key, "cuda_sync_kind"))
            return get_text(value, args.sync_kind);
        break;
    case 'd':
        if (is(key, "device"))
            return get_small(value, args.gpu.device);
        if (is(key, "dtype"))
            return get_comm(value, args, args.dtype);
        break;
    case 'e':
        if (is(key, "est. achieved occupancy %"))
            return get_real(value, args.gpu.occupancy);
        break;
    case 'g':
        if (is(key, "grid"))
            return get_three(value, args.gpu.grid);
        break;
    case 'l':
        if (is(key, "labels"))
            return get_text(value, args.labels);
        break;
    case 'm':
        if (is(key, "memory bandwidth (GB/s)"))
            return get_real(value, args.gpu.bandwidth);
        break;
    case 'n':
        if (is(key, "name"))
            return get_text(value, args.name);
        break;
    case 's':
        if (is(key, "stream"))
            return get_small(value, args.gpu.stream);
        break;
    case 'w':
        if (is(key, "warps per SM"))
            return get_real(value, args.gpu.warps_per_sm);
        break;
    default:
        break;
    }
    known = false;
    return true;
}

bool read_argument(const char *key, ondemand::value &value,
                   tp_trace_arguments &args)
{
    bool known = true;
    bool good = key[0] <= 'Z' ? read_host_argument(key, value, args, known)
                              : read_device_argument(key, value, args, known);
    args.used |= known;
    return known ? good : skip(value);
}

bool read_arguments(ondemand::value &value, tp_trace_arguments &args)
{
    return each_member_of(value, [&](const char *key, ondemand::value &member) {
        return read_argument(key, member, args);
    });
}

// --- events ----------------------------------------------------------------

enum known_key {
    PH = 1,
    CAT = 2,
    NAME = 4,
    PID = 8,
    TID = 16,
    TS = 32,
    DUR = 64,
    ARGS = 128
};

uint32_t key_bit(const char *key)
{
    switch (key[0]) {
    case 'a':
        return is(key, "args") ? ARGS : 0;
    case 'c':
        return is(key, "cat") ? CAT : 0;
    case 'd':
        return is(key, "dur") ? DUR : 0;
    case 'n':
        return is(key, "name") ? NAME : 0;
    case 'p':
        return is(key, "ph") ? PH : is(key, "pid") ? PID : 0;
    case 't':
        return is(key, "ts") ? TS : is(key, "tid") ? TID : 0;
    default:
        return 0;
    }
}

bool read_field(uint32_t bit, ondemand::value &value, tp_trace_event &event)
{
    text phase;
    switch (bit) {
    case PH:
        if (value.raw_json_token().data()[2] == '"') { // of one character
            event.phase = value.raw_json_token().data()[1];
            return value.raw_json_token().data()[0] == '"';
        }
        if (!get_text(value, phase))
            return false;
        event.phase = phase.size == 1 ? phase.data[0] : 0;
        return true;
    case CAT:
        return get_text(value, event.category);
    case NAME:
        return get_text(value, event.name);
    case PID:
        return get_text(value, event.pid);
    case TID:
        return get_text(value, event.tid);
    case TS:
        return get_text(value, event.start);
    case DUR:
        return get_text(value, event.duration);
    case ARGS:
        if (event.args.used) // args twice
            tp_trace_arguments_init(&event.args);
        event.args.callers = event.callers;
        return read_arguments(value, event.args);
    default:
        return skip(value);
    }
}

// False when it is not JSON.
bool read_event(reading &reading, ondemand::object &object,
                tp_trace_event &event)
{
    uint32_t keys = 0; // those met
    const char *twice = nullptr;
    if (!each_member(object, [&](const char *key, ondemand::value &value) {
            uint32_t bit = key_bit(key);
            if (bit & keys)
                twice = key;
            keys |= bit;
            return read_field(bit, value, event);
        }))
        return false;
    if (twice)
        tp_events_repaired(reading.events, TP_REPAIR_DUPLICATE,
                           reading.where(twice));
    return true;
}

// --- pieces ----------------------------------------------------------------

enum step { STEP_GOOD, STEP_BAD, STEP_MEMORY };

step read_element(reading &reading, ondemand::value &value, const char *at)
{
    ondemand::object object;
    if (*at != '{' || value.get_object().get(object))
        return STEP_BAD;
    tp_trace_event &event = reading.parser->event;
    tp_trace_event_init(&event);
    if (!read_event(reading, object, event))
        return STEP_BAD;
    return tp_trace_keep(reading.events, &reading.parser->memory, &event,
                         reading.where(at))
               ? STEP_GOOD
               : STEP_MEMORY;
}

// `text` is the piece with brackets around it.
tp_trace_end read_array(reading &reading, char *text, size_t length,
                        const char **at)
{
    ondemand::document document;
    ondemand::array array;
    error_code error =
        reading.parser->json.iterate(text, length, length + TP_TRACE_PADDING)
            .get(document);
    if (error || document.get_array().get(array))
        return error == MEMALLOC ? TP_TRACE_MEMORY : TP_TRACE_BROKEN;
    const char *last = nullptr;
    for (auto element : array) {
        if (element.error()) {
            // Between two elements: the one before was good, find its end.
            size_t from = last ? size_t(last - text) : 0;
            size_t end = last ? tp_trace_value_end(text, from, length) : 1;
            *at = text + (end ? end : from);
            return TP_TRACE_BROKEN;
        }
        ondemand::value &&value = std::move(element).value_unsafe();
        *at = last = value.raw_json_token().data();
        step step = read_element(reading, value, last);
        if (step != STEP_GOOD)
            return step == STEP_BAD ? TP_TRACE_BROKEN : TP_TRACE_MEMORY;
    }
    const char *after;
    if (document.current_location().get(after))
        return TP_TRACE_WHOLE;
    while (after > text && after[-1] != ']')
        after--;
    *at = after;
    return TP_TRACE_ENDED;
}

} // namespace

extern "C" struct tp_trace_parser *tp_trace_parser_new(bool callers)
{
    tp_trace_parser *parser = new (std::nothrow) tp_trace_parser();
    if (parser) {
        tp_trace_arguments_init(&parser->event.args);
        parser->event.callers = callers;
    }
    return parser;
}

extern "C" void tp_trace_parser_free(struct tp_trace_parser *parser)
{
    delete parser;
}

extern "C" enum tp_trace_end tp_trace_parse(struct tp_trace_parser *parser,
                                            const struct tp_trace_piece *piece,
                                            struct tp_events *events,
                                            size_t *at)
{
    char *text = piece->text - 1;
    size_t length = piece->length + 2;
    char before = text[0], behind[2] = {text[length - 1], text[length]};
    reading reading = {parser, events, piece->text, piece->offset};
    const char *stop = piece->text;
    parser->memory = {};
    text[0] = '[';
    text[length - 1] = ']';
    text[length] = ' '; // a token for nobody, should the brackets not match
    tp_trace_end end = read_array(reading, text, length, &stop);
    text[0] = before;
    text[length - 1] = behind[0];
    text[length] = behind[1];
    *at = stop < piece->text ? 0 : size_t(stop - piece->text);
    return end;
}
