/* SPDX-License-Identifier: MIT */
/*
 * Events as columns. Texts and lanes (process and thread) are numbered by hash
 * tables with open addressing, the texts' hashes kept beside them, so that
 * doubling a table reads no text. Pieces of a file are parsed apart and merged
 * in their order: numbers of texts, lanes and details are mapped, columns
 * appended; the result does not depend on the number of pieces.
 *
 * Alternative: an array of structs, with each event's texts in it: most passes
 * read two or three members, and a name is shared by thousands of events.
 *
 * Cost: a few dozen bytes an event plus one copy of each text; a merge copies
 * the columns and looks up each text of the piece once.
 */
#include "data/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_SLOTS = 256 };

const char *tp_event_category_name(enum tp_event_category category)
{
    static const char *const names[TP_EVENT_CATEGORIES] = {
        [TP_EVENT_OTHER] = "other",
        [TP_EVENT_CPU_OP] = "cpu_op",
        [TP_EVENT_ANNOTATION] = "user_annotation",
        [TP_EVENT_GPU_ANNOTATION] = "gpu_user_annotation",
        [TP_EVENT_RUNTIME] = "cuda_runtime",
        [TP_EVENT_DRIVER] = "cuda_driver",
        [TP_EVENT_KERNEL] = "kernel",
        [TP_EVENT_MEMCPY] = "gpu_memcpy",
        [TP_EVENT_MEMSET] = "gpu_memset",
        [TP_EVENT_PYTHON] = "python_function",
        [TP_EVENT_MEMORY] = "[memory]",
        [TP_EVENT_OUT_OF_MEMORY] = "[OutOfMemory]",
        [TP_EVENT_SYNC] = "cuda_sync",
        [TP_EVENT_OVERHEAD] = "overhead",
        [TP_EVENT_SPAN] = "Trace",
    };
    return category < TP_EVENT_CATEGORIES ? names[category] : "unknown";
}

/* --- texts -------------------------------------------------------------- */

/* Doubles a table of slots and empties it. */
static bool grow_slots(uint32_t **slots, size_t *count)
{
    size_t wanted = *count ? *count * 2 : FIRST_SLOTS;
    uint32_t *grown = calloc(wanted, sizeof *grown);
    if (!grown)
        return false;
    free(*slots);
    *slots = grown;
    *count = wanted;
    return true;
}

static void put_slot(uint32_t *slots, size_t count, uint32_t hash,
                     uint32_t number)
{
    size_t at = hash & (count - 1);
    while (slots[at])
        at = (at + 1) & (count - 1);
    slots[at] = number;
}

/* What arrays that grew together have in common: those of wide elements grow
 * by less. */
static size_t least_room(const size_t *rooms, int count)
{
    size_t least = rooms[0];
    for (int i = 1; i < count; i++)
        least = rooms[i] < least ? rooms[i] : least;
    return least;
}

static bool grow_texts(struct tp_text_table *table)
{
    size_t need = table->count + 1, rooms[3];
    for (int i = 0; i < 3; i++)
        rooms[i] = table->capacity;
    if (tp_grow(&table->texts, &rooms[0], need, sizeof *table->texts, NULL) ||
        tp_grow(&table->lengths, &rooms[1], need, sizeof *table->lengths,
                NULL) ||
        tp_grow(&table->hashes, &rooms[2], need, sizeof *table->hashes, NULL))
        return false;
    table->capacity = least_room(rooms, 3);
    if (table->count * 2 < table->slot_count)
        return true;
    if (!grow_slots(&table->slots, &table->slot_count))
        return false;
    for (uint32_t i = 1; i < table->count; i++)
        put_slot(table->slots, table->slot_count, table->hashes[i], i);
    return true;
}

/* A text that a table takes. */
struct new_text {
    const char *text;
    size_t length;
    uint32_t hash;
};

