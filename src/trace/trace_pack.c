/* SPDX-License-Identifier: MIT */
/*
 * A trace to bytes, and back. Rows are copied as they lie in memory but for
 * texts, which become numbers, and for members of less than a word: these are
 * copied one by one, so that no byte between members is ever written, and the
 * same trace gives the same bytes. A table of all members, as states of tensors
 * have one, would say again what tp_trace_lists says; only what is not of words
 * stands here. Reading checks what later stages take for granted: that numbers
 * of texts, truth values and members of enums are such.
 */
#include "trace/trace_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "trace/trace_flops.h"
#include "trace/trace_lists.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- what is less than a word --------------------------------------------- */

/* An enum, or a truth value, of the rows of a list. */
struct small {
    enum tp_trace_list list;
    size_t offset, size;
    unsigned most;
};

#define FLAG(list, row, member)                             \
    {                                                       \
        list, offsetof(struct row, member), sizeof(bool), 1 \
    }
#define ENUM(list, row, member, count)                             \
    {                                                              \
        list, offsetof(struct row, member), sizeof(int), count - 1 \
    }

static const struct small smalls[] = {
    FLAG(TP_TRACE_OPS, tp_op_row, is_device),
    FLAG(TP_TRACE_OP_GROUPS, tp_op_row, is_device),
    FLAG(TP_TRACE_ANNOTATIONS, tp_annotation_row, is_host),
    FLAG(TP_TRACE_MEMORY_ROWS, tp_memory_row, is_host),
    ENUM(TP_TRACE_FRAMES, tp_frame_row, what, TP_FRAME_KINDS),
    ENUM(TP_TRACE_BUSY_ROWS, tp_busy_row, span, TP_BUSY_DEVICE + 1),
    ENUM(TP_TRACE_SYNCS, tp_sync_row, why, TP_SYNC_CAUSES),
    ENUM(TP_TRACE_MEMORY_PEAKS, tp_memory_peak_row, what, TP_MEMORY_KINDS),
    ENUM(TP_TRACE_PATHS, tp_path_row, spent_on, TP_PATH_KINDS),
    ENUM(TP_TRACE_ROOFLINE, tp_roof_row, what, TP_WORK_KINDS),
    ENUM(TP_TRACE_ROOFLINE, tp_roof_row, type, TP_PRECISIONS),
    ENUM(TP_TRACE_ROOFLINE, tp_roof_row, cores, TP_TENSOR_CORES_YES + 1),
    ENUM(TP_TRACE_WHAT_IF, tp_what_if_row, changed, TP_WHAT_IF_CHANGES),
    ENUM(TP_TRACE_LONE_WHAT_IF, tp_what_if_row, changed, TP_WHAT_IF_CHANGES),
    ENUM(TP_TRACE_SPENT, tp_spent_row, what, TP_SPENT_KINDS),
    ENUM(TP_TRACE_STRETCHES, tp_stretch_row, why, TP_IDLE_CAUSES),
    ENUM(TP_TRACE_PIECES, tp_piece_row, spent_on, TP_PATH_KINDS),
};

/* Parts of a trace that are no list: words, or bytes that are truth values. */
struct part {
    size_t offset, size;
};

#define PART(member)                             \
    {                                            \
        offsetof(struct tp_trace, member),       \
            sizeof((struct tp_trace *)0)->member \
    }

static const struct part words[] = {
    PART(played),
    PART(lone_played),
    PART(spent_steps),
    PART(kernel_count),
    PART(kernel_us),
    PART(median_kernel_us),
    PART(short_share),
    PART(mean_queue),
    PART(facts),
    PART(events.base_ns),
    PART(events.rank),
    PART(events.world_size),
    PART(events.backend),
    PART(events.trace_name),
    PART(events.bytes),
    PART(events.seen),
    PART(events.repairs),
    PART(events.untimed),
    PART(events.zeroed),
    PART(events.first_repair),
    PART(events.truncated_at),
    PART(events.array_end),
    PART(events.free_pid),
    PART(events.added),
};

static const struct part flags[] = {
    PART(kept),
    PART(events.has_base),
    PART(events.record_shapes),
    PART(events.profile_memory),
    PART(events.with_stack),
    PART(events.with_modules),
    PART(events.with_flops),
    PART(events.is_list),
};

/* --- writing -------------------------------------------------------------- */

struct packer {
    bool (*number)(void *context, const char *text, uint64_t *number);
    void *context;
    struct tp_text *bytes;
};

