/* SPDX-License-Identifier: MIT */
/* Traces of other programs are told by what only these write; those of torch
 * are not taken for them. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/pool.h"
#include "formats/trace/trace_reader.h"

#define EVENT(fields) "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2," \
                      fields "}"
#define NAMED(name) EVENT("\"name\":\"" name "\"")
#define PROCESS(name)                                                \
    "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{"   \
    "\"name\":\"" name "\"}},"
#define OBJECT(events) "{\"traceEvents\":[" events "]}"

static enum tp_status read_text(const char *json, struct tp_events *events,
                                struct tp_error *err)
{
    struct tp_pool *pool = NULL;
    *events = (struct tp_events){0};
    cr_assert_eq(tp_pool_new(1, &pool, err), TP_OK);
    const enum tp_status status =
        tp_trace_read_memory(json, strlen(json), pool, events, err);
    tp_pool_free(pool);
    return status;
}

static const struct {
    const char *json, *whose;
} others[] = {
    {OBJECT(PROCESS("/host:CPU") NAMED("PjitFunction(step)")), "JAX"},
    {OBJECT(PROCESS("/device:GPU:0 NVIDIA H100") NAMED("fusion.1")), "JAX"},
    {OBJECT(NAMED("Source") "," NAMED("ExecuteCompiler")), "compiler"},
    {"[" EVENT("\"cat\":\"Session\",\"name\":\"model_loading_uri\"") "]",
     "ONNX Runtime"},
    {OBJECT(EVENT("\"cat\":\"devtools.timeline\",\"name\":\"RunTask\"")),
     "browser"},
    {OBJECT(EVENT("\"cat\":\"sched\",\"name\":\"swapper\"")), "scheduler"},
    {"[" NAMED("Node@launch") "]", "Ascend"},
    {OBJECT(PROCESS("Ascend Hardware") EVENT("\"cat\":\"cpu_op\",\"name\":"
                                             "\"aten::mm\"")),
     "Ascend"},
    {OBJECT(NAMED("whatever")), "none of its 1 events has a category"},
    {OBJECT("{\"ph\":\"B\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1},"
            "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3}"),
     "of its 2 events 1 only begin"},
};

Test(trace_foreign, others)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct tp_events events;
        struct tp_error err = {0};
        cr_expect_eq(read_text(others[i].json, &events, &err),
                     TP_E_UNSUPPORTED, "%s", others[i].json);
        cr_expect(strstr(err.message, others[i].whose), "%s", err.message);
        tp_events_clear(&events);
    }
}

/* The same names in traces of torch; and what holds nothing. */
static const char *const ours[] = {
    OBJECT(EVENT("\"cat\":\"user_annotation\",\"name\":\"RunTask\"")),
    OBJECT(EVENT("\"cat\":\"cpu_op\",\"name\":\"ExecuteCompiler\"")),
    OBJECT(PROCESS("/host:CPU")
               EVENT("\"cat\":\"python_function\",\"name\":\"f.py(1): g\"")),
    "{\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\"}]," /* new kinds */
    "\"traceEvents\":[" EVENT("\"cat\":\"new_kind\",\"name\":\"x\"") "]}",
    OBJECT(""),
    OBJECT("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}"),
};

Test(trace_foreign, ours)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        struct tp_events events;
        struct tp_error err = {0};
        cr_expect_eq(read_text(ours[i], &events, &err), TP_OK, "%s: %s",
                     ours[i], err.message);
        tp_events_clear(&events);
    }
}

/* {} is nothing; what has no "ph" but is something is damage. */
Test(trace_foreign, empty_objects)
{
    struct tp_events events;
    struct tp_error err = {0};
    const char *const mm = OBJECT(
        EVENT("\"cat\":\"cpu_op\",\"name\":\"aten::mm\"") ",{}");
    cr_assert_eq(read_text(mm, &events, &err), TP_OK);
    cr_expect_eq(events.count, 1);
    cr_expect_eq(events.repairs[TP_REPAIR_DROPPED], 0);
    tp_events_clear(&events);
    const char *const no_phase = OBJECT(
        EVENT("\"cat\":\"cpu_op\",\"name\":\"aten::mm\"") ",{\"name\":\"x\"}");
    cr_assert_eq(read_text(no_phase, &events, &err), TP_OK);
    cr_expect_eq(events.repairs[TP_REPAIR_DROPPED], 1);
    tp_events_clear(&events);
}
