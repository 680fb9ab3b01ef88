/* SPDX-License-Identifier: MIT */
/*
 * Records of traces to the parts of a state, and back. Words of 8 bytes, all in
 * one part:
 *
 *     how many records, how many settings said beside traces
 *     of each record   path, size, time, digest, status, reason, offset, flags,
 *                      bytes of its trace, and these (trace/trace_pack.h)
 *     of each setting  folder, path, and for each setting whether it is known,
 *                      and its value
 *
 * where texts are numbers of the part of words. A part for each kind of row, as
 * states of tensors have them, would make them datasets that others can look
 * into, but these are what trace.h5 has.
 */
#include "state/trace_state.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_image.h"
#include "state/state_texts.h"
#include "trace/trace_lists.h"
#include "trace/trace_pack.h"

/* The words of a record. */
enum {
    R_PATH,
    R_SIZE,
    R_MODIFIED,
    R_DIGEST,
    R_STATUS = R_DIGEST + 2,
    R_REASON,
    R_OFFSET,
    R_NAMED,
    R_EMPTY,
    R_BYTES,
    R_WORDS
};

/* And those of what is said beside a trace. */
enum {
    S_FOLDER,
    S_PATH,
    S_SETTINGS,
    S_WORDS = S_SETTINGS + 2 * TP_SETTING_COUNT
};

void tp_trace_state_clear(struct tp_trace_state *state)
{
    tp_trace_records_clear(&state->records);
    free(state->options);
    free(state->roots);
    memset(state, 0, sizeof *state);
}

/* --- writing -------------------------------------------------------------- */

struct writer {
    struct tp_state_bytes *rows;
    struct tp_state_numbers words;
    struct tp_error *err;
};

static bool is_kept(const struct tp_trace_record *record)
{
    return record->done && !record->elsewhere;
}

static bool number_text(void *writer, const char *text, uint64_t *number)
{
    struct writer *w = writer;
    return tp_state_text_number(&w->words, text, number, w->err) == TP_OK;
}

static enum tp_status write_record(struct writer *w,
                                   const struct tp_trace_record *record)
{
    struct tp_text trace = {0};
    uint64_t words[R_WORDS] = {
        [R_SIZE] = record->size,
        [R_MODIFIED] = (uint64_t)record->modified,
        [R_DIGEST] = record->digest.word[0],
        [R_DIGEST + 1] = record->digest.word[1],
        [R_STATUS] = record->status,
        [R_OFFSET] = (uint64_t)record->offset,
        [R_NAMED] = record->named,
        [R_EMPTY] = record->empty,
    };
    enum tp_status status =
        number_text(w, record->path, &words[R_PATH]) &&
                number_text(w, record->reason, &words[R_REASON])
            ? TP_OK
            : TP_E_MEMORY;
    if (status == TP_OK && record->status == TP_OK)
        status = tp_trace_pack(&record->trace, number_text, w, &trace, w->err);
    words[R_BYTES] = trace.length;
    if (status == TP_OK)
        status = tp_state_bytes_add(w->rows, words, sizeof words, NULL, w->err);
    if (status == TP_OK)
        status = tp_state_bytes_add(w->rows, tp_text_get(&trace), trace.length,
                                    NULL, w->err);
    tp_text_clear(&trace);
    return status;
}

static enum tp_status write_said(struct writer *w,
                                 const struct tp_trace_said *said)
{
    uint64_t words[S_WORDS] = {0};
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        words[S_SETTINGS + 2 * i] = said->settings[i].known;
        words[S_SETTINGS + 2 * i + 1] = (uint64_t)said->settings[i].value;
    }
    if (!number_text(w, said->folder, &words[S_FOLDER]) ||
        !number_text(w, said->path, &words[S_PATH]))
        return TP_E_MEMORY;
    return tp_state_bytes_add(w->rows, words, sizeof words, NULL, w->err);
}

static enum tp_status write_rows(struct writer *w,
                                 const struct tp_trace_records *records)
{
    uint64_t counts[] = {0, records->said.count};
    for (size_t i = 0; i < records->count; i++)
        counts[0] += is_kept(&records->items[i]);
    enum tp_status status =
        tp_state_bytes_add(w->rows, counts, sizeof counts, NULL, w->err);
    for (size_t i = 0; i < records->count && status == TP_OK; i++) {
        if (is_kept(&records->items[i]))
            status = write_record(w, &records->items[i]);
    }
    for (size_t i = 0; i < records->said.count && status == TP_OK; i++)
        status = write_said(w, &records->said.rows[i]);
    return status;
}

