/* SPDX-License-Identifier: MIT */
/*
 * The reader on damage: each known defect put into a real trace many times,
 * a real trace cut at many bytes, and files that are none.
 */
#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/trace_bytes.h"

static const char simple[] = "own/long.json.gz";
static const char stacks[] =
    "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz";

/* --- defects in real events --------------------------------------------- */

struct defect {
    const char *what;
    const char *behind; /* inserted behind every such text of an event ... */
    const char *insert;
    enum tp_repair repair;
    unsigned count; /* repairs each */
    const char *name; /* the name of the event afterwards begins with this */
};

/* Where names and arguments begin in the trace that is used. */
#define NAME "\"cat\": \"cpu_op\", \"name\": \""
#define ARGS "\"args\": {"
#define PH "\"ph\": \"X\""

static const struct defect defects[] = {
    {"Windows path", NAME, "C:\\Users\\x ", TP_REPAIR_ESCAPE, 2,
     "C:\\Users\\x "},
    {"half an escape", NAME, "\\u12 ", TP_REPAIR_ESCAPE, 1, "\\u12"},
    {"newline", NAME, "a\nb ", TP_REPAIR_CONTROL, 1, "a\nb"},
    {"control characters", NAME, "\x01\x1f", TP_REPAIR_CONTROL, 2, "\x01"},
    {"two quotes", NAME, "f(\"x\") ", TP_REPAIR_QUOTE, 2, "f(\"x\")"},
    {"one quote", NAME, "5\" ", TP_REPAIR_QUOTE, 1, "5\""},
    {"quotes and brackets", NAME, "\"{[\" ", TP_REPAIR_QUOTE, 2, "\"{[\" "},
    {"list of quotes", NAME, "<\"a\", \"b\"> ", TP_REPAIR_QUOTE, 4,
     "<\"a\", \"b\">"},
    {"not UTF-8", NAME, "\xff\xfe ", TP_REPAIR_UTF8, 2,
     "\xef\xbf\xbd\xef\xbf\xbd"},
    {"half a pair", NAME, "\\ud800 ", TP_REPAIR_UTF8, 1,
     "\xef\xbf\xbd"},
    {"N/A", ARGS, "\"x\": N/A, ", TP_REPAIR_NUMBER, 1, ""},
    {"nan", ARGS, "\"x\": nan, \"y\": NaN, ", TP_REPAIR_NUMBER, 2, ""},
    {"inf", ARGS, "\"x\": inf, \"y\": -inf, ", TP_REPAIR_NUMBER, 2, ""},
    {"Infinity", ARGS, "\"x\": -Infinity, ", TP_REPAIR_NUMBER, 1, ""},
    {"nan in a list", ARGS, "\"grid\": [nan, 1, 1], ", TP_REPAIR_NUMBER, 1,
     ""},
    {"empty value", ARGS, "\"x\": , ", TP_REPAIR_COMMA, 1, ""},
    {"comma too many", PH, ",", TP_REPAIR_COMMA, 1, ""},
    {"key twice", PH, ", \"ph\": \"X\"", TP_REPAIR_DUPLICATE, 1, ""},
};

/* Inserts it behind every `every`-th place of an event; returns how often,
 * and where first. */
static size_t inject(const struct tp_text *text, const struct defect *defect,
                     size_t every, struct tp_text *out, size_t *first)
{
    size_t places = 0, injected = 0;
    const char *from = strstr(text->data, "\"traceEvents\""), *at;
    tp_text_bytes(out, text->data, (size_t)(from - text->data));
    while ((at = strstr(from, NAME)) != NULL) {
        /* the places of an event lie around its name */
        const char *start = at;
        while (*start != '{')
            start--;
        const char *place = strstr(start, defect->behind);
        place += strlen(defect->behind);
        const char *next = place > at ? place : at + 1;
        if (places++ % every == 0) {
            tp_text_bytes(out, from, (size_t)(place - from));
            if (injected == 0)
                *first = out->length;
            tp_text_bytes(out, defect->insert, strlen(defect->insert));
            from = place;
            injected++;
        }
        if (next > from) {
            tp_text_bytes(out, from, (size_t)(next - from));
            from = next;
        }
    }
    tp_text_bytes(out, from, strlen(from));
    return injected;
}

