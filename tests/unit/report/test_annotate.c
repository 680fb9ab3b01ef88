/* SPDX-License-Identifier: MIT */
/* Annotated traces, read back: by this program's own reader, which must find
 * the events of the original and no others, and as JSON, whose tracks must be
 * what the tables say. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "report/annotate.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/support/json.h"
#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_bytes.h"
#include "trace/trace_facts.h"
#include "trace/trace_path.h"
#include "trace/trace_track_rows.h"

static char folder[] = "/tmp/tp_annotate_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[2][4096];
    static int which;
    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", folder, name);
    return path[which];
}

static void make_folder(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
    unlink(in_folder("in.json"));
    unlink(in_folder("out.json"));
    unlink(in_folder("out.json.gz"));
    cr_expect_eq(rmdir(folder), 0); /* nothing aside is left */
}

static void collect(struct judged_run *it, const char *root)
{
    const struct tp_trace_options options = {
        .roots = &root, .root_count = 1, .annotated = true};
    struct tp_pool *pool = trace_pool(2);
    struct tp_error err = {0};
    memset(it, 0, sizeof *it);
    cr_assert_eq(tp_trace_collect(pool, &options, &it->run, &err), TP_OK, "%s",
                 err.message);
    tp_pool_free(pool);
    judged_run_finish(it);
}

static struct tp_events read_file(const char *path)
{
    struct tp_events events = {.count = 0};
    struct tp_pool *pool = trace_pool(1);
    struct tp_error err = {0};
    cr_assert_eq(tp_trace_read(path, pool, NULL, &events, &err), TP_OK,
                 "%s: %s", path, err.message);
    tp_pool_free(pool);
    return events;
}

static bool is_ours(const struct json *event)
{
    const struct json *category = json_get(event, "cat");
    return category && category->kind == JSON_STRING &&
           !strcmp(category->text, TP_EVENT_ADDED);
}

static const struct json *events_of(const struct json *root)
{
    return root->kind == JSON_ARRAY ? root : json_get(root, "traceEvents");
}

/* ns of a time of ours, which has three decimals. */
static int64_t ns_of(const struct json *event, const char *key)
{
    const struct json *value = json_get(event, key);
    cr_assert(value && value->kind == JSON_NUMBER, "no %s", key);
    const char *point = strchr(value->text, '.');
    cr_assert(point && strlen(point) == 4, "%s", value->text);
    const int64_t whole = strtoll(value->text, NULL, 10);
    const int64_t rest = strtoll(point + 1, NULL, 10);
    return whole * 1000 + (value->text[0] == '-' ? -rest : rest);
}

static bool is_phase(const struct json *event, const char *phase)
{
    return !strcmp(json_get(event, "ph")->text, phase);
}

/* Where a slice of ours ends: what is next in the file says it. */
static int64_t length_of(const struct json *slice)
{
    const struct json *end = slice->next;
    cr_assert(end && is_ours(end) && is_phase(end, "E") &&
              json_get(end, "tid")->number == json_get(slice, "tid")->number);
    return ns_of(end, "ts") - ns_of(slice, "ts");
}

/* The name of the row that a slice of ours is on. */
static const char *row_of(const struct json *events, const struct json *slice)
{
    for (const struct json *e = events->first; e; e = e->next) {
        if (is_ours(e) && is_phase(e, "M") &&
            !strcmp(json_get(e, "name")->text, "thread_name") &&
            json_get(e, "tid")->number == json_get(slice, "tid")->number)
            return json_get(json_get(e, "args"), "name")->text;
    }
    cr_expect_fail("a row without a name");
    return "";
}

