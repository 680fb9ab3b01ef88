/* SPDX-License-Identifier: MIT */
/*
 * Merging is joining: records of one file each are the same whoever read the
 * file, so that those of all states, sorted, give the run that one reading of
 * all files would have given. A file is told from another of the same path, of
 * another node, by its size and by the digest of its numbers, not by its time,
 * which copies do not keep. Ties of such files are in the order of these, so
 * that the order of the states does not show.
 *
 * States are sorted already, so pairs of them are merged until one is left;
 * parts that are of different folders are only put one behind the other. A heap
 * of all states would compare as often, and not see that. Cost: n log k
 * comparisons of paths for k states.
 */
#include "state/state_merge.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_image.h"
#include "state/state_texts.h"

/* States under way. */
struct loader {
    struct tp_state_merge *merge;
    const struct tp_state_merge_from *from;
    struct tp_error *errors;       /* [count]                              */
    struct tp_state_image *images; /* room of each worker                  */
};

static void load_state(void *context, size_t index, unsigned worker)
{
    struct loader *l = context;
    struct tp_error *err = &l->errors[index];
    struct tp_state *state = &l->merge->states[index];
    const char *path = l->from->paths[index];
    if (l->from->stop && *l->from->stop) {
        tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        return;
    }
    state->records.arena = &l->merge->arenas[index];
    state->shared = &l->merge->words;
    if (tp_state_read_by(&l->images[worker], path, state, l->from->memo, err) ==
            TP_OK &&
        !state->whole) {
        tp_fail(err, TP_E_UNSUPPORTED, -1,
                "the run that wrote this state did not come to its end, or is "
                "under way: the same command goes on");
        tp_error_in_file(err, path);
    }
}

/* One array for the rows of all states, and one for their records, so that
 * joining them puts them in order where they are. Their pages are touched by
 * who reads a state. Where there is no memory for it, or a state has more than
 * it said, it gets its own. */
static void make_room(struct tp_state_merge *merge)
{
    struct tp_records *records = &merge->records;
    size_t rows = 0, files = 0;
    for (size_t i = 0; i < merge->count; i++) {
        struct tp_state *state = &merge->states[i];
        tp_state_image_counts(merge->paths[i], &state->row_room_count,
                              &state->record_room_count);
        if (state->row_room_count > UINT32_MAX - rows ||
            state->record_room_count > UINT32_MAX - files)
            return;
        rows += state->row_room_count;
        files += state->record_room_count;
    }
    records->all_rows = calloc(rows + 1, sizeof *records->all_rows);
    records->all_row_count = records->all_rows ? rows : 0;
    records->items = calloc(files + 1, sizeof *records->items);
    records->capacity = records->items ? files : 0;
    struct tp_row *next_row = records->all_rows;
    struct tp_record *next = records->items;
    for (size_t i = 0; i < merge->count && next_row && next; i++) {
        struct tp_state *state = &merge->states[i];
        state->row_room = next_row;
        state->record_room = next;
        next_row += state->row_room_count;
        next += state->record_room_count;
    }
}

enum tp_status tp_state_merge_read(struct tp_state_merge *merge,
                                   const struct tp_state_merge_from *from,
                                   struct tp_pool *pool, struct tp_error *err)
{
    struct loader l = {merge, from, calloc(from->count + 1, sizeof *l.errors),
                       calloc(tp_pool_size(pool), sizeof *l.images)};
    enum tp_status status = TP_OK;
    merge->states = calloc(from->count + 1, sizeof *merge->states);
    merge->arenas = calloc(from->count + 1, sizeof *merge->arenas);
    merge->paths = from->paths;
    pthread_mutex_init(&merge->words.lock, NULL);
    if (!l.errors || !l.images || !merge->states || !merge->arenas)
        status = tp_fail_memory(err);
    merge->count = status == TP_OK ? from->count : 0;
    make_room(merge);
    tp_pool_for(pool, merge->count, load_state, &l);
    for (size_t i = 0; i < merge->count && status == TP_OK; i++) {
        const struct tp_state *state = &merge->states[i];
        status = l.errors[i].code;
        if (status != TP_OK && err)
            *err = l.errors[i];
        merge->casts =
            state->casts > merge->casts ? state->casts : merge->casts;
    }
    for (unsigned i = 0; l.images && i < tp_pool_size(pool); i++)
        tp_state_image_clear(&l.images[i]);
    free(l.images);
    free(l.errors);
    return status;
}

