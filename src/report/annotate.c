/* SPDX-License-Identifier: MIT */
/*
 * A trace is copied with more events at the end of its array, at the byte where
 * the reader met it; so the rest need not be understood a second time, and
 * stays as it is, byte by byte. The file is read again rather than kept: a
 * trace of gigabytes costs one more pass over the disk, and a few hundred KB.
 * Parsing and printing all events anew would lose what this program does not
 * know, and round numbers.
 *
 * zlib packs at level 4: a tenth larger than its default, at twice the speed.
 */
#include "report/annotate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "formats/trace/trace_head.h"
#include "formats/trace/trace_input.h"
#include "formats/trace/trace_reader.h"
#include "report/annotate_tracks.h"

enum { PIECE = 256 << 10 };

/* "T": as it is, without packing. */
static const char packed_mode[] = "wb4", plain_mode[] = "wbT";

struct copy {
    const struct tp_trace *trace;
    const volatile sig_atomic_t *stop;
    struct tp_trace_input input;
    gzFile out;
    const char *to;
    char *buffer;      /* PIECE bytes                                      */
    uint64_t at;       /* byte of the JSON that is read next               */
    bool opens;        /* what was written last asks for no comma          */
    bool added;        /* some tracks were written                         */
    struct tp_text closing; /* what ends what the array stands in            */
};

static enum tp_status put(struct copy *copy, const char *bytes, size_t length,
                          struct tp_error *err)
{
    errno = 0;
    if (length == 0 || gzwrite(copy->out, bytes, (unsigned)length) > 0)
        return TP_OK;
    return tp_fail_errno(err, "cannot write %s", copy->to);
}

static enum tp_status put_text(struct copy *copy, const char *text,
                               struct tp_error *err)
{
    return put(copy, text, strlen(text), err);
}

static void note_last(struct copy *copy, size_t length)
{
    while (length > 0 && tp_json_is_blank(copy->buffer[length - 1]))
        length--;
    if (length > 0)
        copy->opens = copy->buffer[length - 1] == '[' ||
                      copy->buffer[length - 1] == ',';
}

/* Copies up to byte `to`, or to the end; less only where the file ends. */
static enum tp_status pass(struct copy *copy, uint64_t to, struct tp_error *err)
{
    size_t got = 1;
    enum tp_status status = TP_OK;
    while (status == TP_OK && copy->at < to && got > 0) {
        const uint64_t left = to - copy->at;
        if (copy->stop && *copy->stop)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        status = tp_trace_input_read(&copy->input, copy->buffer,
                                     left < PIECE ? (size_t)left : PIECE, &got,
                                     err);
        if (status == TP_OK)
            status = put(copy, copy->buffer, got, err);
        copy->at += got;
        note_last(copy, got);
    }
    return status;
}

static enum tp_status has_changed(const struct copy *copy, struct tp_error *err)
{
    tp_error_in_file(err, copy->trace->path);
    return tp_fail(err, TP_E_IO, (int64_t)copy->at,
                   "it is no longer what was read: it ends, or its events do, "
                   "at another byte");
}

/* Takes events, each with ",\n" behind it, and puts that before them. */
static enum tp_status take(void *context, const struct tp_text *text,
                           struct tp_error *err)
{
    struct copy *copy = context;
    enum tp_status status =
        copy->opens && !copy->added ? TP_OK : put_text(copy, ",\n", err);
    copy->added = true;
    return status == TP_OK ? put(copy, text->data, text->length - 2, err)
                           : status;
}

/* --- in front of the array ---------------------------------------------- */

/* Adds what ends each bracket that is open at the end of a text, the outermost
 * first. */
static void add_closing(const char *text, size_t length,
                        struct tp_text *closing)
{
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            tp_text_add(closing, "%c", c == '{' ? '}' : ']');
        else if (!in_string && (c == '}' || c == ']') && closing->length)
            closing->data[--closing->length] = '\0';
    }
}

/* What has to follow the array where all ends with it: "}", or more, where what
 * stands in front of it did not end, either. */