static enum tp_status write_problems(struct writer *w,
                                     const struct tp_trace_records *records,
                                     struct tp_state_bytes *part)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < records->problem_count && status == TP_OK; i++) {
        uint64_t word;
        status =
            number_text(w, records->problems[i], &word)
                ? tp_state_bytes_add(part, &word, sizeof word, NULL, w->err)
                : TP_E_MEMORY;
    }
    return status;
}

enum tp_status tp_trace_state_encode(const struct tp_state_header *header,
                                     const struct tp_trace_records *records,
                                     struct tp_state_image *image,
                                     struct tp_error *err)
{
    struct writer w = {.err = err};
    *image = (struct tp_state_image){.whole = header->whole, .traces = true};
    w.rows = &image->parts[TP_STATE_RESULTS];
    w.words.part = &image->parts[TP_STATE_WORDS];
    enum tp_status status = tp_state_text_add(&image->parts[TP_STATE_OPTIONS],
                                              header->options, err);
    if (status == TP_OK)
        status = tp_state_text_add(&image->parts[TP_STATE_ROOTS], header->roots,
                                   err);
    if (status == TP_OK)
        status = write_rows(&w, records);
    if (status == TP_OK)
        status = write_problems(&w, records, &image->parts[TP_STATE_PROBLEMS]);
    tp_state_numbers_clear(&w.words);
    return status;
}

enum tp_status tp_trace_state_write(const char *path,
                                    const struct tp_state_header *header,
                                    const struct tp_trace_records *records,
                                    struct tp_error *err)
{
    struct tp_state_image image;
    enum tp_status status = tp_trace_state_encode(header, records, &image, err);
    if (status == TP_OK)
        status = tp_state_image_write(path, &image, err);
    tp_state_image_clear(&image);
    return status;
}

/* --- reading -------------------------------------------------------------- */

struct reader {
    const struct tp_state_bytes *rows;
    size_t at;
    struct tp_state_words words;
    struct tp_trace_records *records;
    struct tp_error *err;
};

static enum tp_status fail(const struct reader *r, const char *what)
{
    return tp_fail(r->err, TP_E_DAMAGED, -1,
                   "a damaged state: %s is not what it should be", what);
}

static size_t rest_of(const struct reader *r)
{
    return r->rows->size - r->at;
}

static bool read_words(struct reader *r, uint64_t *words, size_t count)
{
    if (rest_of(r) / sizeof *words < count)
        return false;
    memcpy(words, r->rows->data + r->at, count * sizeof *words);
    r->at += count * sizeof *words;
    return true;
}

/* One pointer for each word. */
static enum tp_status read_texts(struct reader *r,
                                 const struct tp_state_bytes *part)
{
    enum tp_status status = tp_state_texts_view(part, &r->words, r->err);
    for (size_t i = 0; i < r->words.count && status == TP_OK; i++) {
        r->words.texts[i] =
            tp_intern(&r->records->texts, r->records->arena, r->words.texts[i]);
        status = r->words.texts[i] ? TP_OK : tp_fail_memory(r->err);
    }
    return status;
}

static enum tp_status read_trace(struct reader *r, uint64_t bytes,
                                 struct tp_trace_record *record)
{
    if (bytes > rest_of(r) || tp_state_room((size_t)bytes) > rest_of(r))
        return fail(r, "the length of a trace");
    const struct tp_trace_packed packed = {r->rows->data + r->at, (size_t)bytes,
                                           r->words.texts, r->words.count};
    r->at += tp_state_room((size_t)bytes);
    record->trace.path = record->path;
    return record->status == TP_OK
               ? tp_trace_unpack(&packed, &record->trace, r->err)
               : TP_OK;
}

static enum tp_status read_record(struct reader *r,
                                  struct tp_trace_record *record)
{
    uint64_t words[R_WORDS];
    if (!read_words(r, words, R_WORDS) || words[R_PATH] >= r->words.count ||
        words[R_REASON] >= r->words.count)
        return fail(r, "a file");
    if (words[R_STATUS] > TP_E_NOT_FOUND || words[R_STATUS] == TP_E_MEMORY ||
        words[R_NAMED] > 1 || words[R_EMPTY] > 1)
        return fail(r, "what became of a file");
    *record = (struct tp_trace_record){
        .path = r->words.texts[words[R_PATH]],
        .size = words[R_SIZE],
        .modified = (int64_t)words[R_MODIFIED],
        .digest = {{words[R_DIGEST], words[R_DIGEST + 1]}},
        .status = (enum tp_status)words[R_STATUS],
        .reason = r->words.texts[words[R_REASON]],
        .offset = (int64_t)words[R_OFFSET],
        .named = words[R_NAMED] != 0,
        .empty = words[R_EMPTY] != 0,
        .done = true};
    return read_trace(r, words[R_BYTES], record);
}

