/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_TEXT_INDEX_H
#define TP_BASE_TEXT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A number for each of many texts, found by the text. All-zero bytes are an
 * empty index. Texts are borrowed. Not for use by two threads at once while
 * texts are put in.
 */
struct tp_text_index {
    struct tp_text_slot *slots; /* open addressing, a power of two */
    size_t capacity;
};

/* What a text has that was not there before. */
#define TP_TEXT_NEW SIZE_MAX

/* Empties the index and makes room for `count` texts; false when out of
 * memory, and then it is empty. */
bool tp_text_index_init(struct tp_text_index *index, size_t count);

/* Where the number of a text is, which is put in unless it is there. At most
 * as many as there is room for. */
size_t *tp_text_index_put(struct tp_text_index *index, const char *text);

/* The number of a text; TP_TEXT_NEW: it is not there. */
size_t tp_text_index_of(const struct tp_text_index *index, const char *text);

/* Releases the index, not the texts; it is empty afterwards. */
void tp_text_index_clear(struct tp_text_index *index);

#endif