static enum tp_status find_closing(struct copy *copy, struct tp_error *err)
{
    struct tp_trace_input input;
    struct tp_text text = {0};
    struct tp_trace_head head = {.root = TP_TRACE_ROOT_UNKNOWN};
    enum tp_status status =
        tp_trace_input_open(&input, copy->trace->path, err);
    for (size_t got = 1, next = 0; status == TP_OK && got > 0 && !text.failed &&
                                   head.root == TP_TRACE_ROOT_UNKNOWN;) {
        status = tp_trace_input_read(&input, copy->buffer, PIECE, &got, err);
        tp_text_bytes(&text, copy->buffer, status == TP_OK ? got : 0);
        const bool all = got == 0 || text.length >= TP_LIMIT_TRACE_FACTS;
        if (status != TP_OK || text.failed || (!all && text.length < next))
            continue;
        next = 2 * text.length; /* it is looked at from the beginning */
        head = tp_trace_find_array(text.data, text.length, all);
    }
    tp_trace_input_close(&input);
    if (status == TP_OK && head.root == TP_TRACE_ROOT_OBJECT && !text.failed)
        add_closing(text.data + head.start, head.array - head.start,
                    &copy->closing);
    if (status == TP_OK && (text.failed || copy->closing.failed))
        status = tp_fail_memory(err);
    tp_text_clear(&text);
    return status;
}

/* Ends the first `count` brackets of those in front of the array. */
static enum tp_status put_closing(struct copy *copy, const char *before,
                                  size_t count, struct tp_error *err)
{
    const char *closing = tp_text_get(&copy->closing);
    enum tp_status status = put_text(copy, before, err);
    while (status == TP_OK && count > 0)
        status = put(copy, &closing[--count], 1, err);
    return status == TP_OK ? put_text(copy, "\n", err) : status;
}

/* --- behind the array --------------------------------------------------- */

/* Members that follow the array are held back one by one, as it shows at their
 * end only whether they have one: a file may be cut off there. Where quotes
 * stand as they do not in JSON, nobody can tell, and all stays as it is. */
struct tail {
    struct tp_text held; /* from the comma before the last member on         */
    int open;            /* brackets in front of the array                   */
    int depth;           /* those that are open, less these                  */
    int low;             /* the least depth so far                           */
    int kept;            /* and that where what is held begins               */
    char last;           /* byte that is no blank; '"': a string             */
    bool in_string, escaped;
    bool loose; /* nothing is held                                  */
};

static void step_in_string(struct tail *tail, char c)
{
    tail->in_string = tail->escaped || c != '"';
    tail->escaped = !tail->escaped && c == '\\';
    tail->last = '"';
}

/* One more byte; true: what is held can go. */
static bool step(struct tail *tail, char c)
{
    if (tail->in_string) {
        step_in_string(tail, c);
        return false;
    }
    if (tp_json_is_blank(c))
        return false;
    tail->in_string = c == '"';
    tail->loose |= c == '"' ? !strchr(",:[{", tail->last)
                            : tail->last == '"' && !strchr(",:]}", c);
    tail->last = c;
    tail->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    tail->low = tail->depth < tail->low ? tail->depth : tail->low;
    tail->loose |= tail->depth < -tail->open;
    return c == ',' && tail->depth == tail->low;
}

static enum tp_status let_go(struct copy *copy, struct tail *tail,
                             struct tp_error *err)
{
    if (tail->held.failed)
        return tp_fail_memory(err);
    const size_t length = tail->held.length;
    tail->held.length = 0;
    tail->kept = tail->low;
    return put(copy, tail->held.data, length, err);
}

/* What is longer than what is read of it is no longer held. */
static enum tp_status hold(struct copy *copy, struct tail *tail, size_t length,
                           struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t from = 0;
    for (size_t i = 0; i < length && status == TP_OK; i++) {
        if (!step(tail, copy->buffer[i]))
            continue;
        tp_text_bytes(&tail->held, copy->buffer + from, i - from);
        from = i;
        status = let_go(copy, tail, err);
    }
    tp_text_bytes(&tail->held, copy->buffer + from, length - from);
    return status == TP_OK &&
                   (tail->loose || tail->held.length > TP_LIMIT_TRACE_FACTS)
               ? let_go(copy, tail, err)
               : status;
}