/* A text becomes its number. */
static bool replace_text(void *packer, const char **text)
{
    const struct packer *p = packer;
    uint64_t number;
    if (!p->number(p->context, *text ? *text : "", &number))
        return false;
    *text = (const char *)(uintptr_t)number;
    return true;
}

/* Copies of the rows, whose texts may be replaced. */
static bool copy_rows(struct tp_trace *trace)
{
    bool good = true;
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS; i++) {
        size_t count;
        const void *rows = tp_trace_list_rows(trace, i, &count);
        const size_t size = count * tp_trace_lists[i].row_size;
        if (tp_trace_lists[i].single)
            continue;
        void *copy = good ? malloc(size + 1) : NULL;
        if (copy && size)
            memcpy(copy, rows, size);
        good = copy != NULL;
        tp_trace_list_set(trace, i, copy, good ? count : 0);
    }
    return good;
}

static void free_rows(struct tp_trace *trace)
{
    size_t count;
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS; i++) {
        if (!tp_trace_lists[i].single)
            free(tp_trace_list_rows(trace, i, &count));
    }
}

/* Sets what lies beside a small member to zero: its word is its own, or that
 * of others of the table. */
static void clean_row(enum tp_trace_list list, const char *row, char *copy)
{
    for (size_t i = 0; i < COUNT_OF(smalls); i++) {
        if (smalls[i].list == list)
            memset(copy + smalls[i].offset / 8 * 8, 0, 8);
    }
    for (size_t i = 0; i < COUNT_OF(smalls); i++) {
        if (smalls[i].list == list)
            memcpy(copy + smalls[i].offset, row + smalls[i].offset,
                   smalls[i].size);
    }
}

static void pack_list(const struct tp_trace *trace, enum tp_trace_list list,
                      struct tp_text *bytes)
{
    const size_t size = tp_trace_lists[list].row_size;
    size_t count;
    const char *rows = tp_trace_list_rows(trace, list, &count);
    const uint64_t number = count;
    tp_text_bytes(bytes, (const char *)&number, sizeof number);
    const size_t from = bytes->length;
    if (count)
        tp_text_bytes(bytes, rows, count * size);
    for (size_t i = 0; i < count && !bytes->failed; i++)
        clean_row(list, rows + i * size, bytes->data + from + i * size);
}

static void pack_settings(const struct tp_trace *trace, struct tp_text *bytes)
{
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        const struct tp_setting *setting = &trace->settings[i];
        const uint64_t said[] = {setting->known, (uint64_t)setting->value,
                                 (uintptr_t)setting->source};
        tp_text_bytes(bytes, (const char *)said, sizeof said);
    }
}

static void pack_all(const struct tp_trace *trace, struct tp_text *bytes)
{
    const char *from = (const char *)trace;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        tp_text_bytes(bytes, from + words[i].offset, words[i].size);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        tp_text_bytes(bytes, from + flags[i].offset, flags[i].size);
    pack_settings(trace, bytes);
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS; i++)
        pack_list(trace, i, bytes);
}

enum tp_status tp_trace_pack(const struct tp_trace *trace,
                             bool (*number)(void *context, const char *text,
                                            uint64_t *number),
                             void *context, struct tp_text *bytes,
                             struct tp_error *err)
{
    struct packer packer = {number, context, bytes};
    struct tp_trace shadow = *trace;
    const bool good = copy_rows(&shadow) &&
                      tp_trace_each_text(&shadow, replace_text, &packer);
    if (good)
        pack_all(&shadow, bytes);
    free_rows(&shadow);
    return good && !bytes->failed ? TP_OK : tp_fail_memory(err);
}

/* --- reading -------------------------------------------------------------- */

struct unpacker {
    const unsigned char *at;
    size_t left;
    const char *const *texts;
    size_t text_count;
    struct tp_error *err;
};

static enum tp_status fail(const struct unpacker *u, const char *what)
{
    return tp_fail(u->err, TP_E_DAMAGED, -1,
                   "a damaged state: %s of a trace is not what it should be",
                   what);
}

static bool take(struct unpacker *u, void *into, size_t size)
{
    if (size > u->left)
        return false;
    if (size)
        memcpy(into, u->at, size);
    u->at += size;
    u->left -= size;
    return true;
}

/* A number becomes its text. */
static bool find_text(void *unpacker, const char **text)
{
    const struct unpacker *u = unpacker;
    const uint64_t number = (uintptr_t)*text;
    if (number >= u->text_count)
        return false;
    *text = u->texts[number];
    return true;
}