/* The number of a text in a table of `events`, which is added if new. */
static uint32_t intern(struct tp_events *events, struct tp_text_table *table,
                       struct new_text taken)
{
    const char *text = taken.text;
    const size_t length = taken.length;
    const uint32_t hash = taken.hash;
    if (length == 0)
        return 0;
    size_t mask = table->slot_count - 1;
    for (size_t at = hash & mask; table->slot_count && table->slots[at];
         at = (at + 1) & mask) {
        uint32_t i = table->slots[at];
        if (table->hashes[i] == hash && table->lengths[i] == length &&
            memcmp(table->texts[i], text, length) == 0)
            return i;
    }
    if (table->count == 0) { /* number 0 is "" */
        if (!grow_texts(table))
            return TP_NO_DETAIL;
        table->texts[0] = "";
        table->count = 1;
    }
    if (length > UINT32_MAX || table->count >= TP_NO_DETAIL ||
        !grow_texts(table))
        return TP_NO_DETAIL;
    const char *copy = tp_arena_text(&events->arena, text, length);
    if (!copy)
        return TP_NO_DETAIL;
    uint32_t number = (uint32_t)table->count++;
    table->texts[number] = copy;
    table->lengths[number] = (uint32_t)length;
    table->hashes[number] = hash;
    put_slot(table->slots, table->slot_count, hash, number);
    return number;
}

uint32_t tp_events_text(struct tp_events *events, const char *text,
                        size_t length)
{
    const uint32_t hash = (uint32_t)tp_hash_bytes(text, length);
    return intern(events, &events->texts,
                  (struct new_text){text, length, hash});
}

uint32_t tp_events_inputs(struct tp_events *events, const char *text,
                          size_t length)
{
    const uint32_t hash = (uint32_t)tp_hash_bytes(text, length);
    return intern(events, &events->inputs,
                  (struct new_text){text, length, hash});
}

const char *tp_events_get_inputs(const struct tp_events *events, uint32_t text)
{
    return text < events->inputs.count ? events->inputs.texts[text] : "";
}

const char *tp_events_get(const struct tp_events *events, uint32_t text)
{
    return text < events->texts.count ? events->texts.texts[text] : "";
}

/* --- lanes -------------------------------------------------------------- */

static uint32_t hash_lane(uint32_t pid, uint32_t tid)
{
    return (uint32_t)tp_hash_number((uint64_t)pid << 32 | tid);
}

static bool grow_lanes(struct tp_events *events)
{
    if (tp_grow(&events->lanes, &events->lane_capacity, events->lane_count + 1,
                sizeof *events->lanes, NULL) != TP_OK)
        return false;
    if (events->lane_count * 2 + 2 < events->lane_slot_count)
        return true;
    do { /* more than once only after tp_events_finish */
        if (!grow_slots(&events->lane_slots, &events->lane_slot_count))
            return false;
    } while (events->lane_count * 2 + 2 >= events->lane_slot_count);
    for (uint32_t i = 0; i < events->lane_count; i++)
        put_slot(events->lane_slots, events->lane_slot_count,
                 hash_lane(events->lanes[i].pid, events->lanes[i].tid), i + 1);
    return true;
}

uint32_t tp_events_lane(struct tp_events *events, uint32_t pid, uint32_t tid)
{
    uint32_t hash = hash_lane(pid, tid);
    size_t mask = events->lane_slot_count - 1;
    for (size_t at = hash & mask;
         events->lane_slot_count && events->lane_slots[at];
         at = (at + 1) & mask) {
        uint32_t i = events->lane_slots[at] - 1;
        if (events->lanes[i].pid == pid && events->lanes[i].tid == tid)
            return i;
    }
    if (events->lane_count >= TP_NO_DETAIL - 1 || !grow_lanes(events))
        return TP_NO_DETAIL;
    uint32_t number = (uint32_t)events->lane_count++;
    events->lanes[number] = (struct tp_lane){.pid = pid, .tid = tid};
    put_slot(events->lane_slots, events->lane_slot_count, hash, number + 1);
    return number;
}

/* --- columns ------------------------------------------------------------ */

/* The columns as a table: where the pointer is, and the size of an element. */
struct column {
    void *array;
    size_t size;
};

enum { COLUMNS = 7 };

static void list_columns(struct tp_events *events, struct column *columns)
{
    columns[0] = (struct column){&events->start, sizeof *events->start};
    columns[1] = (struct column){&events->duration, sizeof *events->duration};
    columns[2] =
        (struct column){&events->correlation, sizeof *events->correlation};
    columns[3] = (struct column){&events->name, sizeof *events->name};
    columns[4] = (struct column){&events->lane, sizeof *events->lane};
    columns[5] = (struct column){&events->detail, sizeof *events->detail};
    columns[6] = (struct column){&events->category, sizeof *events->category};
}

