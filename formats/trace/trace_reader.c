/* SPDX-License-Identifier: MIT */
#include "formats/trace/trace_reader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "data/events_finish.h"
#include "formats/trace/trace_foreign.h"
#include "formats/trace/trace_head.h"
#include "formats/trace/trace_input.h"
#include "formats/trace/trace_members.h"
#include "formats/trace/trace_number.h"
#include "formats/trace/trace_piece.h"

/*
 * One trace while it is read. Threads take turns at filling a buffer with the
 * next piece of the file, then parse their pieces at the same time, then take
 * turns, in the order of the file, at adding what they found. So the bytes
 * are inflated while others are parsed, and the order never changes.
 *
 *     '[' piece ',' piece ',' piece ... ']' tail
 *
 * Each buffer begins with the bracket or comma before its piece.
 */
struct reading {
    struct tp_trace_input input;
    struct tp_events *events;
    struct tp_trace_watch watch;
    size_t piece; /* bytes of a piece, about */
    struct tp_trace_key key;
    struct tp_trace_head head;
    struct tp_text head_text; /* of an object: the text before the array */

    pthread_mutex_t filling;  /* guards this block */
    struct tp_text carry;     /* read, but behind the last cut */
    int64_t offset;           /* of carry[0] in the JSON */
    size_t pieces;            /* handed out */
    bool drained;             /* nothing is left to hand out */
    int64_t too_long;         /* where more began than is read; 0: nowhere */

    pthread_mutex_t merging;  /* guards this block */
    pthread_cond_t turn;
    size_t merged;            /* pieces added, in order */
    bool ended;               /* the array of events did */
    struct tp_text tail;      /* what follows the array */
    int64_t tail_offset;
    bool tail_full;           /* more follows than is read */
    bool endless;             /* nothing in it ends the trace */
    enum tp_status status;
    struct tp_error error;

    atomic_bool ended_hint;   /* `ended` for who fills */
    atomic_bool failed;
};

/* A thread's own memory. */
struct worker {
    struct reading *reading;
    struct tp_trace_reader reader;
    struct tp_text buffer; /* separator, piece, padding */
    struct tp_events events;
    int64_t offset;        /* of buffer[0] */
    size_t length;         /* of separator and piece */
    size_t number;         /* of the piece */
    bool last;
};

/* Bytes of a piece: it and what simdjson makes of it stay in the second
 * level cache, and some 1000 events make the turns cheap. */
enum { PIECE_BYTES = 256 << 10 };

static enum tp_status append(struct tp_text *text, const char *bytes,
                             size_t length, struct tp_error *err)
{
    if (length > 0)
        tp_text_bytes(text, bytes, length);
    return text->failed ? tp_fail_memory(err) : TP_OK;
}

/* Reads until `text` has `wanted` bytes or the input ends; leaves room for
 * the padding. */
static enum tp_status read_more(struct reading *reading, struct tp_text *text,
                                size_t wanted, struct tp_error *err)
{
    size_t got = 0, room = text->length > wanted ? text->length : wanted;
    const uint64_t before = reading->input.at;
    enum tp_status status = tp_grow(&text->data, &text->capacity,
                                    room + TP_TRACE_PADDING + 1, 1, err);
    if (status == TP_OK && text->length < wanted)
        status = tp_trace_input_read(&reading->input, text->data + text->length,
                                     wanted - text->length, &got, err);
    text->length += got;
    reading->events->bytes += got;
    if (reading->watch.taken)
        reading->watch.taken(reading->watch.context,
                             reading->input.at - before);
    return status;
}

/* --- pieces ------------------------------------------------------------- */

/* Cuts the buffer behind its last whole event; the rest is carried over to
 * the next one. False when it has no place to cut. */
static bool cut_buffer(struct worker *worker, size_t searched)
{
    struct reading *reading = worker->reading;
    struct tp_text *buffer = &worker->buffer;
    struct tp_trace_cut cut = tp_trace_cut_last(
        buffer->data, searched, buffer->length, &reading->key);
    if (cut.next == 0)
        return false;
    reading->carry.length = 0;
    tp_text_bytes(&reading->carry, buffer->data + cut.comma,
                  buffer->length - cut.comma);
    reading->offset = worker->offset + (int64_t)cut.comma;
    worker->length = cut.end;
    return true;
}

