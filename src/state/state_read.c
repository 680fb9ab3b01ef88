/* SPDX-License-Identifier: MIT */
/*
 * From the parts of a state to records. Words of labels are interned once for
 * each state, rows take them by their number; what is packed stays where it was
 * read. Everything is checked against what is there, since the later stages
 * trust their rows: a number of a text, the values of an enum, the lengths of
 * what is packed, and that the counts of the records add up. Cost: some 40
 * words a row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "state/state.h"
#include "state/state_image.h"
#include "state/state_members.h"
#include "state/state_numbers.h"
#include "state/state_texts.h"

/* The parts being read, and how far. */
struct reader {
    struct tp_state_image *image;
    struct tp_state *state;
    struct tp_state_words words, names;
    struct tp_state_reader numbers, axes;
    size_t at[TP_STATE_PARTS]; /* of what a part is of: structs, or words  */
    uint64_t last_target; /* a word and its number format                  */
    const struct tp_number *last_number;
    struct tp_error *err;
};

void tp_state_drop_items(struct tp_state *state)
{
    if (state->records.items != state->record_room)
        free(state->records.items);
    state->records.items = NULL;
    state->records.count = 0;
}

void tp_state_clear(struct tp_state *state)
{
    if (state->record_room) /* rows of what is in the room are not its own */
        tp_state_drop_items(state);
    tp_records_clear(&state->records);
    free(state->options);
    free(state->roots);
    memset(state, 0, sizeof *state);
}

static enum tp_status fail(const struct reader *r, const char *what)
{
    return tp_fail(r->err, TP_E_DAMAGED, -1,
                   "a damaged state: %s is not what it should be", what);
}

/* --- texts ---------------------------------------------------------------- */

/* What rows point to is the arena's, unless an image was made otherwise. */
static enum tp_status keep_part(struct reader *r, enum tp_state_part part)
{
    struct tp_state_bytes *bytes = &r->image->parts[part];
    if (bytes->capacity == 0)
        return TP_OK;
    unsigned char *kept = tp_arena_alloc(r->state->records.arena, bytes->size);
    if (!kept)
        return tp_fail_memory(r->err);
    if (bytes->size)
        memcpy(kept, bytes->data, bytes->size);
    free(bytes->data);
    *bytes = (struct tp_state_bytes){.data = kept, .size = bytes->size};
    return TP_OK;
}

/* One pointer for each word. */
static enum tp_status intern_texts(struct reader *r, struct tp_intern *set,
                                   struct tp_arena *arena,
                                   struct tp_state_words *texts)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < texts->count && status == TP_OK; i++) {
        texts->texts[i] = tp_intern(set, arena, texts->texts[i]);
        status = texts->texts[i] ? TP_OK : tp_fail_memory(r->err);
    }
    return status;
}

static enum tp_status intern_words(struct reader *r)
{
    struct tp_records *records = &r->state->records;
    struct tp_state_words_of_all *shared = r->state->shared;
    if (!shared)
        return intern_texts(r, &records->texts, records->arena, &r->words);
    pthread_mutex_lock(&shared->lock);
    enum tp_status status =
        intern_texts(r, &shared->texts, &shared->arena, &r->words);
    pthread_mutex_unlock(&shared->lock);
    return status;
}

/* --- members -------------------------------------------------------------- */

/* What overflow may be judged against: a format of the table, or a dtype. */
static const struct tp_number *find_number(const char *id)
{
    const struct tp_number *found = tp_number_by_id(id);
    for (int i = 0; i < TP_DTYPE_COUNT && !found; i++) {
        const struct tp_number *its = tp_number_by_dtype((enum tp_dtype)i);
        found = its && strcmp(its->id, id) == 0 ? its : NULL;
    }
    return found;
}

static bool read_target(struct reader *r, uint64_t word,
                        const struct tp_number **target)
{
    if (word >= r->words.count)
        return false;
    if (word != r->last_target) {
        const char *id = r->words.texts[word];
        r->last_number = *id ? find_number(id) : NULL;
        if (*id && !r->last_number)
            return false;
        r->last_target = word;
    }
    *target = r->last_number;
    return true;
}

