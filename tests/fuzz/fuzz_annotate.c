/* SPDX-License-Identifier: MIT */
/*
 * A trace with tracks added, whatever the trace is: either none is written, and
 * why is worded, or the reader finds in it the events of the trace and no
 * others. It is JSON where the trace is, to the letter, and where the trace is
 * JSON that ends too early: what is broken elsewhere is copied as it is.
 *
 * Of the first byte the lowest bit says whether the copy is packed.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/trace/trace_reader.h"
#include "fuzz.h"
#include "report/annotate.h"
#include "strict_json.h"
#include "trace/trace_run.h"
#include "verdict/trace_judge.h"

static char folder[4096];
static struct tp_pool *pool;

static void clean(void)
{
    rmdir(folder);
    tp_pool_free(pool);
}

static void prepare(void)
{
    const char *place = getenv("TMPDIR");
    if (pool)
        return;
    fuzz_need(tp_pool_new(1, &pool, NULL) == TP_OK, "a pool");
    snprintf(folder, sizeof folder, "%s/tp_annotate_XXXXXX",
             place ? place : "/tmp");
    fuzz_need(mkdtemp(folder) != NULL, "a folder");
    atexit(clean);
}

static void path_of(const char *name, char path[static 4200])
{
    snprintf(path, 4200, "%s/%s", folder, name);
}

static void write_input(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    fuzz_need(file && fwrite(data, 1, size, file) == size && !fclose(file),
              "a file of the input");
}

/* What a file is, unpacked by zlib's own reader. */
static enum strict_json json_of(const char *path)
{
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    gzFile file = gzopen(path, "rb");
    int got = 0;
    fuzz_need(text && file, "a file to read");
    while ((got = gzread(file, text + used, (unsigned)(room - used))) > 0) {
        used += (size_t)got;
        if (used == room)
            text = realloc(text, room *= 2);
        fuzz_need(text != NULL, "memory");
    }
    gzclose(file);
    const enum strict_json is =
        got < 0 ? STRICT_JSON_BROKEN : strict_json_of(text, used);
    free(text);
    return is;
}

static struct tp_events read_back(const char *path)
{
    struct tp_events events = {.count = 0};
    struct tp_error err = {0};
    fuzz_need(tp_trace_read(path, pool, NULL, &events, &err) == TP_OK,
              "the reader takes it");
    return events;
}

static void compare_event(const struct tp_events *a, const struct tp_events *b,
                          size_t i)
{
    const struct tp_lane *one = &a->lanes[a->lane[i]];
    const struct tp_lane *other = &b->lanes[b->lane[i]];
    fuzz_need(a->start[i] == b->start[i] && a->duration[i] == b->duration[i] &&
                  a->correlation[i] == b->correlation[i] &&
                  a->category[i] == b->category[i] &&
                  a->detail[i] == b->detail[i],
              "the numbers of an event");
    fuzz_need(
        !strcmp(tp_events_get(a, a->name[i]), tp_events_get(b, b->name[i])),
        "the name of an event");
    fuzz_need(!strcmp(tp_events_get(a, one->tid), tp_events_get(b, other->tid)),
              "the thread of an event");
}

static void compare(const char *original, const char *annotated)
{
    struct tp_events a = read_back(original), b = read_back(annotated);
    fuzz_need(json_of(original) == STRICT_JSON_BROKEN ||
                  json_of(annotated) == STRICT_JSON_WHOLE,
              "what was JSON as far as it went is JSON");
    fuzz_need(a.count == b.count && a.lane_count == b.lane_count,
              "as many events");
    fuzz_need(b.added > 0 || a.count == 0, "tracks");
    for (size_t i = 0; i < a.count; i++)
        compare_event(&a, &b, i);
    tp_events_clear(&a);
    tp_events_clear(&b);
}

static void annotate(const struct tp_trace_run *run, const char *original,
                     const char *to)
{
    const struct tp_trace_limits limits = tp_trace_limits_default();
    struct tp_trace_judged judged;
    struct tp_error err = {0};
    memset(&judged, 0, sizeof judged);
    fuzz_need(tp_trace_judge(run, &limits, &judged, &err) == TP_OK,
              "a run is judged");
    const enum tp_status status = tp_annotate(run, &judged, 0, to, NULL, &err);
    fuzz_need(status == TP_OK || *err.message, "why is worded");
    fuzz_need((status == TP_OK) == (access(to, F_OK) == 0),
              "a file if it is good");
    if (status == TP_OK) {
        compare(original, to);
    } else {
        fuzz_need(status == TP_E_USAGE ||
                      (status == TP_E_DAMAGED &&
                       json_of(original) == STRICT_JSON_BROKEN),
                  "only tracks of ours and broken JSON are refused");
    }
    tp_trace_judged_clear(&judged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char in[4200], out[4200];
    const char *const roots[] = {in};
    const struct tp_trace_options options = {
        .roots = roots, .root_count = 1, .annotated = true};
    struct tp_trace_run run = {.trace_count = 0};
    struct tp_error err = {0};
    if (size == 0)
        return 0;
    prepare();
    path_of("in.json", in);
    path_of(data[0] & 1 ? "out.json.gz" : "out.json", out);
    write_input(in, data + 1, size - 1);
    fuzz_need(tp_trace_collect(pool, &options, &run, &err) == TP_OK,
              "a file that cannot be read is told");
    if (run.trace_count == 1)
        annotate(&run, in, out);
    tp_trace_run_clear(&run);
    unlink(in);
    unlink(out);
    return 0;
}