/* All that follows the array, but a member that is cut off. */
static enum tp_status pass_tail(struct copy *copy, struct tp_error *err)
{
    struct tail tail = {.open = (int)copy->closing.length,
                        .last = ']',
                        .loose = copy->trace->events.is_list};
    size_t got = 1;
    enum tp_status status = TP_OK;
    while (status == TP_OK && got > 0) {
        if (copy->stop && *copy->stop)
            status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        else
            status = tp_trace_input_read(&copy->input, copy->buffer, PIECE,
                                         &got, err);
        if (status == TP_OK)
            status = hold(copy, &tail, got, err);
        copy->at += status == TP_OK ? got : 0;
    }
    if (status == TP_OK && !tail.loose && tail.depth > -tail.open)
        status =
            put_closing(copy, "\n", (size_t)(tail.open + tail.kept), err);
    else if (status == TP_OK)
        status = let_go(copy, &tail, err);
    tp_text_clear(&tail.held);
    return status;
}

/* What follows the events: as it is, or in place of what was cut off. */
static enum tp_status pass_end(struct copy *copy, struct tp_error *err)
{
    const struct tp_events *events = &copy->trace->events;
    char first = 0;
    size_t got = 0;
    enum tp_status status =
        tp_trace_input_read(&copy->input, &first, 1, &got, err);
    if (status != TP_OK)
        return status;
    if (got == 0 || first != ']') { /* the array never ended */
        if (events->truncated_at < 0)
            return has_changed(copy, err);
        return put_closing(copy, "\n]", copy->closing.length, err);
    }
    status = put(copy, &first, 1, err);
    copy->at++;
    if (status == TP_OK)
        status = pass_tail(copy, err);
    if (status == TP_OK && copy->at != events->bytes)
        return has_changed(copy, err);
    return status;
}

static enum tp_status copy_all(struct copy *copy,
                               const struct tp_trace_run *run,
                               const struct tp_trace_judged *judged,
                               size_t trace, struct tp_error *err)
{
    const uint64_t end = (uint64_t)copy->trace->events.array_end;
    const struct tp_annotate_sink sink = {take, copy};
    enum tp_status status = pass(copy, end, err);
    if (status == TP_OK && copy->at != end)
        return has_changed(copy, err);
    if (status == TP_OK)
        status = tp_annotate_tracks(run, judged, trace, &sink, err);
    return status == TP_OK ? pass_end(copy, err) : status;
}

/* Opens the file aside. */
static enum tp_status open_out(struct copy *copy, const char *aside,
                               struct tp_error *err)
{
    const bool packed = tp_text_ends_with(copy->to, ".gz");
    const int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return tp_fail_errno(err, "cannot write %s", copy->to);
    copy->out = gzdopen(fd, packed ? packed_mode : plain_mode);
    if (copy->out && gzbuffer(copy->out, PIECE) == 0)
        return TP_OK;
    if (!copy->out)
        close(fd);
    return tp_fail_memory(err);
}

static enum tp_status write_aside(struct copy *copy, const char *aside,
                                  const struct tp_trace_run *run,
                                  const struct tp_trace_judged *judged,
                                  size_t trace, struct tp_error *err)
{
    enum tp_status status = open_out(copy, aside, err);
    if (status == TP_OK && !copy->trace->events.is_list)
        status = find_closing(copy, err);
    if (status == TP_OK)
        status = tp_trace_input_open(&copy->input, copy->trace->path, err);
    if (status == TP_OK)
        status = copy_all(copy, run, judged, trace, err);
    tp_trace_input_close(&copy->input);
    errno = 0;
    if (copy->out && gzclose(copy->out) != Z_OK && status == TP_OK)
        status = tp_fail_errno(err, "cannot write %s", copy->to);
    return status;
}

/* --- read back ---------------------------------------------------------- */