/* Reads on until the buffer can be cut, or ends with the file. */
static enum tp_status fill_to_cut(struct worker *worker, struct tp_error *err)
{
    struct reading *reading = worker->reading;
    struct tp_text *buffer = &worker->buffer;
    size_t searched = 1; /* not the separator */
    for (size_t wanted = reading->piece;; wanted *= 2) {
        enum tp_status status = read_more(reading, buffer, wanted, err);
        worker->length = buffer->length;
        worker->last = reading->input.ended || wanted > TP_LIMIT_TRACE_EVENT;
        reading->drained = worker->last;
        if (worker->last && !reading->input.ended)
            reading->too_long = worker->offset + 1;
        if (status != TP_OK || worker->last || cut_buffer(worker, searched))
            return status;
        if (atomic_load(&reading->ended_hint)) { /* tail: any cut will do */
            reading->carry.length = 0;
            reading->offset = worker->offset + (int64_t)buffer->length;
            return TP_OK;
        }
        /* again where the key may not have been there yet */
        if (buffer->length > 2 * TP_TRACE_KEY_MAX)
            searched = buffer->length - 2 * TP_TRACE_KEY_MAX;
    }
}

/* Fills the buffer with one piece; *done when nothing is left. */
static enum tp_status fill(struct worker *worker, bool *done,
                           struct tp_error *err)
{
    struct reading *reading = worker->reading;
    struct tp_text *buffer = &worker->buffer;
    *done = reading->drained;
    if (*done)
        return TP_OK;
    if (reading->watch.stop && *reading->watch.stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    buffer->length = 0;
    worker->offset = reading->offset;
    worker->number = reading->pieces++;
    enum tp_status status =
        append(buffer, reading->carry.data, reading->carry.length, err);
    if (status == TP_OK)
        status = fill_to_cut(worker, err);
    if (status == TP_OK && (buffer->failed || reading->carry.failed))
        status = tp_fail_memory(err);
    return status;
}

static enum tp_status keep_tail(struct worker *worker, size_t from,
                                struct tp_error *err)
{
    struct reading *reading = worker->reading;
    size_t length = worker->length - from;
    if (!reading->ended)
        reading->tail_offset = worker->offset + (int64_t)from;
    reading->tail_full |= reading->tail.length + length > TP_LIMIT_TRACE_FACTS;
    if (reading->tail_full)
        return TP_OK; /* what comes later is not read */
    return append(&reading->tail, worker->buffer.data + from, length, err);
}

/* Adds a parsed piece, when its turn has come. */
static enum tp_status merge(struct worker *worker, enum tp_trace_end end,
                            size_t at, struct tp_error *err)
{
    struct reading *reading = worker->reading;
    if (reading->ended)
        return keep_tail(worker, 0, err);
    if (end == TP_TRACE_MEMORY)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_events_merge(reading->events, &worker->events, err);
    if (worker->events.array_end > 0)
        reading->events->array_end = worker->events.array_end;
    if (status == TP_OK && end == TP_TRACE_ENDED) {
        status = keep_tail(worker, 1 + at, err);
        reading->ended = true;
        reading->events->array_end = reading->tail_offset - 1;
        atomic_store(&reading->ended_hint, true);
    }
    return status;
}

static void fail(struct reading *reading, enum tp_status status,
                 const struct tp_error *err)
{
    pthread_mutex_lock(&reading->merging);
    if (reading->status == TP_OK) {
        reading->status = status;
        reading->error = *err;
    }
    atomic_store(&reading->failed, true);
    pthread_cond_broadcast(&reading->turn);
    pthread_mutex_unlock(&reading->merging);
}

static enum tp_status take_turn(struct worker *worker, enum tp_trace_end end,
                                size_t at, struct tp_error *err)
{
    struct reading *reading = worker->reading;
    enum tp_status status = TP_OK;
    pthread_mutex_lock(&reading->merging);
    while (reading->merged != worker->number && reading->status == TP_OK)
        pthread_cond_wait(&reading->turn, &reading->merging);
    if (reading->status == TP_OK) {
        status = merge(worker, end, at, err);
        reading->merged++;
        pthread_cond_broadcast(&reading->turn);
    }
    pthread_mutex_unlock(&reading->merging);
    return status;
}

static enum tp_status read_piece(struct worker *worker, bool *done,
                                 struct tp_error *err)
{
    struct reading *reading = worker->reading;
    pthread_mutex_lock(&reading->filling);
    enum tp_status status = fill(worker, done, err);
    pthread_mutex_unlock(&reading->filling);
    if (status != TP_OK || *done)
        return status;
    struct tp_trace_piece piece = {.text = worker->buffer.data + 1,
                                   .length = worker->length - 1,
                                   .offset = worker->offset + 1};
    size_t at = 0;
    tp_events_reset(&worker->events);
    enum tp_trace_end end = TP_TRACE_WHOLE;
    if (!atomic_load(&reading->ended_hint))
        end = tp_trace_read_piece(&worker->reader, &piece, worker->last,
                                  &worker->events, &at);
    return take_turn(worker, end, at, err);
}

/* One job: pieces until there are no more. */
static void work(void *context, size_t index, unsigned number)
{
    struct reading *reading = context;
    struct worker worker = {.reading = reading};
    struct tp_error err = {0};
    enum tp_status status = TP_OK;
    bool done = false;
    (void)index;
    (void)number;
    worker.reader.key = reading->key;
    worker.reader.parser = tp_trace_parser_new(reading->watch.callers);
    if (!worker.reader.parser)
        status = tp_fail_memory(&err);
    while (status == TP_OK && !done && !atomic_load(&reading->failed))
        status = read_piece(&worker, &done, &err);
    if (status != TP_OK)
        fail(reading, status, &err);
    tp_trace_parser_free(worker.reader.parser);
    tp_text_clear(&worker.reader.repaired);
    tp_text_clear(&worker.buffer);
    tp_events_clear(&worker.events);
}

/* --- before the array --------------------------------------------------- */

static enum tp_status no_array(const struct reading *reading,
                               struct tp_error *err)
{
    uint64_t bytes = reading->events->bytes;
    bool whole = reading->input.ended && !reading->input.cut;
    switch (reading->head.root) {
    case TP_TRACE_ROOT_NONE:
        return tp_fail(err, TP_E_DAMAGED, (int64_t)reading->head.start,
                       "not JSON: it begins with neither { nor [");
    case TP_TRACE_ROOT_OTHER:
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "JSON, but no trace of the PyTorch profiler: it has no "
                       "array \"traceEvents\"");
    default:
        if (bytes == reading->head.start && whole)
            return tp_fail(err, TP_E_DAMAGED, 0, "the file is empty");
        if (!reading->input.ended)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "no array \"traceEvents\" in the first %" PRIu64
                           " bytes", bytes);
        return tp_fail(err, TP_E_DAMAGED, (int64_t)bytes,
                       "the file ends at byte %" PRIu64
                       ", before the array \"traceEvents\"", bytes);
    }
}

