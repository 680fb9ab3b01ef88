/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_tree.h"

#include "formats/json/json_members.h"

static const char *text_of(const struct tp_json *value)
{
    return value && value->kind == TP_JSON_STRING ? value->text : "";
}

static enum tp_status visit_parent(void *context,
                                   const struct tp_json_pair *pair,
                                   struct tp_arena *arena, struct tp_error *err)
{
    const struct tp_msprobe_tree_sink *sink = context;
    const struct tp_json *value = pair->value, *step = NULL;
    (void)arena;
    if (tp_json_is_number(value)) /* megatron_micro_step_number */
        return TP_OK;
    if (value->kind == TP_JSON_LIST) {
        value = value->first;
        step = value ? value->next : NULL;
    }
    bool counted = step && step->kind == TP_JSON_INTEGER;
    return sink->parent(sink->context, pair->key, text_of(value),
                        counted ? step->integer : -1, err);
}

enum tp_status tp_msprobe_read_tree(const char *path,
                                    const struct tp_msprobe_tree_sink *sink,
                                    struct tp_error *err)
{
    struct tp_msprobe_tree_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_parent};
    return tp_json_walk_file(path, &visitor, err);
}

static enum tp_status visit_stack(void *context,
                                  const struct tp_json_pair *pair,
                                  struct tp_arena *arena, struct tp_error *err)
{
    const struct tp_msprobe_stack_sink *sink = context;
    const struct tp_json *calls = pair->value->first;
    enum tp_status status = TP_OK;
    (void)arena;
    if (pair->value->kind != TP_JSON_LIST)
        return TP_OK;
    if (!calls || calls->kind != TP_JSON_LIST)
        return sink->stack(sink->context, pair->key, pair->value, err);
    const struct tp_json *lines = calls->next;
    if (!lines || lines->kind != TP_JSON_LIST)
        return TP_OK;
    for (const struct tp_json *call = calls->first; call && status == TP_OK;
         call = call->next)
        if (call->kind == TP_JSON_STRING)
            status = sink->stack(sink->context, call->text, lines, err);
    return status;
}

enum tp_status tp_msprobe_read_stacks(const char *path,
                                      const struct tp_msprobe_stack_sink *sink,
                                      struct tp_error *err)
{
    struct tp_msprobe_stack_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_stack};
    return tp_json_walk_file(path, &visitor, err);
}