static int compare_records(const struct tp_record *a, const struct tp_record *b)
{
    int order = strcmp(a->path, b->path);
    if (order == 0)
        order = (a->size > b->size) - (a->size < b->size);
    return order ? order : tp_digest_compare(&a->digest, &b->digest);
}

/* Of copies, the last to be written goes first. */
static int order_copies(const struct tp_record *a, const struct tp_record *b)
{
    const int order = compare_records(a, b);
    return order ? order
                 : (b->modified > a->modified) - (b->modified < a->modified);
}

/* What was found of the files, each sentence once. */
static enum tp_status merge_problems(struct tp_state_merge *merge,
                                     struct tp_error *err)
{
    struct tp_records *records = &merge->records;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < merge->count && status == TP_OK; i++) {
        const struct tp_records *its = &merge->states[i].records;
        status =
            tp_state_sentences_add(&records->problems, &records->problem_count,
                                   its->problems, its->problem_count, err);
    }
    return status;
}

/* --- order ---------------------------------------------------------------- */

/* Records of a state, which are in order. */
struct sequence {
    const struct tp_record **first;
    size_t count;
};

static int compare_sequences(const void *left, const void *right)
{
    const struct sequence *a = left, *b = right;
    return order_copies(*a->first, *b->first);
}

/* Merges two neighbours to `into`. */
static void merge_two(const struct sequence *a, const struct sequence *b,
                      const struct tp_record **into)
{
    size_t i = 0, k = 0;
    /* parts that are of different folders stand one behind the other */
    if (order_copies(a->first[a->count - 1], *b->first) <= 0)
        i = a->count;
    memcpy(into, a->first, i * sizeof *into);
    into += i;
    while (i < a->count && k < b->count)
        *into++ = order_copies(a->first[i], b->first[k]) <= 0
                      ? a->first[i++]
                      : b->first[k++];
    memcpy(into, a->first + i, (a->count - i) * sizeof *into);
    memcpy(into + (a->count - i), b->first + k, (b->count - k) * sizeof *into);
}

/* One round: sequences of `from` to half as many of `to`; their number. */
static size_t merge_round(struct sequence *sequences, size_t count,
                          const struct tp_record **to)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i += 2) {
        struct sequence a = sequences[i], b = {NULL, 0};
        if (i + 1 < count) {
            b = sequences[i + 1];
            merge_two(&a, &b, to);
        } else {
            memcpy(to, a.first, a.count * sizeof *to);
        }
        sequences[made++] = (struct sequence){to, a.count + b.count};
        to += a.count + b.count;
    }
    return made;
}

/* Pointers to all records, in order; NULL: out of memory. `room` has room for
 * twice as many. */
static const struct tp_record **order_records(
    const struct tp_state_merge *merge, const struct tp_record **room,
    size_t all)
{
    struct sequence *sequences = calloc(merge->count + 1, sizeof *sequences);
    const struct tp_record **at = room;
    size_t count = 0;
    if (!sequences)
        return NULL;
    for (size_t i = 0; i < merge->count; i++) {
        const struct tp_records *its = &merge->states[i].records;
        if (its->count)
            sequences[count++] = (struct sequence){at, its->count};
        for (size_t k = 0; k < its->count; k++)
            *at++ = &its->items[k];
    }
    if (count)
        qsort(sequences, count, sizeof *sequences, compare_sequences);
    const struct tp_record **to = room + all;
    while (count > 1) {
        count = merge_round(sequences, count, to);
        to = to == room ? room + all : room;
    }
    at = count ? sequences[0].first : room;
    free(sequences);
    return at;
}

/* Puts copies of those before behind all others; returns how many these are. */
static size_t put_copies_last(struct tp_state_merge *merge,
                              const struct tp_record *const *ordered,
                              size_t count, const struct tp_record **to)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && compare_records(ordered[i - 1], ordered[i]) == 0) {
            if (merge->twice++ == 0)
                merge->first_twice = ordered[i]->path;
            to[count - merge->twice] = ordered[i];
        } else {
            to[kept++] = ordered[i];
        }
    }
    return kept;
}