/* Finds the array and leaves the text from its bracket on in `carry`. */
static enum tp_status open_array(struct reading *reading, struct tp_error *err)
{
    struct tp_text *carry = &reading->carry;
    enum tp_status status = TP_OK;
    for (size_t wanted = reading->piece; status == TP_OK; wanted *= 2) {
        status = read_more(reading, carry, wanted, err);
        bool all = reading->input.ended || wanted >= TP_LIMIT_TRACE_FACTS;
        reading->head = tp_trace_find_array(carry->data, carry->length, all);
        if (all || reading->head.root != TP_TRACE_ROOT_UNKNOWN)
            break;
    }
    if (status != TP_OK)
        return status;
    const struct tp_trace_head *head = &reading->head;
    if (head->root != TP_TRACE_ROOT_LIST && head->root != TP_TRACE_ROOT_OBJECT)
        return no_array(reading, err);
    if (head->root == TP_TRACE_ROOT_OBJECT)
        status = append(&reading->head_text, carry->data + head->start,
                        head->key - head->start, err);
    reading->offset = (int64_t)head->array;
    carry->length -= head->array;
    memmove(carry->data, carry->data + head->array, carry->length);
    reading->key = tp_trace_first_key(carry->data + 1, carry->length - 1);
    return status;
}

/* --- around the array --------------------------------------------------- */

static void count_cut(struct tp_events *events)
{
    tp_events_repaired(events, TP_REPAIR_TRUNCATED, (int64_t)events->bytes);
    events->truncated_at = (int64_t)events->bytes;
}

/* What was not read for what the file is like outside of the trace. */
static void count_outside(const struct reading *reading)
{
    const struct tp_trace_input *input = &reading->input;
    struct tp_events *events = reading->events;
    const int64_t end = (int64_t)events->bytes;
    if (input->bad_checksum)
        tp_events_repaired(events, TP_REPAIR_CHECKSUM, end);
    if (input->bad_length)
        tp_events_repaired(events, TP_REPAIR_LENGTH, end);
    if (input->followed)
        tp_events_repaired(events, TP_REPAIR_FOLLOWED, end);
    if (!reading->ended && reading->too_long)
        tp_events_repaired(events, TP_REPAIR_LIMIT, reading->too_long);
}

