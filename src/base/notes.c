/* SPDX-License-Identifier: MIT */
#include "base/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tp_arena_vformat(struct tp_arena *arena, const char *format,
                             va_list args)
{
    char text[TP_ARENA_TEXT_BYTES];
    vsnprintf(text, sizeof text, format, args);
    const char *copy = tp_arena_text(arena, text, strlen(text));
    return copy ? copy : "";
}

const char *tp_arena_format(struct tp_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = tp_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

const char *tp_arena_take(struct tp_arena *arena, struct tp_text *text)
{
    const char *kept =
        text->failed ? NULL
                     : tp_arena_text(arena, tp_text_get(text), text->length);
    arena->failed |= text->failed;
    tp_text_clear(text);
    return kept;
}

const char *tp_arena_words(struct tp_arena *arena, struct tp_text *text)
{
    const char *kept = tp_arena_take(arena, text);
    return kept ? kept : "";
}

void tp_notes_add(struct tp_notes *notes, const char *text)
{
    if (*text == '\0')
        return;
    if (tp_grow(&notes->texts, &notes->capacity, notes->count + 1,
                sizeof *notes->texts, NULL) == TP_OK)
        notes->texts[notes->count++] = text;
    else
        notes->failed = true;
}

void tp_notes_clear(struct tp_notes *notes)
{
    free(notes->texts);
    *notes = (struct tp_notes){0};
}