/* The text or number that a word stands for. */
static bool read_pointer(struct reader *r, enum tp_state_kind kind,
                         uint64_t word, const void **value)
{
    const struct tp_state_words *texts =
        kind == TP_STATE_WORD ? &r->words : &r->names;
    const struct tp_number *target = NULL;
    bool good = true;
    *value = NULL;
    switch (kind) {
    case TP_STATE_TARGET:
        good = read_target(r, word, &target);
        *value = target;
        return good;
    case TP_STATE_SAID:
        if (word == UINT64_MAX)
            return true;
        /* fall through */
    case TP_STATE_WORD:
    case TP_STATE_NAME:
        *value = word < texts->count ? texts->texts[word] : NULL;
        return *value != NULL;
    default:
        if (word == UINT64_MAX)
            return kind != TP_STATE_PACKED;
        *value = tp_state_number_next(
            kind == TP_STATE_DIMS ? &r->axes : &r->numbers, kind, word);
        return *value != NULL;
    }
}

/* Words of one member, one behind the other, and the first struct they go to.
 */
struct column {
    const struct tp_state_member *member;
    const unsigned char *words;
    char *at;
    size_t size; /* of a struct                                           */
};

static uint64_t word_of(const struct column *c, size_t index)
{
    uint64_t word;
    memcpy(&word, c->words + index * sizeof word, sizeof word);
    return word;
}

static void read_words(const struct column *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(c->at + i * c->size, c->words + i * sizeof(uint64_t),
               sizeof(uint64_t));
}

static bool read_enums(const struct column *c, size_t count)
{
    const uint64_t most = c->member->most;
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = word_of(c, i);
        const unsigned number = (unsigned)word;
        good = good && word <= most;
        memcpy(c->at + i * c->size, &number, sizeof number);
    }
    return good;
}

static bool read_flags(const struct column *c, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = word_of(c, i);
        const bool flag = word == 1;
        good = good && word <= 1;
        memcpy(c->at + i * c->size, &flag, sizeof flag);
    }
    return good;
}

static bool read_pointers(struct reader *r, const struct column *c,
                          size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const void *value;
        if (!read_pointer(r, c->member->kind, word_of(c, i), &value))
            return false;
        memcpy(c->at + i * c->size, &value, sizeof value);
    }
    return true;
}

static bool read_column(struct reader *r, const struct column *c, size_t count)
{
    switch (c->member->kind) {
    case TP_STATE_INT64:
    case TP_STATE_SIZE:
    case TP_STATE_REAL:
        read_words(c, count);
        return true;
    case TP_STATE_ENUM:
        return read_enums(c, count);
    case TP_STATE_FLAG:
        return read_flags(c, count);
    default:
        return read_pointers(r, c, 0, count);
    }
}

/* Whether what a member stands for lies in the order of the structs. */
static bool is_packed(enum tp_state_kind kind)
{
    return kind >= TP_STATE_PACKED;
}

/* What follows from what was packed, which is in the cache. */
static void complete_row(struct tp_row *row)
{
    struct tp_numbers numbers;
    row->counts = row->packed->counts;
    tp_scalars_of(&row->packed->counts, &row->packed->moments,
                  &row->packed->extrema, &numbers);
    memcpy(numbers.quantile, row->numbers.quantile, sizeof numbers.quantile);
    row->numbers = numbers;
}

/* How many a part has, and how many of them are left. */
static size_t count_of(const struct reader *r, enum tp_state_part part)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    const size_t words = r->image->parts[part].size / sizeof(uint64_t);
    return members ? words / members->count : words;
}

static size_t rest_of(const struct reader *r, enum tp_state_part part)
{
    return count_of(r, part) - r->at[part];
}

/* The next structs of a part, few enough to stay in the first cache, 18 kB of
 * rows: member by member, and then, struct by struct, what is packed. */
static enum tp_status read_block(struct reader *r, enum tp_state_part part,
                                 char *into, size_t count)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    const struct tp_state_bytes *bytes = &r->image->parts[part];
    const size_t all = count_of(r, part);
    struct column packed[TP_STATE_CODES - TP_STATE_PACKED + 1];
    size_t packed_count = 0;
    for (size_t m = 0; m < members->count; m++) {
        const struct tp_state_member *member = &members->members[m];
        const size_t first = m * all + r->at[part];
        const struct column c = {member, bytes->data + first * sizeof(uint64_t),
                                 into + member->offset, members->size};
        if (is_packed(member->kind))
            packed[packed_count++] = c;
        else if (!read_column(r, &c, count))
            return fail(r, member->name);
    }
    for (size_t i = 0; packed_count && i < count; i++) {
        for (size_t k = 0; k < packed_count; k++) {
            if (!read_pointers(r, &packed[k], i, i + 1))
                return fail(r, packed[k].member->name);
        }
        if (part == TP_STATE_ROWS)
            complete_row((struct tp_row *)(void *)into + i);
    }
    r->at[part] += count;
    return TP_OK;
}

