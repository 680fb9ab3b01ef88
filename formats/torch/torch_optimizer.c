/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_optimizer.h"

#include "base/limits.h"

/* The value of a key among the first few: no optimizer has more, and any dict
 * may be a million tensors. */
static tp_ref first_value(const struct tp_pickle *pickle, tp_ref dict,
                          const char *name)
{
    enum { FEW = 64 };
    tp_ref key, value;
    for (size_t i = 0; i < FEW; i++) {
        if (!tp_pickle_pair(pickle, dict, i, &key, &value))
            break;
        if (tp_pickle_is(pickle, key, name))
            return value;
    }
    return TP_REF_NONE;
}

/* Parameters of all groups; stops above `most`. */
static uint64_t count_parameters(const struct tp_pickle *pickle, tp_ref groups,
                                 uint64_t most)
{
    uint64_t count = 0;
    for (size_t i = 0; i < tp_pickle_length(pickle, groups); i++) {
        tp_ref group = tp_pickle_item(pickle, groups, i);
        count += tp_pickle_length(pickle, first_value(pickle, group, "params"));
        if (count > most)
            break;
    }
    return count;
}

static enum tp_status add_group(const struct tp_pickle *pickle, tp_ref group,
                                uint32_t number, struct tp_arena *arena,
                                struct tp_optimizer *optimizer)
{
    tp_ref params = first_value(pickle, group, "params");
    tp_ref names = first_value(pickle, group, "param_names");
    for (size_t i = 0; i < tp_pickle_length(pickle, params); i++) {
        size_t at = optimizer->count++;
        const char *text;
        size_t length;
        optimizer->group[at] = number;
        optimizer->name[at] = "";
        optimizer->number[at] = -1;
        tp_pickle_int(pickle, tp_pickle_item(pickle, params, i),
                      &optimizer->number[at]);
        if (!tp_pickle_text(pickle, tp_pickle_item(pickle, names, i), &text,
                            &length) ||
            length > TP_LIMIT_LABEL_BYTES)
            continue;
        optimizer->name[at] = tp_arena_text(arena, text, length);
        if (!optimizer->name[at])
            return TP_E_MEMORY;
    }
    return TP_OK;
}

enum tp_status tp_torch_optimizer(const struct tp_pickle *pickle, tp_ref dict,
                                  uint64_t *budget, struct tp_arena *arena,
                                  struct tp_optimizer **made,
                                  struct tp_error *err)
{
    tp_ref groups = first_value(pickle, dict, "param_groups");
    uint64_t count = count_parameters(pickle, groups, *budget);
    *made = NULL;
    if (count == 0 || count > *budget)
        return TP_OK;
    *budget -= count;
    struct tp_optimizer *optimizer = tp_arena_alloc(arena, sizeof *optimizer);
    if (!optimizer)
        return tp_fail_memory(err);
    *optimizer = (struct tp_optimizer){
        .number = tp_arena_alloc(arena, count * sizeof *optimizer->number),
        .group = tp_arena_alloc(arena, count * sizeof *optimizer->group),
        .name = tp_arena_alloc(arena, count * sizeof *optimizer->name)};
    bool there = optimizer->number && optimizer->group && optimizer->name;
    for (size_t i = 0; i < tp_pickle_length(pickle, groups) && there; i++)
        there = add_group(pickle, tp_pickle_item(pickle, groups, i),
                          (uint32_t)i, arena, optimizer) == TP_OK;
    *made = optimizer;
    return there ? TP_OK : tp_fail_memory(err);
}