static void check_idle(const struct tp_trace *trace, const struct json *events)
{
    const struct tp_idle_row *idle = &trace->idle;
    const struct {
        const char *name; /* in words, not as the column is called */
        double share;
    } causes[TP_IDLE_CAUSES] = {
        {"work pending", idle->queued},
        {"driver allocations", idle->alloc},
        {"DataLoader", idle->dataloader},
        {"blocking calls", idle->blocking},
        {"launch calls", idle->launch},
        {"operators on the host", idle->cpu_op},
        {"nothing recorded but Python", idle->none},
    };
    int64_t sums[TP_IDLE_CAUSES] = {0}, all = 0, last = INT64_MIN;
    for (const struct json *e = events->first; e; e = e->next) {
        const bool begins = is_phase(e, "B");
        if (!is_ours(e) || (!begins && !is_phase(e, "i")) ||
            strncmp(row_of(events, e), "GPU idle", 8) != 0)
            continue;
        const int64_t from = ns_of(e, "ts");
        const int64_t ns =
            begins ? length_of(e) : ns_of(json_get(e, "args"), "us");
        cr_expect(from >= last && ns > 0);
        last = from + ns;
        int why = 0;
        while (strcmp(causes[why].name, json_get(e, "name")->text))
            cr_assert_lt(++why, TP_IDLE_CAUSES);
        sums[why] += ns;
        all += ns;
    }
    for (int i = 0; i < TP_IDLE_CAUSES; i++)
        cr_expect_float_eq((double)sums[i],
                           causes[i].share * 1e3 * idle->window_us, 0.5, "%s",
                           causes[i].name);
    cr_expect_float_eq((double)all, (1 - idle->busy) * 1e3 * idle->window_us,
                       0.5);
    cr_expect_gt(all, 0);
}

static void check_steps(const struct tp_trace *trace, const struct json *events)
{
    size_t steps = 0;
    for (const struct json *e = events->first; e; e = e->next) {
        if (!is_ours(e) || !is_phase(e, "B") ||
            strcmp(row_of(events, e), "verdict by step") != 0)
            continue;
        cr_assert_lt(steps, trace->steps.count);
        const struct tp_step_row *row = &trace->steps.rows[steps++];
        cr_expect_eq(json_get(json_get(e, "args"), "step")->number,
                     (double)row->step);
        cr_expect_float_eq((double)length_of(e), 1e3 * row->host_us, 0.5);
    }
    cr_expect_eq(steps, trace->steps.count);
}

/* Edges of the paths, by what they are spent on. */
static void check_path(const struct tp_trace *trace, const struct json *events)
{
    double sums[TP_PATH_KINDS] = {0};
    for (const struct json *e = events->first; e; e = e->next) {
        const struct json *args = json_get(e, "args");
        const struct json *on = args ? json_get(args, "spent on") : NULL;
        if (!is_ours(e) || !on)
            continue;
        const int64_t ns = json_get(args, "us") ? ns_of(args, "us")
                                                : length_of(e);
        for (int i = 0; i < TP_PATH_KINDS; i++)
            sums[i] += strcmp(tp_path_kind_name(i), on->text) ? 0 : (double)ns;
    }
    for (size_t i = 0; i < trace->paths.count; i++) {
        const struct tp_path_row *row = &trace->paths.rows[i];
        if (row->step >= 0)
            sums[row->spent_on] -= 1e3 * row->total_us;
    }
    for (int i = 0; i < TP_PATH_KINDS; i++)
        cr_expect_float_eq(sums[i], 0, 1, "%s", tp_path_kind_name(i));
}

/* The mean of the counter over the window. */
static void check_queue(const struct tp_trace *trace, const struct json *events)
{
    const int64_t from = trace->facts.from_ns, to = trace->facts.to_ns;
    int64_t at = from;
    double level = 0, sum = 0;
    for (const struct json *e = events->first; e; e = e->next) {
        if (!is_ours(e) || !is_phase(e, "C") ||
            strcmp(json_get(e, "name")->text, "queue length") != 0)
            continue;
        int64_t now = ns_of(e, "ts");
        now = now < from ? from : now > to ? to : now;
        sum += level * (double)(now - at);
        at = now;
        level = json_get(json_get(e, "args"), "launches")->number;
    }
    cr_expect_eq(level, 0);
    cr_expect_float_eq(sum / (double)(to - from), trace->mean_queue, 1e-9);
}

static double waits_us(const struct json *events)
{
    double sum = 0;
    for (const struct json *e = events->first; e; e = e->next) {
        if (is_ours(e) && is_phase(e, "B") &&
            !strncmp(row_of(events, e), "waits for", 9))
            sum += (double)length_of(e) / 1e3;
    }
    return sum;
}

static void annotate(const struct judged_run *it, size_t trace, const char *to)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_annotate(&it->run, &it->judged, trace, to, NULL, &err),
                 TP_OK, "%s", err.message);
}

/* Whether both files hold the same events for our reader. */
static void check_same(const char *original, const char *annotated)
{
    struct tp_events a = read_file(original), b = read_file(annotated);
    trace_assert_same(&a, &b);
    cr_expect_eq(a.added, 0);
    cr_expect_gt(b.added, 0);
    tp_events_clear(&a);
    tp_events_clear(&b);
}