static void check_defect(const struct tp_text *text,
                         const struct tp_events *good,
                         const struct defect *defect, size_t every)
{
    struct tp_text bad = {0};
    struct tp_events events;
    size_t first = 0, named = 0;
    size_t injected = inject(text, defect, every, &bad, &first);
    cr_assert(injected > 0);
    cr_assert_eq(trace_read_as(bad.data, bad.length, 8192, 2, &events), TP_OK);
    cr_assert_eq(events.count, good->count, "%s: %zu of %zu events",
                 defect->what, events.count, good->count);
    cr_assert_eq(events.seen, good->seen);
    cr_assert_eq(trace_sum(events.start, events.count),
                 trace_sum(good->start, good->count), "%s", defect->what);
    cr_assert_eq(trace_sum(events.duration, events.count),
                 trace_sum(good->duration, good->count), "%s", defect->what);
    cr_assert_eq(trace_sum(events.correlation, events.count),
                 trace_sum(good->correlation, good->count));
    for (int i = 0; i < TP_REPAIRS; i++) {
        size_t wanted = i == (int)defect->repair ? injected * defect->count : 0;
        cr_assert_eq(events.repairs[i], wanted, "%s: %s %zu times, not %zu",
                     defect->what, tp_repair_name((enum tp_repair)i),
                     (size_t)events.repairs[i], wanted);
    }
    int64_t off = events.first_repair[defect->repair] - (int64_t)first;
    cr_assert(off >= 0 && off <= (int64_t)strlen(defect->insert),
              "%s: first at %lld", defect->what, (long long)off);
    for (size_t i = 0; i < events.count; i++)
        named += strncmp(tp_events_get(&events, events.name[i]), defect->name,
                         strlen(defect->name)) == 0;
    cr_assert_geq(named, injected, "%s", defect->what);
    tp_events_clear(&events);
    tp_text_clear(&bad);
}

Test(trace_damage, every_known_defect_is_repaired)
{
    struct tp_text text = trace_bytes(simple);
    struct tp_events good = trace_events(text.data, text.length);
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++) {
        check_defect(&text, &good, &defects[i], 1000000); /* once */
        check_defect(&text, &good, &defects[i], 17);
        check_defect(&text, &good, &defects[i], 1);
    }
    tp_events_clear(&good);
    tp_text_clear(&text);
}

/* --- cuts --------------------------------------------------------------- */

/* Offsets behind the elements of the array that begins at `at`, by a scan of
 * every byte. */
static size_t *element_ends(const struct tp_text *text, size_t at,
                            size_t *count)
{
    size_t *ends = NULL, capacity = 0, depth = 0;
    bool string = false;
    *count = 0;
    for (; at < text->length; at++) {
        char c = text->data[at];
        if (string) {
            at += c == '\\';
            string = c != '"';
        } else if (c == '"') {
            string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0)
                break;
            if (depth == 1) {
                cr_assert_eq(tp_grow(&ends, &capacity, *count + 1,
                                     sizeof *ends, NULL),
                             TP_OK);
                ends[(*count)++] = at + 1;
            }
        }
    }
    return ends;
}

/* Cuts after each of `cuts` lengths, evenly spread. */
static void check_cuts(const char *name, size_t cuts, size_t piece)
{
    struct tp_text text = trace_bytes(name);
    const char *key = strstr(text.data, "\"traceEvents\"");
    size_t array = (size_t)(strchr(key, '[') - text.data), count, done = 0;
    size_t *ends = element_ends(&text, array, &count);
    for (size_t i = 1; i <= cuts; i++) {
        size_t length = text.length * i / (cuts + 1);
        struct tp_events events;
        enum tp_status status =
            trace_read_as(text.data, length, piece, 1 + i % 2, &events);
        while (done < count && ends[done] <= length)
            done++;
        if (length <= array) {
            cr_assert_eq(status, TP_E_DAMAGED);
        } else {
            cr_assert_eq(status, TP_OK);
            cr_assert_eq(events.seen, done, "%s cut at %zu: %zu of %zu", name,
                         length, (size_t)events.seen, done);
            cr_assert_eq(events.truncated_at, (int64_t)length);
            cr_assert_eq(events.repairs[TP_REPAIR_TRUNCATED], 1);
            for (int r = 0; r < TP_REPAIR_TRUNCATED; r++)
                cr_assert_eq(events.repairs[r], 0, "%s cut at %zu: %s", name,
                             length, tp_repair_name((enum tp_repair)r));
        }
        tp_events_clear(&events);
    }
    free(ends);
    tp_text_clear(&text);
}