/* The next structs of a part. */
static enum tp_status read_structs(struct reader *r, enum tp_state_part part,
                                   void *into, size_t count)
{
    enum { BLOCK = 32, READY = 8 * BLOCK };
    const size_t size = tp_state_members_of(part)->size;
    enum tp_status status = TP_OK;
    if (count > rest_of(r, part))
        return fail(r, "the number of its rows");
    for (size_t i = 0; i < count && status == TP_OK; i += BLOCK) {
        const size_t left = count - i;
        char *to = (char *)into + i * size;
        if (i % READY == 0)
            tp_memory_ready(to, (left < READY ? left : READY) * size);
        status = read_block(r, part, to, left < BLOCK ? left : BLOCK);
    }
    return status;
}

/* The next texts of a list of names. */
static enum tp_status read_names(struct reader *r, enum tp_state_part part,
                                 const char **texts, size_t count)
{
    const struct tp_state_bytes *bytes = &r->image->parts[part];
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, bytes->data + r->at[part] * sizeof word, sizeof word);
        if (word >= r->names.count)
            return fail(r, "a name");
        texts[i] = r->names.texts[word];
        r->at[part]++;
    }
    return TP_OK;
}

/* --- records -------------------------------------------------------------- */

static enum tp_status read_ties(struct reader *r, struct tp_record *record)
{
    if (record->tie_count > rest_of(r, TP_STATE_TIES))
        return fail(r, "a number of files");
    if (record->tie_count == 0)
        return TP_OK;
    record->ties = tp_arena_alloc(r->state->records.arena,
                                  record->tie_count * sizeof *record->ties);
    return record->ties
               ? read_names(r, TP_STATE_TIES, record->ties, record->tie_count)
               : tp_fail_memory(r->err);
}

/* Rows and what was skipped of a record, which were read. */
static enum tp_status read_record(struct reader *r, struct tp_row *rows,
                                  struct tp_skipped *skipped,
                                  struct tp_record *record)
{
    struct tp_records *records = &r->state->records;
    const char *file = tp_text_is_utf8(record->path)
                           ? record->path
                           : tp_records_text(records, record->path);
    if (!file)
        return tp_fail_memory(r->err);
    record->rows = rows;
    record->skipped = skipped;
    record->borrowed = record->done = true;
    for (size_t i = 0; i < record->row_count; i++)
        rows[i].file = file;
    for (size_t i = 0; i < record->skipped_count; i++)
        skipped[i].file = file;
    return read_ties(r, record);
}

/* The records, sorted by path. */
static enum tp_status read_records(struct reader *r)
{
    struct tp_records *records = &r->state->records;
    const size_t rows = rest_of(r, TP_STATE_ROWS);
    const size_t skipped = rest_of(r, TP_STATE_SKIPPED);
    const size_t count = rest_of(r, TP_STATE_FILES);
    struct tp_row *into =
        rows <= r->state->row_room_count ? r->state->row_room : NULL;
    if (!into)
        into = records->all_rows = calloc(rows + 1, sizeof *into);
    records->all_skipped = calloc(skipped + 1, sizeof *records->all_skipped);
    records->items = count <= r->state->record_room_count
                         ? r->state->record_room
                         : NULL;
    if (!records->items)
        records->items = calloc(count + 1, sizeof *records->items);
    if (!into || !records->all_skipped || !records->items)
        return tp_fail_memory(r->err);
    enum tp_status status = read_structs(r, TP_STATE_ROWS, into, rows);
    if (status == TP_OK)
        status =
            read_structs(r, TP_STATE_SKIPPED, records->all_skipped, skipped);
    if (status == TP_OK)
        status = read_structs(r, TP_STATE_FILES, records->items, count);
    if (status != TP_OK)
        return status;
    size_t row = 0, skip = 0;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_record *record = &records->items[i];
        if (record->row_count > rows - row ||
            record->skipped_count > skipped - skip)
            return fail(r, "the number of its rows");
        status =
            read_record(r, &into[row], &records->all_skipped[skip], record);
        if (status == TP_OK && i && strcmp(record[-1].path, record->path) > 0)
            status = fail(r, "the order of its files");
        row += record->row_count;
        skip += record->skipped_count;
        records->count += status == TP_OK;
    }
    if (status == TP_OK &&
        (row < rows || skip < skipped || rest_of(r, TP_STATE_TIES)))
        status = fail(r, "the number of its rows");
    return status;
}

