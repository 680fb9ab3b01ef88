/* SPDX-License-Identifier: MIT */
/*
 * Records to the parts of a state. Members become words by the tables of
 * state_members.c; texts become numbers, one for each pointer, since equal
 * texts of a run are mostly one; what is packed is copied as it is, with its
 * pointers replaced. All parts are in memory before they are written: as much
 * again as the rows have. Cost: some 40 words and six look-ups a row.
 */
#include <stdlib.h>
#include <string.h>

#include "state/state.h"
#include "state/state_image.h"
#include "state/state_members.h"
#include "state/state_numbers.h"
#include "state/state_texts.h"

struct writer {
    struct tp_state_image image;
    struct tp_state_numbers words, names;
    struct tp_error *err;
};

/* A word of the numbering, for texts of what is packed. */
static enum tp_status number_word(void *context, const char *text,
                                  uint64_t *number, struct tp_error *err)
{
    struct writer *w = context;
    return tp_state_text_number(&w->words, text, number, err);
}

/* Of a text or number that is pointed to. */
static enum tp_status write_pointer(struct writer *w, enum tp_state_kind kind,
                                    const void *value, uint64_t *word)
{
    struct tp_state_bytes *numbers =
        &w->image
             .parts[kind == TP_STATE_DIMS ? TP_STATE_AXES : TP_STATE_NUMBERS];
    const struct tp_state_numbering how = {number_word, w};
    const struct tp_number *target = value;
    *word = UINT64_MAX;
    switch (kind) {
    case TP_STATE_WORD:
        return tp_state_text_number(&w->words, value, word, w->err);
    case TP_STATE_TARGET:
        return tp_state_text_number(&w->words, target ? target->id : "", word,
                                    w->err);
    case TP_STATE_SAID:
    case TP_STATE_NAME:
        return value ? tp_state_text_number(&w->names, value, word, w->err)
                     : TP_OK;
    default:
        return value ? tp_state_number_add(kind, value, &how, numbers, word,
                                           w->err)
                     : TP_OK;
    }
}

/* The word of one member. */
static enum tp_status write_member(struct writer *w,
                                   const struct tp_state_member *member,
                                   const void *from, uint64_t *word)
{
    const void *at = (const char *)from + member->offset;
    const void *value;
    unsigned number;
    bool flag;
    switch (member->kind) {
    case TP_STATE_INT64:
    case TP_STATE_SIZE:
    case TP_STATE_REAL:
        memcpy(word, at, sizeof *word);
        return TP_OK;
    case TP_STATE_ENUM:
        memcpy(&number, at, sizeof number);
        *word = number;
        return TP_OK;
    case TP_STATE_FLAG:
        memcpy(&flag, at, sizeof flag);
        *word = flag;
        return TP_OK;
    default:
        memcpy(&value, at, sizeof value);
        return write_pointer(w, member->kind, value, word);
    }
}

static enum tp_status write_struct(struct writer *w, enum tp_state_part part,
                                   const void *from)
{
    enum { MOST = 64 };
    uint64_t words[MOST];
    const struct tp_state_members *members = tp_state_members_of(part);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < members->count && status == TP_OK; i++)
        status = write_member(w, &members->members[i], from, &words[i]);
    if (status == TP_OK)
        status =
            tp_state_bytes_add(&w->image.parts[part], words,
                               members->count * sizeof *words, NULL, w->err);
    return status;
}

/* A list of names. */
static enum tp_status write_names(struct writer *w, enum tp_state_part part,
                                  const char *const *texts, size_t count)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        uint64_t word;
        status = tp_state_text_number(&w->names, texts[i], &word, w->err);
        if (status == TP_OK)
            status = tp_state_bytes_add(&w->image.parts[part], &word,
                                        sizeof word, NULL, w->err);
    }
    return status;
}

