/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_NOTES_H
#define TP_BASE_NOTES_H

#include <stdarg.h>

#include "base/memory.h"
#include "base/text.h"

/*
 * Texts that are worded as printf does and live in an arena, and lists of
 * such texts: what a run notes about itself. When memory ends the text is ""
 * and the note is dropped: that is looked at once, at the end, in `failed` of
 * the arena and of the list.
 */

/* A text is cut to fit into so many bytes, its NUL included. */
enum { TP_ARENA_TEXT_BYTES = 2048 };

/* The text in the arena; "" when out of memory. */
const char *tp_arena_vformat(struct tp_arena *arena, const char *format,
                             va_list args);
const char *tp_arena_format(struct tp_arena *arena, const char *format, ...)
    TP_PRINTF(2, 3);

/* Moves a text into the arena, whole; NULL when memory ended, there or while
 * the text grew. It is empty afterwards. */
const char *tp_arena_take(struct tp_arena *arena, struct tp_text *text);

/* The same; "" when memory ended, which arena->failed keeps. */
const char *tp_arena_words(struct tp_arena *arena, struct tp_text *text);

/* All-zero bytes are an empty list; the texts are an arena's. */
struct tp_notes {
    const char **texts;
    size_t count, capacity;
    bool failed; /* to take one                                            */
};

/* Adds a text that is already in the arena. */
void tp_notes_add(struct tp_notes *notes, const char *text);

/* Releases the list, not the texts; empty afterwards. */
void tp_notes_clear(struct tp_notes *notes);

#endif