Test(annotate, tracks_of_ranks_are_their_tables)
{
    struct judged_run it;
    char root[4096];
    double waits = 0;
    trace_path("own/ranks", root, sizeof root);
    collect(&it, root);
    make_folder();
    cr_assert_eq(it.run.trace_count, 4);
    for (size_t i = 0; i < it.run.trace_count; i++) {
        const struct tp_trace *trace = &it.run.traces[i];
        annotate(&it, i, in_folder("out.json"));
        check_same(trace->path, in_folder("out.json"));
        struct json *root_of = json_read(in_folder("out.json"));
        const struct json *events = events_of(root_of);
        check_idle(trace, events);
        check_steps(trace, events);
        check_path(trace, events);
        check_queue(trace, events);
        const double own = waits_us(events), table =
            it.judged.ranks.rows[i].wait_us;
        cr_expect_float_eq(own, isnan(table) ? 0 : table, 1e-3);
        waits += own;
        json_free(root_of);
    }
    cr_expect_gt(waits, 0);
    remove_folder();
    judged_run_clear(&it);
}

Test(annotate, packed_it_is_the_same_and_refused_a_second_time)
{
    struct judged_run it, again;
    struct tp_error err = {0};
    char root[4096];
    trace_path("own/train.json.gz", root, sizeof root);
    collect(&it, root);
    make_folder();
    annotate(&it, 0, in_folder("out.json.gz"));
    check_same(root, in_folder("out.json.gz"));
    collect(&again, in_folder("out.json.gz"));
    cr_expect_eq(tp_annotate(&again.run, &again.judged, 0,
                             in_folder("out.json"), NULL, &err),
                 TP_E_USAGE);
    cr_expect(strstr(err.message, "earlier --annotate"), "%s", err.message);
    cr_expect_str_eq(it.judged.verdict.sentence, again.judged.verdict.sentence);
    remove_folder();
    judged_run_clear(&again);
    judged_run_clear(&it);
}

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(text, 1, length, file) == length);
    cr_assert_eq(fclose(file), 0);
}

/* Names that JSON, HTML and terminals mind, a pid that is a word, times below
 * 0 and with nanoseconds, a pid where ours would be. */
static const char odd[] =
    "{\"schemaVersion\": 1,\n \"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\","
    "\"pid\":\"a \\\"b\\\"\",\"tid\":\"x\\\\y\",\"ts\":-10.5,\"dur\":100.25},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::</script>\\u202e\\n\","
    "\"pid\":\"a \\\"b\\\"\",\"tid\":\"x\\\\y\",\"ts\":-8,\"dur\":30.125},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
    "\"pid\":\"a \\\"b\\\"\",\"tid\":\"x\\\\y\",\"ts\":-0.375,\"dur\":4,"
    "\"args\":{\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void <\\\"k\\\">\\t\","
    "\"pid\":4194305,\"tid\":7,\"ts\":5.001,\"dur\":60,"
    "\"args\":{\"stream\":7,\"device\":0,\"correlation\":1}}\n"
    "],\n\"displayTimeUnit\": \"ms\"}\n";

Test(annotate, odd_names_and_times)
{
    struct judged_run it;
    make_folder();
    write_text(in_folder("in.json"), odd, sizeof odd - 1);
    collect(&it, in_folder("in.json"));
    annotate(&it, 0, in_folder("out.json"));
    check_same(in_folder("in.json"), in_folder("out.json"));
    struct json *root = json_read(in_folder("out.json"));
    const struct json *events = events_of(root);
    bool begun = false;
    for (const struct json *e = events->first; e; e = e->next) {
        if (!is_ours(e))
            continue;
        if (is_phase(e, "s")) {
            begun = true;
            cr_expect_str_eq(json_get(e, "pid")->text, "a \"b\"");
            cr_expect_str_eq(json_get(e, "tid")->text, "x\\y");
            cr_expect_eq(ns_of(e, "ts"), -375);
        } else if (is_phase(e, "f")) {
            cr_expect_eq(json_get(e, "pid")->number, 4194305);
            cr_expect_eq(ns_of(e, "ts"), 5001);
        } else {
            cr_expect_eq(json_get(e, "pid")->number, 4194306);
        }
    }
    cr_expect(begun);
    check_idle(&it.run.traces[0], events);
    json_free(root);
    remove_folder();
    judged_run_clear(&it);
}