static enum tp_status write_record(struct writer *w,
                                   const struct tp_record *record)
{
    enum tp_status status = write_struct(w, TP_STATE_FILES, record);
    for (size_t i = 0; i < record->row_count && status == TP_OK; i++)
        status = write_struct(w, TP_STATE_ROWS, &record->rows[i]);
    for (size_t i = 0; i < record->skipped_count && status == TP_OK; i++)
        status = write_struct(w, TP_STATE_SKIPPED, &record->skipped[i]);
    if (status == TP_OK)
        status = write_names(w, TP_STATE_TIES, record->ties, record->tie_count);
    return status;
}

/* To an image without one. */
static enum tp_status write_memo(struct tp_state_image *image,
                                 const struct tp_memo *memo, bool all,
                                 struct tp_error *err)
{
    struct writer w = {.image = *image, .err = err};
    enum tp_status status = TP_OK;
    for (size_t i = 0; memo && i < memo->capacity && status == TP_OK; i++) {
        const struct tp_memo_entry *entry = &memo->entries[i];
        if (!entry->bytes || !(all || entry->used))
            continue;
        status = write_struct(&w, TP_STATE_MEMO, entry);
        if (status == TP_OK)
            status = tp_state_bytes_add(&w.image.parts[TP_STATE_RESULTS],
                                        entry->bytes, entry->size, NULL, err);
    }
    *image = w.image;
    return status == TP_OK ? tp_state_part_turn(image, TP_STATE_MEMO, err)
                           : status;
}

static enum tp_status write_all(struct writer *w,
                                const struct tp_records *records,
                                const struct tp_memo *memo)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < records->count && status == TP_OK; i++)
        status = write_record(w, &records->items[i]);
    static const int parts[] = {TP_STATE_FILES, TP_STATE_ROWS,
                                TP_STATE_SKIPPED};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == TP_OK; i++)
        status = tp_state_part_turn(&w->image, parts[i], w->err);
    if (status == TP_OK)
        status = write_names(w, TP_STATE_PROBLEMS, records->problems,
                             records->problem_count);
    if (status == TP_OK)
        status = write_memo(&w->image, memo, true, w->err);
    return status;
}

enum tp_status tp_state_encode(const struct tp_state_header *header,
                               const struct tp_records *records,
                               const struct tp_memo *memo,
                               struct tp_state_image *image,
                               struct tp_error *err)
{
    struct writer w = {.err = err};
    w.words.part = &w.image.parts[TP_STATE_WORDS];
    w.names.part = &w.image.parts[TP_STATE_NAMES];
    w.image.whole = header->whole;
    enum tp_status status = tp_state_text_add(&w.image.parts[TP_STATE_OPTIONS],
                                              header->options, err);
    if (status == TP_OK)
        status = tp_state_text_add(&w.image.parts[TP_STATE_ROOTS],
                                   header->roots, err);
    if (status == TP_OK)
        status = write_all(&w, records, memo);
    tp_state_numbers_clear(&w.words);
    tp_state_numbers_clear(&w.names);
    *image = w.image;
    return status;
}

enum tp_status tp_state_write(const char *path,
                              const struct tp_state_header *header,
                              const struct tp_records *records,
                              const struct tp_memo *memo, struct tp_error *err)
{
    struct tp_state_image image;
    enum tp_status status = tp_state_encode(header, records, memo, &image, err);
    if (status == TP_OK)
        status = tp_state_image_write(path, &image, err);
    tp_state_image_clear(&image);
    return status;
}

enum tp_status tp_state_keep_memo(const char *path, const struct tp_memo *memo,
                                  struct tp_error *err)
{
    struct tp_state_image image = {.whole = false};
    struct tp_arena arena = {0};
    enum tp_status status = tp_state_image_read(path, &arena, &image, err);
    image.parts[TP_STATE_MEMO].size = 0;
    image.parts[TP_STATE_RESULTS].size = 0;
    if (status == TP_OK)
        status = write_memo(&image, memo, false, err);
    if (status == TP_OK)
        status = tp_state_image_write(path, &image, err);
    tp_state_image_clear(&image);
    tp_arena_clear(&arena);
    return status;
}