static bool same_event(const struct tp_events *a, const struct tp_events *b,
                       size_t i)
{
    return a->start[i] == b->start[i] && a->duration[i] == b->duration[i] &&
           a->correlation[i] == b->correlation[i] &&
           a->category[i] == b->category[i] && a->lane[i] == b->lane[i] &&
           strcmp(tp_events_get(a, a->name[i]), tp_events_get(b, b->name[i])) ==
               0;
}

static bool same_events(const struct tp_events *a, const struct tp_events *b)
{
    bool same = a->seen == b->seen && a->count == b->count &&
                a->lane_count == b->lane_count && (b->added || !b->count) &&
                b->repairs[TP_REPAIR_DROPPED] <= a->repairs[TP_REPAIR_DROPPED];
    for (size_t i = 0; same && i < a->count; i++)
        same = same_event(a, b, i);
    return same;
}

/* The events of a file; none where none can be read. */
static enum tp_status read_again(const struct copy *copy, const char *path,
                                 struct tp_pool *pool, struct tp_events *events,
                                 struct tp_error *err)
{
    const struct tp_trace_watch watch = {.stop = copy->stop};
    struct tp_error why = {0};
    const enum tp_status status =
        tp_trace_read(path, pool, &watch, events, &why);
    if (status == TP_OK || status == TP_E_DAMAGED ||
        status == TP_E_UNSUPPORTED)
        return TP_OK;
    *err = why;
    return status;
}

static enum tp_status refuse(const struct copy *copy, struct tp_error *err)
{
    const struct tp_events *events = &copy->trace->events;
    const int64_t at = events->repairs[TP_REPAIR_DROPPED]
                           ? events->first_repair[TP_REPAIR_DROPPED]
                           : events->truncated_at;
    tp_error_in_file(err, copy->trace->path);
    return tp_fail(err, TP_E_DAMAGED, at,
                   "where events begin and end cannot be told behind byte "
                   "%" PRId64 ": with tracks, others would be read",
                   at);
}

/* Where events could not be read, or the last was cut off, what follows them
 * has a say in how many brackets and quotes are theirs: such a copy is
 * compared, event by event. */
static enum tp_status read_back(const struct copy *copy, const char *aside,
                                struct tp_error *err)
{
    struct tp_events before = {.count = 0}, after = {.count = 0};
    struct tp_pool *pool = NULL;
    if (copy->trace->events.repairs[TP_REPAIR_DROPPED] == 0 &&
        copy->trace->events.truncated_at < 0)
        return TP_OK;
    enum tp_status status = tp_pool_new(1, &pool, err);
    if (status == TP_OK)
        status = read_again(copy, copy->trace->path, pool, &before, err);
    if (status == TP_OK)
        status = read_again(copy, aside, pool, &after, err);
    if (status == TP_OK && !same_events(&before, &after))
        status = refuse(copy, err);
    tp_events_clear(&before);
    tp_events_clear(&after);
    tp_pool_free(pool);
    return status;
}

enum tp_status tp_annotate(const struct tp_trace_run *run,
                           const struct tp_trace_judged *judged, size_t trace,
                           const char *to, const volatile sig_atomic_t *stop,
                           struct tp_error *err)
{
    struct copy copy = {
        .trace = &run->traces[trace], .stop = stop, .to = to};
    const char *path = copy.trace->path;
    if (copy.trace->events.added > 0)
        return tp_fail(err, TP_E_USAGE, -1,
                       "%s has the tracks of an earlier --annotate; name the "
                       "trace that it was made of",
                       path);
    char *aside = tp_file_aside(to);
    copy.buffer = malloc(PIECE);
    enum tp_status status =
        aside && copy.buffer
            ? write_aside(&copy, aside, run, judged, trace, err)
            : tp_fail_memory(err);
    if (status == TP_OK)
        status = read_back(&copy, aside, err);
    if (status == TP_OK)
        status = tp_file_commit(aside, to, err);
    else if (aside)
        unlink(aside);
    if (status != TP_OK)
        tp_while(err, "annotating %s", path);
    tp_text_clear(&copy.closing);
    free(copy.buffer);
    free(aside);
    return status;
}
