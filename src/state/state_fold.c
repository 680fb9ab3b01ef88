/* SPDX-License-Identifier: MIT */
#include "state/state_fold.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/order.h"

static const char mark[] = ".rank-";

void tp_state_side(const char *path, unsigned rank, struct tp_text *side)
{
    tp_text_clear(side);
    tp_text_add(side, "%s%s%u", path, mark, rank);
}

enum tp_status tp_state_find_sides(const char *path,
                                   struct tp_found_list *sides,
                                   struct tp_error *err)
{
    struct tp_text stem = {0};
    tp_text_add(&stem, "%s%s", path, mark);
    enum tp_status status =
        stem.failed ? tp_fail_memory(err)
                    : tp_found_numbered(tp_text_get(&stem), sides, err);
    tp_text_clear(&stem);
    return status;
}

void tp_state_drop_sides(const char *path)
{
    struct tp_found_list sides = {0};
    tp_state_find_sides(path, &sides, NULL);
    for (size_t i = 0; i < sides.count; i++)
        unlink(sides.files[i].path);
    tp_found_clear(&sides);
}

/* A state and those beside it: [0] is the state. */
struct fold {
    struct tp_arena arena;
    struct tp_memo memo;
    struct tp_state *states;
    size_t count;
};

static enum tp_status read_one(struct fold *f, const char *path,
                               struct tp_error *err)
{
    struct tp_state *state = &f->states[f->count++];
    state->records.arena = &f->arena;
    enum tp_status status = tp_state_read(path, state, &f->memo, err);
    const char *options = f->states[0].options;
    if (status == TP_OK && options && strcmp(state->options, options) != 0) {
        tp_fail(err, TP_E_UNSUPPORTED, -1,
                "it stands beside a state that was made with other options");
        tp_error_in_file(err, path);
        return TP_E_UNSUPPORTED;
    }
    return status;
}

/* By path; of the same one, that of the later state first: a process that read
 * a file again knows better. */
static int compare_records(const void *left, const void *right)
{
    const struct tp_record *const *a = left, *const *b = right;
    const int order = strcmp((*a)->path, (*b)->path);
    return order ? order : tp_order_place(*b, *a);
}

/* The records of all states, each path once, in order. */
static enum tp_status join_records(const struct fold *f, struct tp_records *all,
                                   struct tp_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += f->states[i].records.count;
    struct tp_record *items = calloc(2 * count + 1, sizeof *items);
    const struct tp_record **order = calloc(count + 1, sizeof *order);
    all->items = items;
    for (size_t i = 0, at = 0; items && i < f->count; i++) {
        const struct tp_records *its = &f->states[i].records;
        for (size_t k = 0; k < its->count; k++)
            items[count + at++] = its->items[k];
    }
    for (size_t i = 0; items && order && i < count; i++)
        order[i] = &items[count + i];
    if (items && order && count)
        qsort(order, count, sizeof *order, compare_records);
    for (size_t i = 0; items && order && i < count; i++) {
        if (i == 0 || strcmp(order[i - 1]->path, order[i]->path) != 0)
            items[all->count++] = *order[i];
    }
    const bool made = items && order;
    free(order);
    return made ? TP_OK : tp_fail_memory(err);
}

static enum tp_status write_all(const struct fold *f, const char *path,
                                struct tp_error *err)
{
    const struct tp_state *first = &f->states[0];
    const struct tp_state *told = first->options ? first : &f->states[1];
    const struct tp_state_header header = {told->options, told->roots, false};
    struct tp_records all = {.problems = first->records.problems,
                             .problem_count = first->records.problem_count};
    enum tp_status status = join_records(f, &all, err);
    if (status == TP_OK)
        status = tp_state_write(path, &header, &all, &f->memo, err);
    free(all.items);
    return status;
}

static enum tp_status fold_all(struct fold *f, const char *path,
                               const struct tp_found_list *sides,
                               struct tp_error *err)
{
    f->states = calloc(sides->count + 1, sizeof *f->states);
    if (!f->states)
        return tp_fail_memory(err);
    enum tp_status status = read_one(f, path, err);
    if (status == TP_E_NOT_FOUND)
        status = TP_OK;
    for (size_t i = 0; i < sides->count && status == TP_OK; i++)
        status = read_one(f, sides->files[i].path, err);
    return status == TP_OK ? write_all(f, path, err) : status;
}

enum tp_status tp_state_fold(const char *path, struct tp_error *err)
{
    struct tp_found_list sides = {0};
    struct fold f = {.count = 0};
    enum tp_status status = tp_state_find_sides(path, &sides, err);
    tp_memo_init(&f.memo);
    if (status == TP_OK && sides.count)
        status = fold_all(&f, path, &sides, err);
    for (size_t i = 0; i < sides.count && status == TP_OK; i++)
        unlink(sides.files[i].path);
    for (size_t i = 0; i < f.count; i++)
        tp_state_clear(&f.states[i]);
    free(f.states);
    tp_memo_clear(&f.memo);
    tp_arena_clear(&f.arena);
    tp_found_clear(&sides);
    return status;
}
