/* SPDX-License-Identifier: MIT */
/* Frames of Python: their times, their idle times, and which is to blame; by
 * hand, and of real traces. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_frames.h"

#define FRAME(name, tid, ts, dur)                                             \
    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" name         \
    "\", \"pid\": 1, \"tid\": " #tid ", \"ts\": " #ts ", \"dur\": " #dur "},"
#define NOTE(name, tid, ts, dur)                                              \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"" name         \
    "\", \"pid\": 1, \"tid\": " #tid ", \"ts\": " #ts ", \"dur\": " #dur "},"
#define KERNEL(ts, dur)                                                       \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "      \
    "\"tid\": 7, \"ts\": " #ts ", \"dur\": " #dur                             \
    ", \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 1}}"

static const struct tp_frame_row *find(const struct tp_trace *trace,
                                       const char *name)
{
    for (size_t i = 0; i < trace->frames.count; i++) {
        if (strcmp(trace->frames.rows[i].name, name) == 0)
            return &trace->frames.rows[i];
    }
    cr_assert_fail("no frame %s", name);
    return NULL;
}

/* A step of 1000 us, of which the device is busy for the last 100. */
static const char json[] =
    "{\"traceEvents\": [" NOTE("ProfilerStep#0", 1, 0, 1000)
        FRAME("run.py(1): main", 1, 0, 1000)
            FRAME("run.py(9): walk", 1, 100, 700)
                FRAME("run.py(9): walk", 1, 200, 500)
                    FRAME("<built-in function slow>", 1, 300, 300)
    FRAME("run.py(20): other_lane", 2, 0, 900)
        NOTE("enumerate(DataLoader)#_X.__next__", 1, 850, 50) KERNEL(900, 100)
            "]}";

Test(trace_frames, times)
{
    struct tp_trace trace;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    cr_assert_eq(trace.frames.count, 4);
    const struct tp_frame_row *main_row = find(&trace, "run.py(1): main");
    const struct tp_frame_row *walk = find(&trace, "run.py(9): walk");
    const struct tp_frame_row *slow = find(&trace, "<built-in function slow>");
    const struct tp_frame_row *other = find(&trace, "run.py(20): other_lane");
    cr_expect_eq(main_row->count, 1);
    cr_expect_eq(walk->count, 2);
    cr_expect_float_eq(main_row->total_us, 1000, 1e-9);
    cr_expect_float_eq(main_row->self_us, 300, 1e-9);
    /* inside itself: once */
    cr_expect_float_eq(walk->total_us, 700, 1e-9);
    cr_expect_float_eq(walk->self_us, 400, 1e-9);
    cr_expect_float_eq(slow->self_us, 300, 1e-9);
    /* 900 us idle, 50 of them behind the loader */
    cr_expect_float_eq(main_row->idle_us[TP_FRAME_HOST], 850, 1e-9);
    cr_expect_float_eq(main_row->self_idle_us[TP_FRAME_HOST], 150, 1e-9);
    cr_expect_float_eq(main_row->idle_us[TP_FRAME_LOADER], 50, 1e-9);
    cr_expect_float_eq(walk->idle_us[TP_FRAME_HOST], 700, 1e-9);
    cr_expect_float_eq(slow->idle_us[TP_FRAME_HOST], 300, 1e-9);
    /* the device does not wait for another thread */
    cr_expect_float_eq(other->total_us, 900, 1e-9);
    cr_expect_float_eq(other->idle_us[TP_FRAME_HOST], 0, 1e-9);
    cr_expect_eq(main_row->what, TP_FRAME_FUNCTION);
    cr_expect_str_eq(slow->kind, "built-in");
    trace_file_close(&trace);
}