/* Wherever it is cut among its events: what is left is JSON again. */
Test(annotate, a_trace_cut_off_is_closed)
{
    const char *array = strstr(odd, "[\n"), *end = strstr(odd, "\n]");
    const char *first = strstr(odd, "},\n") + 1;
    make_folder();
    for (const char *cut = first; cut <= end; cut += 7) {
        struct judged_run it;
        write_text(in_folder("in.json"), odd, (size_t)(cut - odd));
        collect(&it, in_folder("in.json"));
        annotate(&it, 0, in_folder("out.json"));
        check_same(in_folder("in.json"), in_folder("out.json"));
        json_free(json_read(in_folder("out.json")));
        judged_run_clear(&it);
        write_text(in_folder("in.json"), array, (size_t)(cut - array));
        collect(&it, in_folder("in.json"));
        annotate(&it, 0, in_folder("out.json"));
        struct json *root = json_read(in_folder("out.json"));
        cr_expect_eq(root->kind, JSON_ARRAY);
        json_free(root);
        judged_run_clear(&it);
    }
    remove_folder();
}

/* Behind its events it is cut as it likes: whole members stay. */
Test(annotate, a_trace_cut_off_behind_its_events_is_closed)
{
    static const char more[] =
        ", \"a\": [1, {\"b,\": \"x\\\"}, y\"}], \"c\": \"d,e\"}";
    const char *end = strrchr(odd, ',');
    char text[sizeof odd + sizeof more];
    const size_t before = (size_t)(end - odd);
    make_folder();
    memcpy(text, odd, before);
    strcpy(text + before, more);
    for (size_t cut = 0; cut < sizeof more; cut++) {
        struct judged_run it;
        write_text(in_folder("in.json"), text, before + cut);
        collect(&it, in_folder("in.json"));
        annotate(&it, 0, in_folder("out.json"));
        check_same(in_folder("in.json"), in_folder("out.json"));
        struct json *root = json_read(in_folder("out.json"));
        cr_expect_not_null(json_get(root, "traceEvents"));
        cr_expect_eq(json_get(root, "a") != NULL,
                     cut > (size_t)(strstr(more, ", \"c") - more), "%zu", cut);
        cr_expect_eq(json_get(root, "c") != NULL, cut == sizeof more - 1);
        json_free(root);
        judged_run_clear(&it);
    }
    remove_folder();
}

/* What stands in front of its events does not end, either. */
Test(annotate, a_trace_cut_off_amid_what_holds_its_events_is_closed)
{
    static const char head[] =
        "{\"v\": 1, \"devices\": [{\"id\": 0, \"of\": {\"[\": [1, 2]}, ";
    static const char more[] = ", \"c\": {\"d\": 1}}, {\"id\": 1, \"e\": [";
    const char *end = strrchr(odd, ','), *key = strstr(odd, "\"traceEvents\"");
    char text[sizeof head + sizeof odd + sizeof more];
    const size_t events = (size_t)(end - key), before = sizeof head - 1;
    make_folder();
    memcpy(text, head, before);
    memcpy(text + before, key, events);
    strcpy(text + before + events, more);
    for (size_t cut = 0; cut < 100 + sizeof more; cut++) {
        struct judged_run it;
        write_text(in_folder("in.json"), text, strlen(text) - cut);
        collect(&it, in_folder("in.json"));
        annotate(&it, 0, in_folder("out.json"));
        check_same(in_folder("in.json"), in_folder("out.json"));
        struct json *root = json_read(in_folder("out.json"));
        cr_expect_not_null(json_get(root, "devices"), "%zu", cut);
        json_free(root);
        judged_run_clear(&it);
    }
    remove_folder();
}

/* More brackets close behind its events than are open. */
Test(annotate, a_trace_with_too_many_ends_stays_as_it_is)
{
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\","
        "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]}},\"a\":{\"b\":{";
    make_folder();
    for (size_t cut = 0; cut < 16; cut++) {
        struct judged_run it;
        struct tp_error err = {0};
        write_text(in_folder("in.json"), text, sizeof text - 1 - cut);
        collect(&it, in_folder("in.json"));
        if (it.run.trace_count == 0)
            cr_expect_geq(cut, 13); /* no object ends any more */
        else if (tp_annotate(&it.run, &it.judged, 0, in_folder("out.json"),
                             NULL, &err) == TP_OK)
            check_same(in_folder("in.json"), in_folder("out.json"));
        else
            cr_expect_neq(err.message[0], '\0');
        judged_run_clear(&it);
    }
    remove_folder();
}

