// SPDX-License-Identifier: MIT
// What a trace says beside its events: devices, the distributed setup, what
// was recorded. See trace_parse.h.
#include "formats/trace/trace_json.inc"

extern "C" {
#include "formats/trace/trace_parse.h"
}

using namespace trace_json;

namespace {

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

// A setting that add_metadata, or a program's own metrics, wrote: an integer,
// or true and false in JSON or in Python. Anything else says nothing.
bool read_setting(ondemand::value &value, const tp_setting_info &info,
                  tp_setting &setting)
{
    text text;
    int64_t number;
    if (!get_text(value, text))
        return false;
    bool yes = is_word(text, "true") || is_word(text, "True");
    bool no = is_word(text, "false") || is_word(text, "False");
    bool integer = tp_trace_integer(text.data, text.size, &number);
    setting.known = info.flag ? yes || no : integer && number >= info.least;
    setting.value = !setting.known ? 0 : info.flag ? yes : number;
    return true;
}

// Whether the key is that of a setting, and then whether it could be read.
bool read_settings(const char *key, ondemand::value &value, tp_events *events,
                   bool &good)
{
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        const tp_setting_info &info = tp_setting_table[i];
        const size_t length = std::strlen(info.name);
        if (std::memcmp(key, info.name, length) == 0 && key[length] == '"') {
            good = read_setting(value, info, events->settings[i]);
            return true;
        }
    }
    return false;
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
    if (!each_member(object, [&](const char *key, ondemand::value &value) {
            return read_device_key(key, value, events, device);
        }))
        return false;
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
    return each_member_of(value, [&](const char *key, ondemand::value &member) {
        return is(key, "rank") ? get_integer(member, events->rank)
               : is(key, "world_size")
                   ? get_integer(member, events->world_size)
               : is(key, "backend")
                   ? keep_text(events, member, events->backend)
                   : is_value(token_of(member));
    });
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
    bool good;
    if (read_settings(key, value, events, good))
        return good;
    if (is(key, "trace_dir"))
        return keep_text(events, value, events->trace_dir);
    if (is(key, "tool_version"))
        events->has_tool_version = true;
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

} // namespace

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
    return each_member(object, [&](const char *key, ondemand::value &value) {
        const int64_t at = piece->offset + (key - piece->text);
        if (is(key, "traceEvents")) { // one array was read already
            if (token_of(value).data[0] == '[')
                tp_events_repaired(events, TP_REPAIR_SECOND, at - 1);
            else
                tp_events_repaired(events, TP_REPAIR_DUPLICATE, at);
        }
        return read_fact(key, value, events);
    });
}