Test(trace_damage, cuts_keep_every_whole_event)
{
    check_cuts("cpu-torch2.15.0/none.1.pt.trace.json.gz", 97, 1 << 18);
    check_cuts("own/fractions.json.gz", 1999, 1 << 18);
    check_cuts("own/one_step.json.gz", 9000, 512);
    check_cuts(simple, 911, 4096);
    if (!trace_data_there(stacks))
        return;
    check_cuts(stacks, 700, 1 << 18);
    check_cuts(stacks, 97, 1000);
    check_cuts("edge/triton_example.json.gz", 16250, 512);
    check_cuts("12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
               1999, 1 << 18);
}

/* --- small texts -------------------------------------------------------- */

#define EVENT(name, more)                                                      \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                   \
    "\", \"pid\": 0, \"tid\": 7" more "}"
#define TIMES ", \"ts\": 1, \"dur\": 2"

static struct tp_events read_text(const char *text)
{
    return trace_events(text, strlen(text));
}

static void check_fails(const char *text, size_t size, enum tp_status wanted,
                        const char *why)
{
    struct tp_events events = {0};
    struct tp_error err = {0};
    struct tp_pool *pool = trace_pool(1);
    cr_assert_eq(tp_trace_read_memory(text, size, pool, &events, &err), wanted,
                 "%.40s: %s", text, err.message);
    cr_assert(strstr(err.message, why), "%.40s: %s", text, err.message);
    tp_events_clear(&events);
    tp_pool_free(pool);
}