/* Quotes and brackets that do not match: with tracks behind them, the reader
 * would find other events than without. */
Test(annotate, a_trace_whose_events_cannot_be_told_apart_is_refused)
{
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"\":\"\",\"ts\":5,"
        "\"dur\":0}{\"\":0,\"\":[{\"\"\"\"{\"\"\"\"}},{\"ph\":\"M\",\"\":\"\"}";
    struct judged_run it;
    struct tp_error err = {0};
    make_folder();
    write_text(in_folder("in.json"), text, sizeof text - 1);
    collect(&it, in_folder("in.json"));
    cr_expect_eq(tp_annotate(&it.run, &it.judged, 0, in_folder("out.json"),
                             NULL, &err),
                 TP_E_DAMAGED);
    cr_expect(strstr(err.message, "cannot be told"), "%s", err.message);
    cr_expect_neq(access(in_folder("out.json"), F_OK), 0);
    remove_folder();
    judged_run_clear(&it);
}

Test(annotate, a_trace_that_changed_is_refused)
{
    struct judged_run it;
    struct tp_error err = {0};
    make_folder();
    write_text(in_folder("in.json"), odd, sizeof odd - 1);
    collect(&it, in_folder("in.json"));
    write_text(in_folder("in.json"), odd, sizeof odd - 40);
    cr_expect_eq(tp_annotate(&it.run, &it.judged, 0, in_folder("out.json"),
                             NULL, &err),
                 TP_E_IO);
    cr_expect(strstr(err.message, "no longer what was read"), "%s",
              err.message);
    cr_expect_neq(access(in_folder("out.json"), F_OK), 0);
    remove_folder();
    judged_run_clear(&it);
}

/* --- every trace that tests have ------------------------------------------ */

/* What is open on a row of ours, or was last on a counter. */
struct lane {
    const char *name; /* of a counter; NULL: of a row                       */
    double tid;
    int64_t last, seen; /* ns; ns as Perfetto has it                        */
    bool open, named;
};

struct lanes {
    struct lane rows[64];
    size_t count;
};

static struct lane *lane_of(struct lanes *lanes, const char *name, double tid)
{
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->rows[i];
        if (name ? lane->name && !strcmp(lane->name, name)
                 : !lane->name && lane->tid == tid)
            return lane;
    }
    cr_assert_lt(lanes->count, sizeof lanes->rows / sizeof *lanes->rows);
    lanes->rows[lanes->count] =
        (struct lane){.name = name, .tid = tid, .last = INT64_MIN};
    return &lanes->rows[lanes->count++];
}

/* Slices of a row end before the next begins; counters go on in time. */
static void check_event(struct lanes *lanes, const struct json *e)
{
    const bool begins = is_phase(e, "B"), ends = is_phase(e, "E");
    if (is_phase(e, "M")) {
        if (!strcmp(json_get(e, "name")->text, "thread_name"))
            lane_of(lanes, NULL, json_get(e, "tid")->number)->named = true;
        return;
    }
    const int64_t at = ns_of(e, "ts");
    if (is_phase(e, "C")) {
        struct lane *counter = lane_of(lanes, json_get(e, "name")->text, 0);
        cr_expect_gt(at, counter->last, "a counter goes back");
        counter->last = at;
        return;
    }
    struct lane *row = lane_of(lanes, NULL, json_get(e, "tid")->number);
    cr_expect(begins || ends || is_phase(e, "i"));
    cr_expect(row->named, "a row has a name before its slices");
    cr_expect(ends == row->open || is_phase(e, "i"), "slices in each other");
    cr_expect_geq(at, row->last, "slices go back");
    const int64_t seen = (int64_t)(json_get(e, "ts")->number * 1000);
    cr_expect(!ends || seen > row->seen, "a slice lasts");
    row->seen = seen;
    row->open = is_phase(e, "i") ? row->open : begins;
    row->last = at;
}

static bool has_same(const char *key, const struct json *e,
                     const struct json *f)
{
    const struct json *a = json_get(e, key), *b = json_get(f, key);
    return a && b && a->text && b->text && !strcmp(a->text, b->text);
}

/* When the slice began that an end of an arrow lies in, us. */
static double begin_around(const struct json *events, const struct json *arrow)
{
    const double at = json_get(arrow, "ts")->number;
    double begin = -INFINITY;
    for (const struct json *e = events->first; e; e = e->next) {
        const struct json *ts = json_get(e, "ts"), *us = json_get(e, "dur");
        if (!is_ours(e) && ts && us && ts->number <= at &&
            ts->number + us->number >= at && ts->number > begin &&
            has_same("pid", e, arrow) && has_same("tid", e, arrow))
            begin = ts->number;
    }
    return begin;
}