/* slow has 300 of 850 us, so that the function around it is to blame. */
Test(trace_frames, blame)
{
    struct tp_trace trace;
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    struct tp_frame_blame blame = tp_trace_blame(&trace, TP_FRAME_HOST, 850);
    cr_assert_not_null(blame.inner);
    cr_expect_str_eq(blame.inner->name, "run.py(9): walk");
    cr_assert_not_null(blame.caller);
    cr_expect_str_eq(blame.caller->name, "run.py(1): main");
    cr_expect_null(blame.module);
    blame = tp_trace_blame(&trace, TP_FRAME_HOST, 600);
    cr_expect_str_eq(blame.inner->name, "<built-in function slow>");
    cr_expect_str_eq(blame.caller->name, "run.py(9): walk");
    cr_expect_null(tp_trace_blame(&trace, TP_FRAME_BLOCKING, 0).inner);
    cr_expect_null(tp_trace_blame(&trace, TP_FRAME_HOST, 1e9).inner);
    trace_file_close(&trace);
}

static const char inside_torch[] =
    "{\"traceEvents\": [" NOTE("ProfilerStep#0", 1, 0, 1000)
        FRAME("train.py(5): step", 1, 0, 900)
            FRAME("nn.Module: Net_0", 1, 0, 900)
                FRAME("torch/nn/modules/linear.py(7): forward", 1, 0, 900)
                    FRAME("<built-in function linear>", 1, 0, 900)
                        KERNEL(900, 100) "]}";

/* Who calls torch is named, not torch; modules are told. */
Test(trace_frames, modules)
{
    struct tp_trace trace;
    trace_text_read(inside_torch, &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    const struct tp_frame_blame blame =
        tp_trace_blame(&trace, TP_FRAME_HOST, 900);
    cr_expect_str_eq(blame.inner->name, "<built-in function linear>");
    cr_expect_str_eq(blame.caller->name, "train.py(5): step");
    cr_expect_str_eq(blame.module->name, "nn.Module: Net_0");
    trace_file_close(&trace);
}

Test(trace_frames, none)
{
    struct tp_trace trace;
    trace_text_read("{\"traceEvents\": [" NOTE("ProfilerStep#0", 1, 0, 9)
                        KERNEL(5, 1) "]}",
                    &trace);
    cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
    cr_expect_eq(trace.frames.count, 0);
    cr_expect_null(tp_trace_blame(&trace, TP_FRAME_HOST, 1).inner);
    trace_file_close(&trace);
}

static const struct {
    const char *trace;
    enum tp_frame_idle kind;
    const char *inner, *caller;
    double inner_ms;
} real[] = {
    {"24_h100_timesformer/"
     "facebook_timesformer-base-finetuned-k400__1016002.json.gz",
     TP_FRAME_HOST, "(178): _preprocess_image", "(235): preprocess", 164.196},
    {"16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
     TP_FRAME_LOADER, "<built-in function zoom_shift>", "(739): zoom", 528.680},
};

static bool ends_with(const char *text, const char *end)
{
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* Of the frames of the main thread, by a program of its own. */
Test(trace_frames, real_traces)
{
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        struct tp_trace trace;
        trace_file_read(real[i].trace, &trace);
        cr_assert_eq(tp_trace_idle(&trace, NULL), TP_OK);
        const double share =
            real[i].kind == TP_FRAME_LOADER
                ? trace.idle.dataloader
                : trace.idle.launch + trace.idle.cpu_op + trace.idle.none;
        const struct tp_frame_blame blame = tp_trace_blame(
            &trace, real[i].kind, share * trace.idle.window_us);
        cr_assert_not_null(blame.inner);
        cr_expect(ends_with(blame.inner->name, real[i].inner), "%s",
                  blame.inner->name);
        cr_expect(ends_with(blame.caller->name, real[i].caller), "%s",
                  blame.caller->name);
        cr_expect_float_eq(blame.inner->idle_us[real[i].kind] / 1e3,
                           real[i].inner_ms, 0.001, "%.6f",
                           blame.inner->idle_us[real[i].kind] / 1e3);
        trace_file_close(&trace);
    }
}