/* "{" facts ",": the brace is put back by tp_trace_read_members. */
static enum tp_status read_head(struct reading *reading, struct tp_error *err)
{
    struct tp_trace_members facts = {.text = &reading->head_text,
                                     .offset = (int64_t)reading->head.start};
    return tp_trace_read_members(&facts, reading->events, err);
}

/* Where in what stands behind the array the trace ends. Where damage hides it,
 * all is the trace's. */
static size_t find_trace_end(struct reading *reading)
{
    struct tp_text *tail = &reading->tail;
    const size_t length = tail->length;
    const size_t at = tp_trace_skip(tail->data, 0, length);
    if (reading->events->is_list || at == length)
        return 0;
    if (tail->data[at] != ',')
        return at + (tail->data[at] == '}');
    tail->data[at] = '{';
    const size_t end = tp_trace_value_end(tail->data, at, length);
    const bool hidden =
        end == 0 || (tp_trace_skip(tail->data, end, length) < length &&
                     !tp_trace_is_object(tail->data + at, end - at));
    tail->data[at] = ',';
    reading->endless = end == 0;
    return hidden ? length : end;
}

/* Another list of events among what is said behind the first. */
static void count_second(struct reading *reading)
{
    const struct tp_text *tail = &reading->tail;
    const struct tp_trace_head head =
        tp_trace_find_array(tail->data, tail->length, false);
    if (head.root == TP_TRACE_ROOT_OBJECT)
        tp_events_repaired(reading->events, TP_REPAIR_SECOND,
                           reading->tail_offset + (int64_t)head.key);
}

/* Leaves out what follows the trace, and says so. */
static void drop_rest(struct reading *reading)
{
    struct tp_text *tail = &reading->tail;
    const size_t end = find_trace_end(reading);
    if (tp_trace_skip(tail->data, end, tail->length) == tail->length)
        return;
    tp_events_repaired(reading->events, TP_REPAIR_FOLLOWED,
                       reading->tail_offset + (int64_t)end);
    tail->length = end;
}

/* "," facts "}": the comma becomes the brace. */
static enum tp_status read_tail(struct reading *reading, struct tp_error *err)
{
    struct tp_text *tail = &reading->tail;
    struct tp_trace_members facts = {.text = tail,
                                     .offset = reading->tail_offset};
    size_t length = tail->length;
    while (length > 0 && tp_json_is_blank(tail->data[length - 1]))
        length--;
    if (length == 0 && reading->events->repairs[TP_REPAIR_FOLLOWED])
        return TP_OK;
    const bool too_long = reading->tail_full && reading->endless;
    facts.cut = too_long || length == 0 || tail->data[length - 1] != '}';
    tail->length = facts.cut ? length : length - 1;
    if (too_long)
        tp_events_repaired(reading->events, TP_REPAIR_LIMIT,
                           reading->tail_offset);
    else if (facts.cut)
        count_cut(reading->events);
    size_t at = 0;
    while (at < tail->length && tp_json_is_blank(tail->data[at]))
        at++;
    if (at == tail->length || tail->data[at] != ',')
        return TP_OK;
    memset(tail->data, ' ', at);
    tail->data[at] = '{';
    if (facts.cut) /* which may leave out just that */
        count_second(reading);
    return tp_trace_read_members(&facts, reading->events, err);
}

static enum tp_status read_around(struct reading *reading, struct tp_error *err)
{
    bool object = reading->head.root == TP_TRACE_ROOT_OBJECT;
    reading->events->is_list = !object;
    enum tp_status status = object ? read_head(reading, err) : TP_OK;
    if (!reading->ended && reading->events->array_end == 0)
        reading->events->array_end = (int64_t)reading->events->bytes;
    count_outside(reading);
    if (!reading->ended || reading->input.cut) {
        count_cut(reading->events);
        return status;
    }
    drop_rest(reading);
    return status == TP_OK && object ? read_tail(reading, err) : status;
}

/* --- the whole ---------------------------------------------------------- */

static void events_init(struct tp_events *events)
{
    events->rank = events->world_size = -1;
    events->backend = events->trace_name = "";
    events->truncated_at = -1;
    for (int i = 0; i < TP_REPAIRS; i++)
        events->first_repair[i] = -1;
}