enum tp_status tp_events_reserve(struct tp_events *events, size_t more,
                                 struct tp_error *err)
{
    struct column columns[COLUMNS];
    if (more > TP_NO_EVENT - events->count)
        return tp_fail(err, TP_E_LIMIT, -1, "more than 2^32 - 1 events");
    if (events->count + more <= events->capacity)
        return TP_OK;
    list_columns(events, columns);
    size_t rooms[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        rooms[i] = events->capacity;
        enum tp_status status = tp_grow(columns[i].array, &rooms[i],
                                        events->count + more, columns[i].size,
                                        err);
        if (status != TP_OK)
            return status;
    }
    events->capacity = least_room(rooms, COLUMNS);
    return TP_OK;
}

void tp_events_repaired(struct tp_events *events, enum tp_repair repair,
                        int64_t offset)
{
    if (events->repairs[repair]++ == 0 || offset < events->first_repair[repair])
        events->first_repair[repair] = offset;
}

/* --- merging ------------------------------------------------------------ */

/* How numbers of `from` are called in `into`. */
struct renumbering {
    struct tp_events *into;
    const struct tp_events *from;
    uint32_t *texts, *lanes, *inputs, *gpu;
};

/* Of each text of a table its number in one of `into`; NULL when memory ran
 * out. */
