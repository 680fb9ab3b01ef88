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
    const struct tp_json *value = pair->value;
    (void)arena;
    if (tp_json_is_number(value)) /* megatron_micro_step_number */
        return TP_OK;
    if (value->kind == TP_JSON_LIST)
        value = value->first;
    return sink->parent(sink->context, pair->key, text_of(value), err);
}

enum tp_status tp_msprobe_read_tree(const char *path,
                                    const struct tp_msprobe_tree_sink *sink,
                                    struct tp_error *err)
{
    struct tp_msprobe_tree_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_parent};
    return tp_json_walk_file(path, &visitor, err);
}

enum tp_status tp_msprobe_read_tree_memory(
    const void *memory, size_t size, size_t chunk,
    const struct tp_msprobe_tree_sink *sink, struct tp_error *err)
{
    struct tp_msprobe_tree_sink own = *sink;
    const struct tp_json_visitor visitor = {&own, visit_parent};
    return tp_json_walk_memory(memory, size, chunk, &visitor, err);
}