Test(trace_damage, files_that_are_no_trace)
{
    static const struct {
        const char *text;
        enum tp_status status;
        const char *why;
    } rows[] = {
        {"", TP_E_DAMAGED, "empty"},
        {" \n\t ", TP_E_DAMAGED, "empty"},
        {"hello", TP_E_DAMAGED, "neither { nor ["},
        {"\x80\x02}q", TP_E_DAMAGED, "neither { nor ["},
        {"{", TP_E_DAMAGED, "ends at byte 1"},
        {"{\"schemaVersion\": 1, \"devi", TP_E_DAMAGED, "ends at byte 26"},
        {"{}", TP_E_UNSUPPORTED, "traceEvents"},
        {"{\"a\": [1, {\"traceEvents\": 5}]}", TP_E_UNSUPPORTED,
         "traceEvents"},
        {"{\"traceEvents\": null}", TP_E_UNSUPPORTED, "traceEvents"},
        {"[1, 2, 3]", TP_E_UNSUPPORTED, "no events"},
        {"[{\"name\": \"a\"}, {\"name\": \"b\"}]", TP_E_UNSUPPORTED,
         "no events"},
        {"[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 5, \"args\": "
         "{\"name\": \"Ascend Hardware\"}}]",
         TP_E_UNSUPPORTED, "Ascend"},
        {"\x1f\x8b\x08", TP_E_DAMAGED, "gzip"},
        {"\x1f\x8b nonsense", TP_E_DAMAGED, "gzip"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_fails(rows[i].text, strlen(rows[i].text), rows[i].status,
                    rows[i].why);
}

Test(trace_damage, empty_traces_are_traces)
{
    static const char *const texts[] = {
        "{\"traceEvents\": []}", "[]", "\xef\xbb\xbf{\"traceEvents\": [ ]}",
        " {\"a\": {\"traceEvents\": 1}, \"traceEvents\" : [\n]\n}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tp_events events = read_text(texts[i]);
        cr_assert_eq(events.count, 0);
        cr_assert_eq(events.truncated_at, -1, "%s", texts[i]);
        tp_events_clear(&events);
    }
}

Test(trace_damage, times_that_cannot_be)
{
    struct tp_events events = read_text(
        "[" EVENT("a", ", \"ts\": 1, \"dur\": -3") ","
            EVENT("b", ", \"ts\": 1, \"dur\": 604800000001") ","
            EVENT("c", ", \"ts\": 9223372036854776, \"dur\": 1") ","
            EVENT("d", ", \"dur\": 1") ","
            EVENT("e", ", \"ts\": N/A, \"dur\": 1") ","
            EVENT("f", ", \"ts\": \"7.5\", \"dur\": \"1\"") "]");
    cr_assert_eq(events.seen, 6);
    cr_assert_eq(events.count, 2);
    cr_assert(events.start[0] == 1000 && events.duration[0] == 0);
    cr_assert(events.start[1] == 7500 && events.duration[1] == 1000);
    cr_assert_eq(events.repairs[TP_REPAIR_NEGATIVE], 1);
    cr_assert_eq(events.repairs[TP_REPAIR_TIME], 4);
    cr_assert_eq(events.repairs[TP_REPAIR_NUMBER], 1);
    cr_assert_eq(events.first_repair[TP_REPAIR_NEGATIVE], 1);
    tp_events_clear(&events);
}

Test(trace_damage, what_is_beyond_repair_is_dropped_alone)
{
    struct tp_events events = read_text(
        "{\"traceEvents\": [" EVENT("a", TIMES) ", 7, null, [[1], 2],"
        "{\"ph\" \"X\"}," EVENT("b", TIMES) ",{\"ph\": \"X\", \"name\": ]},"
        EVENT("c", TIMES) ",,] , \"traceName\": \"t\"}");
    cr_assert_eq(events.count, 3);
    cr_assert_eq(events.repairs[TP_REPAIR_DROPPED], 5);
    cr_assert_eq(events.repairs[TP_REPAIR_COMMA], 2);
    cr_assert_eq(events.truncated_at, -1);
    cr_assert_str_eq(events.trace_name, "t");
    tp_events_clear(&events);
}

Test(trace_damage, facts_before_and_behind_the_events)
{
    struct tp_events events = read_text(
        "{\"a\": N/A, \"path\": \"C:\\Users\", \"record_shapes\": 1,"
        "\"empty\": , \"distributedInfo\": {\"rank\": 3, \"world_size\": 8},"
        "\"deviceProperties\": [{\"id\": 1, \"name\": \"G\"}],"
        "\"traceEvents\": [" EVENT("a", TIMES) "],"
        "\"list\": [{\"ph\": \"X\"}, {\"ph\": \"X\"}],"
        "\"baseTimeNanoseconds\": 1735632360000000000, }");
    cr_assert_eq(events.count, 1);
    cr_assert_eq(events.seen, 1);
    cr_assert(events.rank == 3 && events.world_size == 8);
    cr_assert(events.has_base);
    cr_assert_eq(events.base_ns, INT64_C(1735632360000000000));
    cr_assert(events.record_shapes && !events.with_stack);
    cr_assert(events.device_count == 1 && events.devices[0].id == 1);
    cr_assert_eq(events.devices[0].sm_count, -1);
    cr_assert_eq(events.repairs[TP_REPAIR_NUMBER], 1);
    cr_assert_eq(events.repairs[TP_REPAIR_ESCAPE], 1);
    tp_events_clear(&events);
}

Test(trace_damage, facts_of_a_tail_that_is_cut)
{
    struct tp_events events = read_text(
        "{\"traceEvents\": [" EVENT("a", TIMES) "], \"baseTimeNanoseconds\": "
        "12, \"distributedInfo\": {\"rank\": 3, \"wor");
    cr_assert(events.has_base && events.base_ns == 12);
    cr_assert_eq(events.rank, -1);
    cr_assert_eq(events.count, 1);
    cr_assert_eq(events.truncated_at, (int64_t)events.bytes);
    tp_events_clear(&events);
}

Test(trace_damage, kinds_of_events_that_are_kept)
{
    struct tp_events events = read_text(
        "[{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 5, \"pid\": 1, "
        "\"tid\": \"2\", \"args\": {\"Bytes\": -16, \"Device Type\": 1, "
        "\"Device Id\": 0, \"Addr\": 77, \"Total Allocated\": 9}},"
        "{\"ph\": \"i\", \"name\": \"[OutOfMemory]\", \"ts\": 6, \"pid\": 1, "
        "\"tid\": 2}, {\"ph\": \"i\", \"name\": \"Record Window End\"},"
        "{\"ph\": \"s\", \"id\": 1}, {\"ph\": \"f\", \"id\": 1},"
        "{\"ph\": \"C\"},"
        "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"k\", \"pid\": 0, "
        "\"tid\": \"stream 7 \"" TIMES "},"
        "{\"name\": \"s\", \"cat\": \"cuda_sync\", \"args\": {\"stream\": "
        "4294967295, \"cuda_sync_kind\": \"Context Sync\"}, \"ph\": \"X\"" TIMES
        "}, {\"ph\": \"X\", \"cat\": \"GPU_USER_Annotation\"" TIMES "}]");
    cr_assert_eq(events.seen, 9);
    cr_assert_eq(events.count, 5);
    cr_assert_eq(events.category[0], TP_EVENT_MEMORY);
    cr_assert(events.memory[0].bytes == -16 && events.memory[0].address == 77);
    cr_assert(events.memory[0].total_allocated == 9 &&
              events.memory[0].total_reserved == -1);
    cr_assert_eq(events.category[1], TP_EVENT_OUT_OF_MEMORY);
    cr_assert_eq(events.lane[0], events.lane[1]); /* "2" and 2 are one */
    cr_assert_eq(events.gpu[events.detail[2]].stream, 7);
    cr_assert_eq(events.category[3], TP_EVENT_SYNC);
    cr_assert_eq(events.syncs[0].stream, -1);
    cr_assert_str_eq(tp_events_get(&events, events.syncs[0].kind),
                     "Context Sync");
    cr_assert_eq(events.category[4], TP_EVENT_GPU_ANNOTATION);
    tp_events_clear(&events);
}

/* The oldest traces have the stream in the name of the thread only. */
Test(trace_damage, streams_of_threads_are_those_of_their_events)
{
#define KERNEL(TID) \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, " \
    "\"tid\": " TID TIMES "}"
    struct tp_events events = read_text(
        "[" KERNEL("\"stream 7\"") "," KERNEL("\"stream x\"") "," KERNEL(
            "3") "," KERNEL("\"stream 9\"") "]");
    static const int32_t streams[] = {7, -1, -1, 9};
    cr_assert_eq(events.count, 4);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(events.gpu[events.detail[i]].stream, streams[i]);
    tp_events_clear(&events);
}

/* --- hostile ------------------------------------------------------------ */

static struct tp_text repeat(const char *before, const char *what, size_t times,
                             const char *after)
{
    struct tp_text text = {0};
    tp_text_bytes(&text, before, strlen(before));
    for (size_t i = 0; i < times; i++)
        tp_text_bytes(&text, what, strlen(what));
    tp_text_bytes(&text, after, strlen(after));
    cr_assert(!text.failed);
    return text;
}

Test(trace_damage, deep_nesting)
{
    limit_cpu(20);
    static const char *const places[][2] = {
        {"{\"x\": ", ", \"traceEvents\": [" EVENT("a", TIMES) "]}"},
        {"[" EVENT("a", TIMES) ",", "]"},
        {"[{\"ph\": \"X\", \"args\": {\"x\": ",
         "}, \"name\": \"a\", \"cat\": \"cpu_op\"" TIMES "}]"},
        {"{\"traceEvents\": [" EVENT("a", TIMES) "], \"x\": ", "}"}};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct tp_text open = repeat(places[i][0], "[", 100000, "");
        struct tp_text text = repeat(open.data, "]", 100000, places[i][1]);
        struct tp_events events = trace_events(text.data, text.length);
        cr_assert_eq(events.count, 1, "%zu: %zu", i, events.count);
        tp_events_clear(&events);
        trace_read_as(open.data, open.length, 4096, 2, &events);
        tp_events_clear(&events);
        tp_text_clear(&open);
        tp_text_clear(&text);
    }
}

/* Each would take minutes if it took the square of its length. */
Test(trace_damage, no_quadratic_time)
{
    limit_cpu(60);
    static const char *const patterns[] = {
        "{\"ph\"", "{},", "1,", "{\"},", "\"", "{\"ph\": \"X\" \"},",
        "}, {\"ph\"", "},{\"ph\": [", "\\\"", "{\"a\": \"b\" c\"},",
        "{\"ph\":\"", "[{\"ph\":",
        "{ ", ", ", "{\"ph\": \"X\", \"x\": [}, ", "{\"args\": {\"b\": \"",
        "{\"ph\": \"\"X\"},", "{\"ph\":1}}, ", "[1,2,]x", "{\"p\x01\"},"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct tp_text text = repeat("{\"traceEvents\": [", patterns[i],
                                     3000000 / strlen(patterns[i]), "");
        struct tp_events events;
        trace_read_as(text.data, text.length, 1 << 18, 1, &events);
        tp_events_clear(&events);
        tp_text_clear(&text);
    }
}
