/* SPDX-License-Identifier: MIT */
#include "verdict/judged.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int tp_trace_judged_worst(const struct tp_trace_judged *judged)
{
    return judged->findings.count ? (int)judged->findings.rows[0].level : 0;
}

void tp_trace_judged_clear(struct tp_trace_judged *judged)
{
    free(judged->verdicts);
    free(judged->ranks.rows);
    free(judged->collectives.rows);
    free(judged->collective_sizes.rows);
    free(judged->members.rows);
    free(judged->straggling.rows);
    free(judged->findings.rows);
    tp_notes_clear(&judged->notes);
    tp_arena_clear(&judged->arena);
    *judged = (struct tp_trace_judged){0};
}

bool tp_trace_judged_lost(const struct tp_trace_judged *judged)
{
    return judged->arena.failed || judged->notes.failed;
}

const char *tp_judge_text(struct tp_trace_judged *judged, const char *format,
                          ...)
{
    va_list args;
    va_start(args, format);
    const char *text = tp_arena_vformat(&judged->arena, format, args);
    va_end(args);
    return text;
}

void tp_judge_note(struct tp_trace_judged *judged, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tp_notes_add(&judged->notes,
                 tp_arena_vformat(&judged->arena, format, args));
    va_end(args);
}

const char *tp_judge_kernel(struct tp_trace_judged *judged, const char *name)
{
    enum { MOST = 60 }; /* bytes: a line of a finding                      */
    if (strlen(name) <= MOST)
        return name;
    return tp_judge_text(judged, "%.*s...", (int)tp_utf8_cut(name, MOST), name);
}
