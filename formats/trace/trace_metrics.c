/* SPDX-License-Identifier: MIT */
/*
 * Files of metrics, read as the members of a trace's root are: with repairs,
 * as Python writes NaN for a mean of nothing, and with all that is not known
 * left aside. A parser of its own would have to agree with that one about what
 * true, "True" and 1 are. O(length of the file).
 */
#include "formats/trace/trace_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "formats/trace/trace_members.h"

bool tp_trace_is_metrics_name(const char *path)
{
    const char *name = tp_file_base_name(path);
    const size_t length = strlen(name);
    return !strncmp(name, "metrics", 7) && length >= 12 &&
           !strcmp(name + length - 5, ".json");
}

/* The text from the first brace up to the last, which is left out; empty when
 * there are none. */
static enum tp_status load(const char *path, struct tp_text *text,
                           struct tp_error *err)
{
    struct tp_bytes bytes = {0};
    enum tp_status status = tp_bytes_open(path, &bytes, err);
    size_t got = 0;
    char *room = NULL;
    if (status == TP_OK && bytes.size > TP_LIMIT_METRICS_BYTES)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "too large for metrics");
    if (status == TP_OK && !(room = malloc((size_t)bytes.size + 1)))
        status = tp_fail_memory(err);
    if (status == TP_OK) {
        got = (size_t)bytes.size;
        status = tp_bytes_read(&bytes, 0, room, got, err);
    }
    while (status == TP_OK && got > 0 && room[got - 1] != '}')
        got--;
    if (status == TP_OK && got > 1)
        tp_text_bytes(text, room, got - 1);
    free(room);
    tp_bytes_close(&bytes);
    return status;
}

static bool says_something(const struct tp_events *said)
{
    bool any = false;
    for (int i = 0; i < TP_SETTING_COUNT; i++)
        any |= said->settings[i].known;
    return any && said->repairs[TP_REPAIR_DROPPED] == 0 &&
           said->repairs[TP_REPAIR_DUPLICATE] == 0 && /* traceEvents */
           said->repairs[TP_REPAIR_SECOND] == 0 &&
           !said->has_tool_version;
}

enum tp_status tp_trace_read_metrics(const char *path, struct tp_events *said,
                                     struct tp_error *err)
{
    struct tp_text text = {0};
    const struct tp_trace_members members = {.text = &text};
    enum tp_status status = load(path, &text, err);
    if (status == TP_OK && text.length > 0)
        status = tp_trace_read_members(&members, said, err);
    if (status == TP_OK && !says_something(said))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "no metrics of a training run");
    tp_text_clear(&text);
    return status;
}
