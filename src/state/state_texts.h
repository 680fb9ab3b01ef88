/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_TEXTS_H
#define TP_STATE_STATE_TEXTS_H

#include "state/state_image.h"
#include "state/state_numbers.h"

/* Texts of a state: each stands once, and has a number. */

struct tp_state_numbered {
    const char *text;
    uint64_t number;
};

/* Numbers of texts by their pointers; a power of two slots. */
struct tp_state_numbers {
    struct tp_state_numbered *slots;
    size_t count, capacity;
    struct tp_state_bytes *part; /* texts, each ended by NUL               */
};

/* Adds a text to a part; texts stand one behind the other, without room
 * between. TP_E_MEMORY. */
enum tp_status tp_state_text_add(struct tp_state_bytes *part, const char *text,
                                 struct tp_error *err);

/* The number of a text, which is added if its pointer is new. TP_E_MEMORY. */
enum tp_status tp_state_text_number(struct tp_state_numbers *set,
                                    const char *text, uint64_t *number,
                                    struct tp_error *err);

/* Releases the numbers, not the part. */
void tp_state_numbers_clear(struct tp_state_numbers *set);

/* The texts of a part, where they lie; the list is released with free().
 * TP_E_DAMAGED, TP_E_MEMORY. */
enum tp_status tp_state_texts_view(const struct tp_state_bytes *part,
                                   struct tp_state_words *texts,
                                   struct tp_error *err);

/* Adds sentences to a list (free()), which has each once, in order.
 * TP_E_MEMORY. */
enum tp_status tp_state_sentences_add(const char ***list, size_t *count,
                                      const char *const *more,
                                      size_t more_count, struct tp_error *err);

/* A part that is one text, in new memory (free()). Fails as above. */
enum tp_status tp_state_text_copy(const struct tp_state_bytes *part,
                                  char **text, struct tp_error *err);

#endif