static enum tp_status read_records(struct reader *r, uint64_t count)
{
    struct tp_trace_records *records = r->records;
    if (count > rest_of(r) / (R_WORDS * sizeof(uint64_t)))
        return fail(r, "the number of its files");
    records->items = calloc((size_t)count + 1, sizeof *records->items);
    if (!records->items)
        return tp_fail_memory(r->err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_trace_record *record = &records->items[records->count++];
        status = read_record(r, record);
        if (status == TP_OK && i && strcmp(record[-1].path, record->path) > 0)
            status = fail(r, "the order of its files");
    }
    return status;
}

static enum tp_status read_one_said(struct reader *r,
                                    struct tp_trace_said *said)
{
    uint64_t words[S_WORDS];
    if (!read_words(r, words, S_WORDS) || words[S_FOLDER] >= r->words.count ||
        words[S_PATH] >= r->words.count)
        return fail(r, "a setting beside a trace");
    *said = (struct tp_trace_said){.folder = r->words.texts[words[S_FOLDER]],
                                   .path = r->words.texts[words[S_PATH]]};
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        if (words[S_SETTINGS + 2 * i] > 1)
            return fail(r, "a setting beside a trace");
        said->settings[i].known = words[S_SETTINGS + 2 * i] != 0;
        said->settings[i].value = (int64_t)words[S_SETTINGS + 2 * i + 1];
    }
    return TP_OK;
}

static enum tp_status read_said(struct reader *r, uint64_t count)
{
    struct tp_trace_said_list *said = &r->records->said;
    if (count > rest_of(r) / (S_WORDS * sizeof(uint64_t)))
        return fail(r, "the number of settings");
    enum tp_status status =
        tp_grow(&said->rows, &said->capacity, (size_t)count + 1,
                sizeof *said->rows, r->err);
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = read_one_said(r, &said->rows[said->count++]);
    return status == TP_OK && rest_of(r) ? fail(r, "its end") : status;
}

static enum tp_status read_problems(struct reader *r,
                                    const struct tp_state_bytes *part)
{
    struct tp_trace_records *records = r->records;
    const size_t count = part->size / sizeof(uint64_t);
    records->problems = calloc(count + 1, sizeof *records->problems);
    if (!records->problems)
        return tp_fail_memory(r->err);
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, part->data + i * sizeof word, sizeof word);
        if (word >= r->words.count)
            return fail(r, "a name");
        records->problems[records->problem_count++] = r->words.texts[word];
    }
    return TP_OK;
}

enum tp_status tp_trace_state_decode(const struct tp_state_image *image,
                                     struct tp_trace_state *state,
                                     struct tp_error *err)
{
    struct reader r = {.rows = &image->parts[TP_STATE_RESULTS],
                       .records = &state->records,
                       .err = err};
    uint64_t counts[2];
    enum tp_status status = tp_state_text_copy(&image->parts[TP_STATE_OPTIONS],
                                               &state->options, err);
    if (status == TP_OK)
        status = tp_state_text_copy(&image->parts[TP_STATE_ROOTS],
                                    &state->roots, err);
    if (status == TP_OK)
        status = read_texts(&r, &image->parts[TP_STATE_WORDS]);
    if (status == TP_OK && !read_words(&r, counts, 2))
        status = fail(&r, "the number of its files");
    if (status == TP_OK)
        status = read_records(&r, counts[0]);
    if (status == TP_OK)
        status = read_said(&r, counts[1]);
    if (status == TP_OK)
        status = read_problems(&r, &image->parts[TP_STATE_PROBLEMS]);
    free(r.words.texts);
    state->whole = image->whole;
    return status;
}

enum tp_status tp_trace_state_read(const char *path,
                                   struct tp_trace_state *state,
                                   struct tp_error *err)
{
    struct tp_state_image image = {.traces = true};
    enum tp_status status =
        tp_state_image_read(path, state->records.arena, &image, err);
    if (status == TP_OK)
        status = tp_trace_state_decode(&image, state, err);
    tp_state_image_clear(&image);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}