static enum tp_status read_array(struct reading *reading, struct tp_pool *pool,
                                 struct tp_error *err)
{
    pthread_mutex_init(&reading->filling, NULL);
    pthread_mutex_init(&reading->merging, NULL);
    pthread_cond_init(&reading->turn, NULL);
    tp_pool_for(pool, tp_pool_size(pool), work, reading);
    pthread_cond_destroy(&reading->turn);
    pthread_mutex_destroy(&reading->merging);
    pthread_mutex_destroy(&reading->filling);
    if (reading->status != TP_OK && err)
        *err = reading->error;
    return reading->status;
}

/* Linux has no process of a number above 2^22. */
static void find_free_pid(struct tp_events *events)
{
    static const int64_t first = (1 << 22) + 1;
    uint8_t *taken = calloc(events->lane_count + 1, 1);
    events->free_pid = first;
    for (size_t i = 0; taken && i < events->lane_count; i++) {
        const uint32_t text = events->lanes[i].pid;
        if (text >= events->texts.count)
            continue; /* of an event that was left out, without a pid */
        const int64_t pid = tp_digits_value(tp_events_get(events, text),
                                            events->texts.lengths[text]);
        if (pid >= first && pid - first < (int64_t)events->lane_count)
            taken[pid - first] = 1;
    }
    while (taken && taken[events->free_pid - first])
        events->free_pid++;
    events->arena.failed |= !taken;
    free(taken);
}

/* Reads from an input that was opened, and closes it. */
static enum tp_status read_input(struct reading *reading, struct tp_pool *pool,
                                 struct tp_error *err)
{
    events_init(reading->events);
    enum tp_status status = open_array(reading, err);
    if (status == TP_OK)
        status = read_array(reading, pool, err);
    if (status == TP_OK)
        status = read_around(reading, err);
    if (status == TP_OK)
        status = tp_trace_check_kind(reading->events, err);
    find_free_pid(reading->events);
    if (status == TP_OK)
        status = tp_events_finish(reading->events, err);
    tp_text_clear(&reading->carry);
    tp_text_clear(&reading->head_text);
    tp_text_clear(&reading->tail);
    if (status == TP_OK)
        status = tp_bytes_unchanged(&reading->input.bytes, err);
    tp_trace_input_close(&reading->input);
    return status;
}

enum tp_status tp_trace_read(const char *path, struct tp_pool *pool,
                             const struct tp_trace_watch *watch,
                             struct tp_events *events, struct tp_error *err)
{
    struct reading reading = {.events = events, .piece = PIECE_BYTES};
    if (watch)
        reading.watch = *watch;
    enum tp_status status = tp_trace_input_open(&reading.input, path, err);
    if (status == TP_OK)
        status = read_input(&reading, pool, err);
    else
        tp_trace_input_close(&reading.input);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}

enum tp_status tp_trace_read_pieces(const char *data, size_t size,
                                    size_t piece, struct tp_pool *pool,
                                    struct tp_events *events,
                                    struct tp_error *err)
{
    struct reading reading = {.events = events, .piece = piece};
    enum tp_status status =
        tp_trace_input_view(&reading.input, data, size, err);
    if (status == TP_OK)
        return read_input(&reading, pool, err);
    tp_trace_input_close(&reading.input);
    return status;
}

enum tp_status tp_trace_read_memory(const char *data, size_t size,
                                    struct tp_pool *pool,
                                    struct tp_events *events,
                                    struct tp_error *err)
{
    return tp_trace_read_pieces(data, size, PIECE_BYTES, pool, events, err);
}

/* --- names of files ----------------------------------------------------- */

static bool ends_with(const char *path, const char *end, size_t *length)
{
    size_t size = strlen(end);
    if (*length < size || memcmp(path + *length - size, end, size) != 0)
        return false;
    *length -= size;
    return true;
}

bool tp_trace_is_name(const char *path)
{
    size_t length = strlen(path);
    return ends_with(path, ".json", &length) ||
           ends_with(path, ".json.gz", &length) ||
           ends_with(path, ".json.tmp", &length);
}

void tp_trace_name_parts(const char *path, const char **worker, size_t *length,
                         int64_t *span)
{
    const char *name = tp_file_base_name(path);
    size_t size = strlen(name), digits = 0;
    *worker = name;
    *length = 0;
    *span = -1;
    if (!ends_with(name, ".gz", &size))
        ends_with(name, ".tmp", &size);
    if (!ends_with(name, ".pt.trace.json", &size))
        return;
    while (digits < size && name[size - digits - 1] >= '0' &&
           name[size - digits - 1] <= '9')
        digits++;
    bool numbered = digits > 0 && digits < size &&
                    name[size - digits - 1] == '.' &&
                    tp_trace_integer(name + size - digits, digits, span);
    *length = numbered ? size - digits - 1 : size;
}