/* The value of a small member. */
static unsigned small_value(const struct small *small, const char *row)
{
    unsigned char byte;
    unsigned value;
    if (small->size == sizeof byte) {
        memcpy(&byte, row + small->offset, sizeof byte);
        return byte;
    }
    memcpy(&value, row + small->offset, sizeof value);
    return value;
}

static bool are_small(enum tp_trace_list list, const char *rows, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(smalls); i++) {
        const char *row = rows;
        for (size_t k = 0; smalls[i].list == list && k < count; k++) {
            if (small_value(&smalls[i], row) > smalls[i].most)
                return false;
            row += tp_trace_lists[list].row_size;
        }
    }
    return true;
}

static enum tp_status unpack_list(struct unpacker *u, enum tp_trace_list list,
                                  struct tp_trace *trace)
{
    const struct tp_trace_list_info *info = &tp_trace_lists[list];
    uint64_t count;
    size_t one;
    if (!take(u, &count, sizeof count) || count > u->left / info->row_size ||
        (info->single && count != 1))
        return fail(u, "a number of rows");
    const size_t size = (size_t)count * info->row_size;
    void *rows = info->single ? tp_trace_list_rows(trace, list, &one)
                 : size       ? malloc(size)
                              : NULL;
    if (!rows && size)
        return tp_fail_memory(u->err);
    take(u, rows, size);
    if (!info->single)
        tp_trace_list_set(trace, list, rows, (size_t)count);
    return are_small(list, rows, (size_t)count) ? TP_OK
                                                : fail(u, "a word of a row");
}

/* Collectives are numbered from 0 on, those of one have one number, and each
 * begins behind an earlier one. */
static bool are_segments(const struct tp_trace *trace)
{
    int64_t next = 0;
    for (size_t i = 0; i < trace->segments.count; i++) {
        const struct tp_segment_row *row = &trace->segments.rows[i];
        next += row->number == next;
        if (row->number < 0 || row->number != next - 1 || row->after < -1 ||
            row->after >= row->number)
            return false;
    }
    return true;
}

static enum tp_status unpack_settings(struct unpacker *u,
                                      struct tp_trace *trace)
{
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        uint64_t said[3];
        if (!take(u, said, sizeof said) || said[0] > 1)
            return fail(u, "a setting");
        trace->settings[i] = (struct tp_setting){
            said[0] != 0, (int64_t)said[1], (const char *)(uintptr_t)said[2]};
    }
    return TP_OK;
}

static enum tp_status unpack_parts(struct unpacker *u, struct tp_trace *trace)
{
    char *into = (char *)trace;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (!take(u, into + words[i].offset, words[i].size))
            return fail(u, "the end");
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        unsigned char flag;
        if (!take(u, &flag, sizeof flag) || flag > 1)
            return fail(u, "a flag");
        memcpy(into + flags[i].offset, &flag, sizeof flag);
    }
    return unpack_settings(u, trace);
}

enum tp_status tp_trace_unpack(const struct tp_trace_packed *packed,
                               struct tp_trace *trace, struct tp_error *err)
{
    struct unpacker u = {packed->bytes, packed->size, packed->texts,
                         packed->text_count, err};
    enum tp_status status = unpack_parts(&u, trace);
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS && status == TP_OK; i++)
        status = unpack_list(&u, i, trace);
    if (status == TP_OK && u.left)
        status = fail(&u, "the length");
    if (status == TP_OK && !are_segments(trace))
        status = fail(&u, "what leads to a collective");
    if (status == TP_OK && !tp_trace_each_text(trace, find_text, &u))
        status = fail(&u, "the number of a text");
    trace->rank = trace->events.rank;
    return status;
}

uint64_t tp_trace_pack_layout(void)
{
    struct tp_digest digest = {{0, 0}};
    const uint32_t order = 0x04030201; /* of bytes */
    tp_digest_add(&digest, &order, sizeof order);
    for (size_t i = 0; i < TP_TRACE_LISTS; i++)
        tp_digest_number(&digest, tp_trace_lists[i].row_size);
    for (size_t i = 0; i < COUNT_OF(smalls); i++) {
        tp_digest_number(&digest, smalls[i].list);
        tp_digest_number(&digest, smalls[i].offset);
        tp_digest_number(&digest, smalls[i].most);
    }
    for (size_t i = 0; i < COUNT_OF(words); i++)
        tp_digest_number(&digest, words[i].size);
    return digest.word[0];
}