static enum tp_status read_problems(struct reader *r)
{
    struct tp_records *records = &r->state->records;
    records->problem_count = rest_of(r, TP_STATE_PROBLEMS);
    records->problems =
        calloc(records->problem_count + 1, sizeof *records->problems);
    return records->problems
               ? read_names(r, TP_STATE_PROBLEMS, records->problems,
                            records->problem_count)
               : tp_fail_memory(r->err);
}

/* --- memo ----------------------------------------------------------------- */

static enum tp_status read_memo(struct reader *r, struct tp_memo *memo)
{
    const struct tp_state_bytes *results = &r->image->parts[TP_STATE_RESULTS];
    unsigned char *copy = tp_arena_alloc(&memo->arena, results->size);
    size_t next = 0;
    enum tp_status status = copy ? TP_OK : tp_fail_memory(r->err);
    if (copy && results->size)
        memcpy(copy, results->data, results->size);
    while (status == TP_OK && rest_of(r, TP_STATE_MEMO)) {
        struct tp_memo_entry entry = {.used = false};
        status = read_structs(r, TP_STATE_MEMO, &entry, 1);
        if (status == TP_OK && entry.size > results->size - next)
            status = fail(r, "the length of a result");
        if (status != TP_OK)
            break;
        entry.bytes = copy + next;
        next += tp_state_room(entry.size);
        status = tp_memo_add(memo, &entry, r->err);
    }
    return status;
}

static enum tp_status read_all(struct reader *r, struct tp_memo *memo)
{
    enum tp_status status = keep_part(r, TP_STATE_NAMES);
    if (status == TP_OK)
        status = keep_part(r, TP_STATE_NUMBERS);
    if (status == TP_OK)
        status = keep_part(r, TP_STATE_AXES);
    if (status == TP_OK)
        status = tp_state_texts_view(&r->image->parts[TP_STATE_WORDS],
                                     &r->words, r->err);
    if (status == TP_OK)
        status = intern_words(r);
    if (status == TP_OK)
        status = tp_state_texts_view(&r->image->parts[TP_STATE_NAMES],
                                     &r->names, r->err);
    r->last_target = UINT64_MAX;
    r->numbers = (struct tp_state_reader){
        .numbers = &r->image->parts[TP_STATE_NUMBERS], .words = r->words};
    r->axes =
        (struct tp_state_reader){.numbers = &r->image->parts[TP_STATE_AXES]};
    if (status == TP_OK)
        status = read_records(r);
    if (status == TP_OK)
        status = read_problems(r);
    if (status == TP_OK && memo) {
        pthread_mutex_lock(&memo->lock);
        status = read_memo(r, memo);
        pthread_mutex_unlock(&memo->lock);
    }
    return status;
}

enum tp_status tp_state_decode(struct tp_state_image *image,
                               struct tp_state *state, struct tp_memo *memo,
                               struct tp_error *err)
{
    struct reader r = {.image = image, .state = state, .err = err};
    enum tp_status status = tp_state_text_copy(&image->parts[TP_STATE_OPTIONS],
                                               &state->options, err);
    if (status == TP_OK)
        status = tp_state_text_copy(&image->parts[TP_STATE_ROOTS],
                                    &state->roots, err);
    if (status == TP_OK)
        status = read_all(&r, memo);
    free(r.words.texts);
    free(r.names.texts);
    state->whole = image->whole;
    state->casts = r.numbers.casts;
    return status;
}

enum tp_status tp_state_read_by(struct tp_state_image *image, const char *path,
                                struct tp_state *state, struct tp_memo *memo,
                                struct tp_error *err)
{
    tp_state_image_reuse(image);
    enum tp_status status =
        tp_state_image_read(path, state->records.arena, image, err);
    if (status == TP_OK)
        status = tp_state_decode(image, state, memo, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}

enum tp_status tp_state_read(const char *path, struct tp_state *state,
                             struct tp_memo *memo, struct tp_error *err)
{
    struct tp_state_image image = {.whole = false};
    enum tp_status status = tp_state_read_by(&image, path, state, memo, err);
    tp_state_image_clear(&image);
    return status;
}
