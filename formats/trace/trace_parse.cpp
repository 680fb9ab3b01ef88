// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>
#include <simdjson.h>

extern "C" {
#include "formats/trace/trace_cut.h"
#include "formats/trace/trace_event.h"
#include "formats/trace/trace_number.h"
#include "formats/trace/trace_parse.h"
}

using namespace simdjson;

using text = tp_event_text;

struct tp_trace_parser {
    ondemand::parser json;
    tp_event_before memory;
    tp_trace_event event; // once for all: most of it stays absent
};

namespace {

struct reading {
    tp_trace_parser *parser;
    tp_events *events;
    const char *base; // where the JSON's byte `offset` is
    int64_t offset;

    int64_t where(const char *at) const { return offset + (at - base); }
};

// simdjson's fields and values are used where they are: a copy is a wide load
// behind narrow stores, which stalls, and took half of the time.

// --- values ----------------------------------------------------------------

template <size_t N>
bool is(const char *key, const char (&name)[N])
{
    return std::memcmp(key, name, N - 1) == 0 && key[N - 1] == '"';
}

// A value's bytes without the white space behind it.
text token_of(ondemand::value &value)
{
    std::string_view raw = value.raw_json_token();
    size_t size = raw.size();
    while (size > 0 && tp_trace_is_blank(raw[size - 1]))
        size--;
    return {raw.data(), size};
}

bool is_word(text token, const char *word)
{
    return token.size == std::strlen(word) &&
           std::memcmp(token.data, word, token.size) == 0;
}

// Whether a value begins as JSON does.
bool is_value(text token)
{
    if (token.size == 0)
        return false;
    char c = token.data[0];
    if (c == '"' || c == '{' || c == '[' || (c >= '0' && c <= '9'))
        return true;
    if (c == '-')
        return token.size > 1 && token.data[1] >= '0' && token.data[1] <= '9';
    return is_word(token, "null") || is_word(token, "true") ||
           is_word(token, "false");
}

// A value that nobody reads.
bool skip(ondemand::value &value)
{
    char c = *value.raw_json_token().data();
    return c == '"' || c == '{' || c == '[' || (c >= '0' && c <= '9') ||
           is_value(token_of(value));
}

// A string, unescaped; numbers and words as they stand; else nothing.
bool get_text(ondemand::value &value, text &out)
{
    text token = token_of(value);
    if (!is_value(token))
        return false;
    char c = token.data[0];
    out = {};
    if (c == '{' || c == '[' || is_word(token, "null"))
        return true;
    if (c != '"') {
        out = token;
        return true;
    }
    if (!std::memchr(token.data, '\\', token.size)) {
        out = {token.data + 1, token.size - 2};
        return token.size >= 2 && token.data[token.size - 1] == '"';
    }
    std::string_view unescaped;
    if (value.get_string().get(unescaped))
        return false;
    out = {unescaped.data(), unescaped.size()};
    return true;
}

// An integer, or the integer a string holds ("7", "stream 7"); else -1.
bool get_integer(ondemand::value &value, int64_t &out)
{
    text token;
    if (!get_text(value, token))
        return false;
    static const char stream[] = "stream ";
    if (token.size >= sizeof stream &&
        std::memcmp(token.data, stream, sizeof stream - 1) == 0) {
        token.data += sizeof stream - 1;
        token.size -= sizeof stream - 1;
    }
    while (token.size > 0 && token.data[token.size - 1] == ' ')
        token.size--;
    if (!tp_trace_integer(token.data, token.size, &out))
        out = -1;
    return true;
}

bool get_small(ondemand::value &value, int32_t &out)
{
    int64_t wide;
    if (!get_integer(value, wide))
        return false;
    out = wide >= INT32_MIN && wide <= INT32_MAX ? int32_t(wide) : -1;
    return true;
}

bool get_real(ondemand::value &value, float &out)
{
    text token = token_of(value);
    double number;
    if (!is_value(token))
        return false;
    if (token.data[0] == '"' || token.data[0] > '9')
        return true;
    if (value.get_double().get(number))
        return false;
    out = float(number);
    return true;
}

// [x, y, z]; anything else leaves zeros.
bool get_three(ondemand::value &value, uint32_t (&out)[3])
{
    text token = token_of(value);
    if (!is_value(token) || token.data[0] != '[')
        return is_value(token);
    ondemand::array array;
    if (value.get_array().get(array))
        return false;
    size_t i = 0;
    for (auto element : array) {
        ondemand::value item;
        int64_t number;
        if (element.get(item) || !get_integer(item, number))
            return false;
        if (i < 3 && number >= 0 && number <= UINT32_MAX)
            out[i] = uint32_t(number);
        i++;
    }
    return true;
}

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

// Keys of arguments that begin with a capital letter: host and memory.
bool read_host_argument(const char *key, ondemand::value &value,
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
    text token = token_of(value);
    if (!is_value(token) || token.data[0] != '{')
        return is_value(token);
    ondemand::object object;
    if (value.get_object().get(object))
        return false;
    for (auto item : object) {
        if (item.error())
            return false;
        ondemand::field &&field = std::move(item).value_unsafe();
        ondemand::value &member = field.value();
        if (!read_argument(field.key().raw(), member, args))
            return false;
    }
    return true;
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
    for (auto item : object) {
        if (item.error())
            return false;
        ondemand::field &&field = std::move(item).value_unsafe();
        const char *key = field.key().raw();
        uint32_t bit = key_bit(key);
        ondemand::value &value = field.value();
        if (bit & keys)
            twice = key;
        keys |= bit;
        if (!read_field(bit, value, event))
            return false;
    }
    if (twice)
        tp_events_repaired(reading.events, TP_REPAIR_DUPLICATE,
                           reading.where(twice));
    return true;
}

// --- facts beside the events -----------------------------------------------

// Kept in the arena; false when memory ran out or it is not JSON.
bool keep_text(tp_events *events, ondemand::value &value, const char *&kept)
{
    text text;
    if (!get_text(value, text))
        return false;
    const char *copy = tp_arena_text(&events->arena, text.data, text.size);
    if (copy)
        kept = copy;
    return copy != nullptr;
}

// 1, "1" and true mean that something was recorded.
bool get_flag(ondemand::value &value, bool &flag)
{
    text text;
    if (!get_text(value, text))
        return false;
    flag = is_word(text, "1") || is_word(text, "true");
    return true;
}

bool read_device_key(const char *key, ondemand::value &value,
                     tp_events *events, tp_device_properties &device)
{
    if (is(key, "id"))
        return get_integer(value, device.id);
    if (is(key, "name"))
        return keep_text(events, value, device.name);
    if (is(key, "totalGlobalMem"))
        return get_integer(value, device.total_memory);
    if (is(key, "numSms"))
        return get_integer(value, device.sm_count);
    if (is(key, "computeMajor"))
        return get_integer(value, device.compute_major);
    if (is(key, "computeMinor"))
        return get_integer(value, device.compute_minor);
    if (is(key, "maxThreadsPerMultiprocessor"))
        return get_integer(value, device.threads_per_sm);
    return is_value(token_of(value));
}

bool read_device(ondemand::object object, tp_events *events)
{
    tp_device_properties device = {-1, "", -1, -1, -1, -1, -1};
    for (auto item : object) {
        if (item.error())
            return false;
        ondemand::field &&field = std::move(item).value_unsafe();
        ondemand::value &value = field.value();
        if (!read_device_key(field.key().raw(), value, events, device))
            return false;
    }
    if (tp_grow(&events->devices, &events->device_capacity,
                events->device_count + 1, sizeof device, nullptr) != TP_OK)
        return false;
    events->devices[events->device_count++] = device;
    return true;
}

bool read_devices(ondemand::value &value, tp_events *events)
{
    ondemand::array array;
    if (token_of(value).data[0] != '[')
        return is_value(token_of(value));
    if (value.get_array().get(array))
        return false;
    events->device_count = 0;
    for (auto element : array) {
        ondemand::object object;
        if (element.get_object().get(object) || !read_device(object, events))
            return false;
    }
    return true;
}

bool read_distributed(ondemand::value &value, tp_events *events)
{
    ondemand::object object;
    if (token_of(value).data[0] != '{')
        return is_value(token_of(value));
    if (value.get_object().get(object))
        return false;
    for (auto item : object) {
        if (item.error())
            return false;
        ondemand::field &&field = std::move(item).value_unsafe();
        const char *key = field.key().raw();
        ondemand::value &member = field.value();
        bool good = is(key, "rank") ? get_integer(member, events->rank)
                    : is(key, "world_size")
                        ? get_integer(member, events->world_size)
                    : is(key, "backend")
                        ? keep_text(events, member, events->backend)
                        : is_value(token_of(member));
        if (!good)
            return false;
    }
    return true;
}

bool read_base(ondemand::value &value, tp_events *events)
{
    text text;
    if (!get_text(value, text))
        return false;
    events->has_base = tp_trace_integer(text.data, text.size, &events->base_ns);
    return true;
}

bool read_fact(const char *key, ondemand::value &value, tp_events *events)
{
    if (is(key, "deviceProperties") || is(key, "computeProperties"))
        return read_devices(value, events);
    if (is(key, "distributedInfo"))
        return read_distributed(value, events);
    if (is(key, "baseTimeNanoseconds"))
        return read_base(value, events);
    if (is(key, "traceName"))
        return keep_text(events, value, events->trace_name);
    if (is(key, "record_shapes"))
        return get_flag(value, events->record_shapes);
    if (is(key, "profile_memory"))
        return get_flag(value, events->profile_memory);
    if (is(key, "with_stack"))
        return get_flag(value, events->with_stack);
    if (is(key, "with_modules"))
        return get_flag(value, events->with_modules);
    if (is(key, "with_flops"))
        return get_flag(value, events->with_flops);
    return is_value(token_of(value));
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

extern "C" struct tp_trace_parser *tp_trace_parser_new(void)
{
    tp_trace_parser *parser = new (std::nothrow) tp_trace_parser();
    if (parser)
        tp_trace_arguments_init(&parser->event.args);
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

extern "C" bool tp_trace_parse_facts(struct tp_trace_parser *parser,
                                     const struct tp_trace_piece *piece,
                                     struct tp_events *events)
{
    ondemand::document document;
    ondemand::object object;
    if (parser->json
            .iterate(piece->text, piece->length,
                     piece->length + TP_TRACE_PADDING)
            .get(document) ||
        document.get_object().get(object))
        return false;
    for (auto item : object) {
        if (item.error())
            return false;
        ondemand::field &&field = std::move(item).value_unsafe();
        const char *key = field.key().raw();
        ondemand::value &value = field.value();
        if (is(key, "traceEvents")) // one array was read already
            tp_events_repaired(events, TP_REPAIR_DUPLICATE,
                               piece->offset + (key - piece->text));
        if (!read_fact(key, value, events))
            return false;
    }
    return true;
}
