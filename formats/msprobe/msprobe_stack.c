/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_stack.h"

#include "formats/json/json_members.h"

/* Whether a list is that of calls and that of their lines. */
static bool is_group(const struct tp_json *value)
{
    return value->count == 2 && value->first->kind == TP_JSON_LIST &&
           value->first->next->kind == TP_JSON_LIST;
}

static enum tp_status tell_group(const struct tp_msprobe_stack_sink *sink,
                                 const struct tp_json *calls,
                                 struct tp_error *err)
{
    enum tp_status status = sink->stack(sink->context, calls->next, err);
    for (const struct tp_json *at = calls->first; at && status == TP_OK;
         at = at->next)
        if (at->kind == TP_JSON_STRING)
            status = sink->call(sink->context, at->text, err);
    return status;
}

static enum tp_status visit_stack(void *context,
                                  const struct tp_json_pair *pair,
                                  struct tp_arena *arena, struct tp_error *err)
{
    const struct tp_msprobe_stack_sink *sink = context;
    (void)arena;
    if (pair->value->kind != TP_JSON_LIST)
        return TP_OK;
    if (is_group(pair->value))
        return tell_group(sink, pair->value->first, err);
    enum tp_status status = sink->stack(sink->context, pair->value, err);
    return status == TP_OK ? sink->call(sink->context, pair->key, err) : status;
}

enum tp_status tp_msprobe_read_stack(const char *path,
                                     const struct tp_msprobe_stack_sink *sink,
                                     struct tp_error *err)
{
    struct tp_msprobe_stack_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_stack};
    return tp_json_walk_file(path, &visitor, err);
}

enum tp_status tp_msprobe_read_stack_memory(
    const void *memory, size_t size, size_t chunk,
    const struct tp_msprobe_stack_sink *sink, struct tp_error *err)
{
    struct tp_msprobe_stack_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_stack};
    return tp_json_walk_memory(memory, size, chunk, &visitor, err);
}