static uint32_t *renumber(struct tp_events *into, struct tp_text_table *to,
                          const struct tp_text_table *from)
{
    uint32_t *numbers = calloc(from->count + 1, sizeof *numbers);
    for (size_t i = 1; numbers && i < from->count; i++) {
        numbers[i] = intern(into, to,
                            (struct new_text){from->texts[i], from->lengths[i],
                                           from->hashes[i]});
        if (numbers[i] == TP_NO_DETAIL) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

static bool renumber_texts(struct renumbering *map)
{
    struct tp_events *into = map->into;
    map->texts = renumber(into, &into->texts, &map->from->texts);
    map->inputs = renumber(into, &into->inputs, &map->from->inputs);
    return map->texts && map->inputs;
}

static bool renumber_lanes(struct renumbering *map)
{
    const struct tp_events *from = map->from;
    map->lanes = calloc(from->lane_count + 1, sizeof *map->lanes);
    if (!map->lanes)
        return false;
    for (size_t i = 0; i < from->lane_count; i++) {
        const struct tp_lane *lane = &from->lanes[i];
        uint32_t to = tp_events_lane(map->into, map->texts[lane->pid],
                                     map->texts[lane->tid]);
        if (to == TP_NO_DETAIL)
            return false;
        map->lanes[i] = to;
        struct tp_lane *merged = &map->into->lanes[to];
        if (lane->process_name)
            merged->process_name = map->texts[lane->process_name];
        if (lane->process_labels)
            merged->process_labels = map->texts[lane->process_labels];
        if (lane->thread_name)
            merged->thread_name = map->texts[lane->thread_name];
    }
    return true;
}

static enum tp_status reserve_details(struct renumbering *map,
                                      struct tp_error *err)
{
    struct tp_events *into = map->into;
    const struct tp_events *from = map->from;
    enum tp_status status =
        tp_grow(&into->gpu, &into->gpu_capacity,
                into->gpu_count + from->gpu_count, sizeof *into->gpu, err);
    if (status == TP_OK)
        status = tp_grow(&into->memory, &into->memory_capacity,
                         into->memory_count + from->memory_count,
                         sizeof *into->memory, err);
    if (status == TP_OK)
        status = tp_grow(&into->comms, &into->comm_capacity,
                         into->comm_count + from->comm_count,
                         sizeof *into->comms, err);
    if (status == TP_OK)
        status = tp_grow(&into->syncs, &into->sync_capacity,
                         into->sync_count + from->sync_count,
                         sizeof *into->syncs, err);
    if (status == TP_OK)
        status = tp_grow(&into->op_inputs, &into->op_input_capacity,
                         into->op_input_count + from->op_input_count,
                         sizeof *into->op_inputs, err);
    return status;
}

static void append_comm(struct renumbering *map, const struct tp_comm_detail *c)
{
    struct tp_comm_detail *to = &map->into->comms[map->into->comm_count++];
    *to = *c;
    to->collective = map->texts[c->collective];
    to->dtype = map->texts[c->dtype];
    to->group_name = map->texts[c->group_name];
    to->group_ranks = map->texts[c->group_ranks];
    to->comms_id = map->texts[c->comms_id];
}

static void append_details(struct renumbering *map)
{
    struct tp_events *into = map->into;
    const struct tp_events *from = map->from;
    for (size_t i = 0; i < from->memory_count; i++)
        into->memory[into->memory_count + i] = from->memory[i];
    for (size_t i = 0; i < from->sync_count; i++) {
        struct tp_sync_detail *to = &into->syncs[into->sync_count + i];
        *to = from->syncs[i];
        to->kind = map->texts[to->kind];
    }
    for (size_t i = 0; i < from->comm_count; i++)
        append_comm(map, &from->comms[i]);
    into->memory_count += from->memory_count;
    into->sync_count += from->sync_count;
    into->callers |= from->callers;
}

/* Adds the rows of device work; before those of collectives. */
static bool renumber_gpu(struct renumbering *map)
{
    const struct tp_events *from = map->from;
    struct tp_events *into = map->into;
    const struct tp_gpu_rows rows = {into->gpu, &into->gpu_count,
                                     &into->gpu_recent};
    map->gpu = malloc((from->gpu_count + 1) * sizeof *map->gpu);
    for (size_t i = 0; map->gpu && i < from->gpu_count; i++) {
        struct tp_gpu_detail gpu = from->gpu[i];
        if (gpu.comm != TP_NO_DETAIL)
            gpu.comm += (uint32_t)into->comm_count;
        map->gpu[i] = tp_gpu_rows_add(&rows, &gpu);
    }
    return map->gpu;
}

static bool is_gpu(uint8_t category)
{
    return category == TP_EVENT_KERNEL || category == TP_EVENT_MEMCPY ||
           category == TP_EVENT_MEMSET;
}

/* Where the detail rows of a category that come next will start. */
static uint32_t detail_base(const struct tp_events *events, uint8_t category)
{
    switch (category) {
    case TP_EVENT_MEMORY:
        return (uint32_t)events->memory_count;
    case TP_EVENT_SYNC:
        return (uint32_t)events->sync_count;
    default:
        return (uint32_t)events->comm_count;
    }
}

static uint32_t renumber_detail(const struct renumbering *map,
                                const uint32_t *bases, size_t event)
{
    const uint32_t detail = map->from->detail[event];
    const uint8_t category = map->from->category[event];
    if (detail == TP_NO_DETAIL)
        return TP_NO_DETAIL;
    return is_gpu(category) ? map->gpu[detail] : detail + bases[category];
}

/* Before the details are appended. */
static void append_columns(struct renumbering *map)
{
    struct tp_events *into = map->into;
    const struct tp_events *from = map->from;
    uint32_t bases[TP_EVENT_CATEGORIES];
    for (uint8_t i = 0; i < TP_EVENT_CATEGORIES; i++)
        bases[i] = detail_base(into, i);
    size_t at = into->count, count = from->count;
    for (size_t i = 0; i < from->op_input_count; i++) {
        struct tp_op_inputs *row = &into->op_inputs[into->op_input_count++];
        *row = from->op_inputs[i];
        row->event += (uint32_t)at;
        row->inputs = map->inputs[row->inputs];
        row->stack = map->inputs[row->stack];
    }
    if (count == 0)
        return;
    memcpy(into->start + at, from->start, count * sizeof *into->start);
    memcpy(into->duration + at, from->duration, count * sizeof *into->duration);
    memcpy(into->correlation + at, from->correlation,
           count * sizeof *into->correlation);
    memcpy(into->category + at, from->category, count);
    for (size_t i = 0; i < count; i++) {
        into->name[at + i] = map->texts[from->name[i]];
        into->lane[at + i] = map->lanes[from->lane[i]];
        into->detail[at + i] = renumber_detail(map, bases, i);
    }
    into->count += count;
}

static void merge_repairs(struct tp_events *into, const struct tp_events *from)
{
    for (int i = 0; i < TP_REPAIRS; i++) {
        if (from->repairs[i] == 0)
            continue;
        tp_events_repaired(into, (enum tp_repair)i, from->first_repair[i]);
        into->repairs[i] += from->repairs[i] - 1;
    }
    for (int i = 0; i < TP_EVENT_CATEGORIES; i++) {
        into->untimed[i] += from->untimed[i];
        into->zeroed[i] += from->zeroed[i];
    }
    into->seen += from->seen;
    into->begins += from->begins;
    into->added += from->added;
}

enum tp_status tp_events_merge(struct tp_events *into,
                               const struct tp_events *from,
                               struct tp_error *err)
{
    struct renumbering map = {.into = into, .from = from};
    enum tp_status status = tp_events_reserve(into, from->count, err);
    if (status == TP_OK)
        status = reserve_details(&map, err);
    if (status == TP_OK && (!renumber_texts(&map) || !renumber_lanes(&map) ||
                            !renumber_gpu(&map)))
        status = tp_fail_memory(err);
    if (status == TP_OK) {
        append_columns(&map);
        append_details(&map);
        merge_repairs(into, from);
    }
    free(map.texts);
    free(map.inputs);
    free(map.lanes);
    free(map.gpu);
    return status;
}

/* --- the end ------------------------------------------------------------ */

void tp_events_drop_correlation(struct tp_events *events)
{
    free(events->correlation);
    events->correlation = NULL;
}

static void shrink(void *array, size_t count, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *smaller = old && count ? realloc(old, count * size) : NULL;
    if (smaller)
        memcpy(array, &smaller, sizeof smaller);
}

/* The same of an array that has its own capacity. */
static void shrink_details(void *array, size_t *capacity, size_t count,
                           size_t size)
{
    shrink(array, count, size);
    *capacity = count ? count : *capacity;
}

void tp_events_shrink(struct tp_events *events)
{
    struct column columns[COLUMNS];
    if (events->count == 0)
        return;
    list_columns(events, columns);
    for (int i = 0; i < COLUMNS; i++)
        shrink(columns[i].array, events->count, columns[i].size);
    events->capacity = events->count;
    shrink_details(&events->gpu, &events->gpu_capacity, events->gpu_count,
                   sizeof *events->gpu);
    shrink_details(&events->memory, &events->memory_capacity,
                   events->memory_count, sizeof *events->memory);
    shrink_details(&events->comms, &events->comm_capacity, events->comm_count,
                   sizeof *events->comms);
    shrink_details(&events->op_inputs, &events->op_input_capacity,
                   events->op_input_count, sizeof *events->op_inputs);
}

/* A table without texts that keeps its memory. */
static struct tp_text_table empty_texts(struct tp_text_table table)
{
    table.count = 0;
    if (table.slots)
        memset(table.slots, 0, table.slot_count * sizeof *table.slots);
    return table;
}

static void free_texts(struct tp_text_table *table)
{
    free(table->texts);
    free(table->lengths);
    free(table->hashes);
    free(table->slots);
}

void tp_events_reset(struct tp_events *events)
{
    struct tp_events old = *events;
    memset(events, 0, sizeof *events);
    tp_arena_reset(&old.arena);
    events->arena = old.arena;
    struct column to[COLUMNS], from[COLUMNS];
    list_columns(events, to);
    list_columns(&old, from);
    for (int i = 0; i < COLUMNS; i++)
        memcpy(to[i].array, from[i].array, sizeof(void *));
    events->capacity = old.capacity;
    events->texts = empty_texts(old.texts);
    events->inputs = empty_texts(old.inputs);
    events->joined = old.joined;
    events->joined_capacity = old.joined_capacity;
    events->lanes = old.lanes;
    events->lane_capacity = old.lane_capacity;
    events->lane_slots = old.lane_slots;
    events->lane_slot_count = old.lane_slot_count;
    if (events->lane_slots)
        memset(events->lane_slots, 0,
               events->lane_slot_count * sizeof *events->lane_slots);
    events->gpu = old.gpu;
    events->gpu_capacity = old.gpu_capacity;
    free(old.gpu_recent);
    events->memory = old.memory;
    events->memory_capacity = old.memory_capacity;
    events->comms = old.comms;
    events->comm_capacity = old.comm_capacity;
    events->syncs = old.syncs;
    events->sync_capacity = old.sync_capacity;
    events->op_inputs = old.op_inputs;
    events->op_input_capacity = old.op_input_capacity;
    events->devices = old.devices;
    events->device_capacity = old.device_capacity;
}

void tp_events_clear(struct tp_events *events)
{
    struct column columns[COLUMNS];
    list_columns(events, columns);
    for (int i = 0; i < COLUMNS; i++) {
        void *array;
        memcpy(&array, columns[i].array, sizeof array);
        free(array);
    }
    free_texts(&events->texts);
    free_texts(&events->inputs);
    free(events->joined);
    free(events->lanes);
    free(events->lane_slots);
    free(events->gpu);
    free(events->gpu_recent);
    free(events->memory);
    free(events->comms);
    free(events->syncs);
    free(events->op_inputs);
    free(events->devices);
    tp_arena_clear(&events->arena);
    memset(events, 0, sizeof *events);
}