/* Whether the records of the states are all there is in the array. */
static bool are_together(const struct tp_state_merge *merge)
{
    const struct tp_record *next = merge->records.items;
    bool together = next != NULL;
    for (size_t i = 0; i < merge->count && together; i++) {
        const struct tp_records *its = &merge->states[i].records;
        together = its->items == next;
        next += its->count;
    }
    return together;
}

/* Records of one array, each put in its place by an exchange along the ring of
 * those that take each other's. */
static void order_in_place(struct tp_record *items,
                           const struct tp_record **ordered, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ordered[i] == &items[i])
            continue;
        const struct tp_record held = items[i];
        size_t at = i, from;
        while ((from = (size_t)(ordered[at] - items)) != i) {
            ordered[at] = &items[at];
            items[at] = items[from];
            at = from;
        }
        ordered[at] = &items[at];
        items[at] = held;
    }
}

/* Those of states that got their own. */
static struct tp_record *copy_in_order(const struct tp_record *const *ordered,
                                       size_t count)
{
    struct tp_record *items = calloc(count + 1, sizeof *items);
    for (size_t i = 0; items && i < count; i++)
        items[i] = *ordered[i];
    return items;
}

/* Takes the records of all states, each once, in order. TP_E_MEMORY. */
static enum tp_status take_records(struct tp_state_merge *merge,
                                   struct tp_error *err)
{
    struct tp_records *records = &merge->records;
    size_t count = 0;
    for (size_t i = 0; i < merge->count; i++)
        count += merge->states[i].records.count;
    const struct tp_record **room = calloc(2 * count + 1, sizeof *room);
    const struct tp_record **ordered =
        room ? order_records(merge, room, count) : NULL;
    if (!ordered) {
        free(room);
        return tp_fail_memory(err);
    }
    const struct tp_record **all = ordered == room ? room + count : room;
    const size_t kept = put_copies_last(merge, ordered, count, all);
    if (are_together(merge)) {
        order_in_place(records->items, all, count);
    } else {
        struct tp_record *items = copy_in_order(all, kept);
        free(records->items);
        records->items = items;
    }
    free(room);
    records->count = records->items ? kept : 0;
    for (size_t i = 0; i < merge->count; i++)
        tp_state_drop_items(&merge->states[i]);
    return records->items ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_state_merge_records(struct tp_state_merge *merge,
                                      enum tp_dims_mode dims,
                                      struct tp_arena *arena,
                                      struct tp_error *err)
{
    struct tp_records *records = &merge->records;
    records->arena = arena;
    if (take_records(merge, err) != TP_OK)
        return TP_E_MEMORY;
    merge->files = records->count;
    for (size_t i = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        /* what a part of the files keeps is no less than what all do */
        tp_record_fit_dims(
            record, tp_record_dims_keep(dims, records->count, record->tensors));
    }
    return merge_problems(merge, err);
}

enum tp_status tp_state_merge_files(const struct tp_state_merge *merge,
                                    struct tp_found_list *files,
                                    struct tp_error *err)
{
    const struct tp_records *records = &merge->records;
    if (tp_grow(&files->files, &files->capacity, records->count + 1,
                sizeof *files->files, err) != TP_OK)
        return TP_E_MEMORY;
    files->borrowed = true;
    files->count = records->count;
    for (size_t i = 0; i < records->count; i++) {
        const struct tp_record *record = &records->items[i];
        files->files[i] =
            (struct tp_found){.path = (char *)(uintptr_t)record->path,
                              .size = record->size,
                              .modified = record->modified};
    }
    return TP_OK;
}

void tp_state_merge_drop_records(struct tp_state_merge *merge)
{
    for (size_t i = 0; i < merge->count; i++) {
        free(merge->states[i].records.all_rows);
        merge->states[i].records.all_rows = NULL;
    }
    tp_records_clear(&merge->records);
}

void tp_state_merge_clear(struct tp_state_merge *merge)
{
    tp_records_clear(&merge->records);
    for (size_t i = 0; i < merge->count; i++) {
        tp_state_clear(&merge->states[i]);
        tp_arena_clear(&merge->arenas[i]);
    }
    free(merge->states);
    free(merge->arenas);
    tp_intern_clear(&merge->words.texts);
    tp_arena_clear(&merge->words.arena);
    memset(merge, 0, sizeof *merge);
}
