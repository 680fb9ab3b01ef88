/* SPDX-License-Identifier: MIT */
/*
 * Whose trace a file is. Many programs write Chrome's JSON; what is in it
 * differs. Kineto gives each event one of its categories, so that a file none
 * of whose events has one is another's: names that only one program writes tell
 * which. Guessing by names first would refuse a trace of torch for a range that
 * a user called "RunTask". One pass over the texts, for such files alone.
 */
#include "formats/trace/trace_foreign.h"

#include <inttypes.h>
#include <string.h>

/* A name of an event, process or thread that tells who wrote it. */
static const struct clue {
    const char *text;
    bool prefix;
    bool always; /* whatever categories there are, without kernels */
    const char *whose;
} clues[] = {
    {"Ascend Hardware", false, true, "of an Ascend NPU (torch_npu)"},
    {"AscendCL@", true, true, "of an Ascend NPU (torch_npu)"},
    {"Node@launch", false, false, "of an Ascend NPU (torch_npu)"},
    {"/host:CPU", true, false, "of JAX or TensorFlow (XLA)"},
    {"/device:GPU", true, false, "of JAX or TensorFlow (XLA)"},
    {"/device:TPU", true, false, "of JAX or TensorFlow (XLA)"},
    {"PjitFunction", true, false, "of JAX or TensorFlow (XLA)"},
    {"ExecuteCompiler", false, false, "of a compiler (clang -ftime-trace)"},
    {"Total ExecuteCompiler", false, false,
     "of a compiler (clang -ftime-trace)"},
    {"model_loading_uri", false, false, "of ONNX Runtime"},
    {"model_loading_array", false, false, "of ONNX Runtime"},
    {"session_initialization", false, false, "of ONNX Runtime"},
    {"TracingStartedInBrowser", false, false, "of a browser (Chrome DevTools)"},
    {"TracingStartedInPage", false, false, "of a browser (Chrome DevTools)"},
    {"RunTask", false, false, "of a browser (Chrome DevTools)"},
    {"ThreadControllerImpl::RunTask", false, false,
     "of a browser (Chrome DevTools)"},
    {"swapper", true, false, "of a kernel's scheduler (Perfetto, ftrace)"},
    {"sched_switch", true, false, "of a kernel's scheduler (Perfetto, ftrace)"},
};

static bool fits(const struct clue *clue, const char *text)
{
    return clue->prefix ? strncmp(text, clue->text, strlen(clue->text)) == 0
                        : strcmp(text, clue->text) == 0;
}

/* The first clue that some text is; in *text which. */
static const struct clue *find_clue(const struct tp_events *events, bool always,
                                    const char **text)
{
    for (size_t c = 0; c < sizeof clues / sizeof *clues; c++) {
        if (always && !clues[c].always)
            continue;
        for (size_t i = 1; i < events->texts.count; i++) {
            *text = events->texts.texts[i];
            if (fits(&clues[c], *text))
                return &clues[c];
        }
    }
    return NULL;
}

/* Whether some event has a category of the profiler, or the file says about
 * itself what the profiler does. */
static bool is_ours(const struct tp_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        if (events->category[i] != TP_EVENT_OTHER)
            return true;
    }
    return events->device_count > 0 || events->has_base ||
           *events->trace_name != '\0';
}

static enum tp_status refuse(const struct tp_events *events,
                             struct tp_error *err)
{
    const char *text;
    const struct clue *clue = find_clue(events, false, &text);
    if (clue)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a trace %s (\"%.40s\"); only traces of the PyTorch "
                       "profiler (Kineto) can be analysed",
                       clue->whose, text);
    if (events->count == 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a trace, but not of the PyTorch profiler: of its "
                       "%" PRIu64 " events %" PRIu64 " only begin something "
                       "(\"ph\": \"B\"); Kineto writes whole ones (\"X\")",
                       events->seen, events->begins);
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "a trace, but not of the PyTorch profiler: none of its "
                   "%zu events has a category of Kineto (cpu_op, kernel, "
                   "cuda_runtime, ...)",
                   events->count);
}

enum tp_status tp_trace_check_kind(const struct tp_events *events,
                                   struct tp_error *err)
{
    const char *text;
    if (events->seen == 0 && events->repairs[TP_REPAIR_DROPPED] > 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "JSON, but no trace of the PyTorch profiler: none of "
                       "the %" PRIu64 " elements of its list has a \"ph\", so "
                       "they are no events",
                       events->repairs[TP_REPAIR_DROPPED]);
    if (events->gpu_count > 0)
        return TP_OK;
    const struct clue *clue = find_clue(events, true, &text);
    if (clue)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a trace %s (\"%.40s\"); only traces of Kineto can be "
                       "analysed",
                       clue->whose, text);
    return is_ours(events) || (events->count == 0 && events->begins == 0)
               ? TP_OK
               : refuse(events, err);
}