/* An arrow has two ends, in slices that begin in that order: Perfetto turns
 * others round. */
static void check_arrow(const struct json *events, const struct json *e,
                        const struct json **begun)
{
    if (is_phase(e, "s")) {
        cr_expect_null(*begun, "two arrows begin");
        *begun = e;
        return;
    }
    cr_assert(*begun != NULL, "an arrow ends that did not begin");
    cr_expect(has_same("id", *begun, e));
    cr_expect_leq(ns_of(*begun, "ts"), ns_of(e, "ts"));
    cr_expect_str_eq(json_get(e, "bp")->text, "e");
    cr_expect_geq(begin_around(events, e), begin_around(events, *begun) - 0.5,
                  "an arrow goes back");
    *begun = NULL;
}

/* The rules of the trace format, of what was added: the number of slices. */
static size_t check_rules(const struct json *events)
{
    struct lanes lanes = {.count = 0};
    const struct json *begun = NULL, *own = NULL;
    double id = -1;
    size_t slices = 0;
    for (const struct json *e = events->first; e; e = e->next) {
        if (!is_ours(e))
            continue;
        if (is_phase(e, "s") || is_phase(e, "f")) {
            cr_expect(!is_phase(e, "s") || json_get(e, "id")->number > id);
            id = json_get(e, "id")->number;
            check_arrow(events, e, &begun);
            continue;
        }
        own = own ? own : json_get(e, "pid");
        cr_expect_eq(json_get(e, "pid")->number, own->number);
        slices += is_phase(e, "B");
        check_event(&lanes, e);
    }
    cr_expect_null(begun);
    for (size_t i = 0; i < lanes.count; i++)
        cr_expect(!lanes.rows[i].open, "a slice does not end");
    for (const struct json *e = events->first; e && own; e = e->next) {
        const struct json *pid = json_get(e, "pid");
        cr_expect(is_ours(e) || !pid || pid->kind != JSON_NUMBER ||
                  pid->number != own->number);
    }
    return slices;
}

/* Slices whose rows are looked for one by one: of more that takes minutes. */
enum { MANY = 5000 };

/* Annotates a trace alone, and holds what comes against all of the above. */
static size_t check_trace(const char *path)
{
    struct judged_run it;
    collect(&it, path);
    cr_assert_eq(it.run.trace_count, 1, "%s", path);
    annotate(&it, 0, in_folder("out.json"));
    check_same(path, in_folder("out.json"));
    struct json *root = json_read(in_folder("out.json"));
    struct json events = *events_of(root);
    const size_t slices = check_rules(&events);
    while (events.first && !is_ours(events.first))
        events.first = events.first->next; /* which rows are looked for in */
    const struct tp_trace *trace = &it.run.traces[0];
    if (trace->facts.device_events && slices < MANY) {
        if (trace->idle.busy < 1)
            check_idle(trace, &events);
        if (trace->steps.rows[0].step >= 0)
            check_steps(trace, &events); /* without a device there are none */
    }
    json_free(root);
    judged_run_clear(&it);
    return slices;
}

static size_t checked, slices_seen;

static int check_file(const char *path, const struct stat *status, int type,
                      struct FTW *place)
{
    (void)place;
    const bool trace = tp_text_ends_with(path, ".json") ||
                       tp_text_ends_with(path, ".json.gz");
    if (type != FTW_F || !trace || strstr(path, "/expected/"))
        return 0;
    cr_expect_gt(status->st_size, 0);
    slices_seen += check_trace(path);
    checked++;
    return 0;
}

static void check_all(const char *root)
{
    checked = slices_seen = 0;
    make_folder();
    cr_assert_eq(nftw(root, check_file, 16, FTW_PHYS), 0);
    remove_folder();
}

Test(annotate, every_trace_of_ours)
{
    char root[4096];
    testdata_path("traces", root, sizeof root);
    check_all(root);
    cr_expect_geq(checked, 10);
    cr_expect_gt(slices_seen, 100);
}

Test(annotate, every_trace_of_others)
{
    char root[4096];
    shared_path("traces", root, sizeof root);
    if (access(root, F_OK))
        cr_skip("no traces of others at %s", root);
    check_all(root);
    cr_expect_gt(checked, 0);
}
