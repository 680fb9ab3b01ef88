/* SPDX-License-Identifier: MIT */
/*
 * The audits of flow and of copies ask of 10^5 tensors which are equal and
 * which nearly are. For the first a CRC-32 will do, which torch.save has
 * written already. For the second, samples at the same pseudo-random places of
 * every tensor of a size: of two that differ in a tenth of their elements nine
 * of ten samples are equal, of unrelated ones none but zeros. Hashes of pieces
 * (rsync, content-defined chunks) would miss what is changed in every piece.
 * Cost: opening each file and 32 small readings of it.
 */
#include "dump/dump_print.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump_reread.h"

/* Elements are read so many bytes at a time. */
enum { READ_BYTES = 256 << 10 };

/* --- samples -----------------------------------------------------------------
 */

/* The finaliser of MurmurHash3 for 64 bits. */
static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ (value >> 33);
}

/* The element that sample k shows: one of the k-th part of all. */
static int64_t place_of(int k, int64_t numel)
{
    const int64_t begin = (int64_t)((__int128)numel * k / TP_PRINT_SAMPLES);
    const int64_t end = (int64_t)((__int128)numel * (k + 1) / TP_PRINT_SAMPLES);
    const uint64_t length = (uint64_t)(end > begin ? end - begin : 1);
    return begin + (int64_t)(mix((uint64_t)k + 1) % length);
}

/* Whether an element is zero, of either sign where the dtype has one. */
static bool is_zero(const unsigned char *code, size_t size, bool real)
{
    unsigned char any = 0;
    for (size_t i = 0; i < size; i++)
        any |= real && i == size - 1 ? code[i] & 0x7f : code[i];
    return any == 0;
}

static uint32_t hash_of(const unsigned char *code, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 0; at < size; at += sizeof hash) {
        uint64_t part = 0;
        memcpy(&part, code + at,
               size - at < sizeof part ? size - at : sizeof part);
        hash = mix(hash ^ part);
    }
    return (uint32_t)hash;
}

/* --- reading
 * ------------------------------------------------------------------ */

struct room {
    unsigned char *codes; /* READ_BYTES                                    */
    unsigned char *walk;  /* TP_CHUNK_BYTES                                */
};

static enum tp_status take_samples(const struct tp_walk *walk,
                                   const struct room *room,
                                   struct tp_dump_print *print,
                                   struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(print->dtype);
    enum tp_status status = TP_OK;
    if (print->numel <= 0)
        return TP_OK;
    for (int k = 0; k < TP_PRINT_SAMPLES && status == TP_OK; k++) {
        status = tp_walk_read(walk, place_of(k, print->numel), 1, room->codes,
                              room->walk, err);
        print->sample[k] = hash_of(room->codes, info->size);
        if (!is_zero(room->codes, info->size, info->kind == TP_CLASS_FLOAT))
            print->samples |= 1u << k;
    }
    return status;
}

static enum tp_status take_crc(const struct tp_walk *walk,
                               const struct room *room,
                               struct tp_dump_print *print,
                               struct tp_error *err)
{
    const size_t size = tp_dtype_info(print->dtype)->size;
    const int64_t most = (int64_t)(READ_BYTES / size);
    enum tp_status status = TP_OK;
    print->crc = libdeflate_crc32(0, NULL, 0);
    for (int64_t at = 0; at < print->numel && status == TP_OK; at += most) {
        int64_t n = print->numel - at < most ? print->numel - at : most;
        status =
            tp_walk_read(walk, at, (size_t)n, room->codes, room->walk, err);
        print->crc =
            libdeflate_crc32(print->crc, room->codes, (size_t)n * size);
    }
    return status;
}

/* Whether the storage is the tensor and nothing else. */
static bool is_whole(const struct tp_tensor *tensor, const struct tp_walk *walk)
{
    const struct tp_storage *storage = tensor->storage;
    return storage && storage->has_crc32 && walk->dense && walk->repeat == 1 &&
           tensor->offset == 0 && !tensor->conjugated && !tensor->negated &&
           !storage->big_endian &&
           (uint64_t)tensor->numel * tp_dtype_info(tensor->dtype)->size ==
               storage->size;
}

static enum tp_status take(const struct tp_tensor *tensor,
                           const struct room *room,
                           struct tp_dump_print *print, struct tp_error *err)
{
    struct tp_walk walk;
    tp_walk_ordered(tensor, &walk);
    print->dtype = tensor->dtype;
    print->numel = tensor->numel;
    enum tp_status status = take_samples(&walk, room, print, err);
    if (is_whole(tensor, &walk))
        print->crc = tensor->storage->crc32;
    else if (status == TP_OK)
        status = take_crc(&walk, room, print, err);
    print->known = status == TP_OK;
    return status;
}

/* --- places
 * ------------------------------------------------------------------- */

/* What a worker has. */
struct worker {
    struct room room;
    struct tp_dump_reread reading;
    size_t unread, first; /* items, and the first of them                  */
    struct tp_error why;  /* it could not be                               */
    bool memory;          /* failed                                        */
};

struct taker {
    const struct tp_dump_print_from *from;
    struct tp_dump_print *prints;
    struct worker *workers;
};

static void take_task(void *context, size_t index, unsigned number)
{
    const struct taker *taker = context;
    struct worker *worker = &taker->workers[number];
    struct tp_dump_item *item = &taker->from->place->items[index];
    struct tp_dump_print *print = &taker->prints[index];
    struct tp_dump_reread *reading = &worker->reading;
    *print = (struct tp_dump_print){.known = false};
    if (taker->from->stop && *taker->from->stop)
        return;
    tp_dump_reread_open(reading, item);
    if (reading->tensor)
        reading->status =
            take(reading->tensor, &worker->room, print, &reading->why);
    const enum tp_status status = tp_dump_reread_close(reading);
    print->known = print->known && status == TP_OK;
    item->has_crc = print->known;
    item->crc = print->crc;
    if (status == TP_OK)
        return;
    worker->memory |= status == TP_E_MEMORY;
    if (worker->unread++ == 0 || index < worker->first) {
        worker->first = index;
        worker->why = reading->why;
    }
}

/* What the workers could not read. */
static void tell_unread(const struct taker *taker, unsigned workers)
{
    const struct tp_dump_print_from *from = taker->from;
    const struct worker *first = NULL;
    size_t count = 0;
    for (unsigned i = 0; i < workers; i++) {
        const struct worker *worker = &taker->workers[i];
        count += worker->unread;
        if (worker->unread && (!first || worker->first < first->first))
            first = worker;
    }
    if (!first)
        return;
    tp_dump_unread_add(from->unread, from->arena,
                       from->place->items[first->first].file->path,
                       &first->why);
    from->unread->count += count - 1;
}

enum tp_status tp_dump_prints_take(const struct tp_dump_print_from *from,
                                   struct tp_dump_print *prints,
                                   struct tp_error *err)
{
    struct taker taker = {.from = from, .prints = prints};
    const unsigned workers = tp_pool_size(from->pool);
    taker.workers = calloc(workers, sizeof *taker.workers);
    bool good = taker.workers;
    for (unsigned i = 0; i < workers && good; i++)
        good = tp_provide(&taker.workers[i].room.codes, READ_BYTES) &&
               tp_provide(&taker.workers[i].room.walk, TP_CHUNK_BYTES);
    if (good) {
        tp_pool_for(from->pool, from->place->item_count, take_task, &taker);
        tell_unread(&taker, workers);
    }
    for (unsigned i = 0; taker.workers && i < workers; i++) {
        struct worker *worker = &taker.workers[i];
        good &= !worker->memory;
        free(worker->room.codes);
        free(worker->room.walk);
        tp_dump_reread_clear(&worker->reading);
    }
    free(taker.workers);
    if (!good)
        return tp_fail_memory(err);
    return from->stop && *from->stop
               ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted")
               : TP_OK;
}

/* --- comparing
 * ---------------------------------------------------------------- */

bool tp_dump_print_equal(const struct tp_dump_print *a,
                         const struct tp_dump_print *b)
{
    return a->known && b->known && a->dtype == b->dtype &&
           a->numel == b->numel && a->crc == b->crc &&
           !memcmp(a->sample, b->sample, sizeof a->sample);
}

int tp_dump_print_shared(const struct tp_dump_print *a,
                         const struct tp_dump_print *b)
{
    int shared = 0;
    for (int k = 0; k < TP_PRINT_SAMPLES; k++)
        shared +=
            (a->samples & b->samples) >> k & 1 && a->sample[k] == b->sample[k];
    return shared;
}

int tp_dump_print_count(const struct tp_dump_print *print)
{
    return __builtin_popcount(print->samples);
}

int tp_dump_print_values(const struct tp_dump_print *print)
{
    int values = 0;
    for (int k = 0; k < TP_PRINT_SAMPLES; k++) {
        bool fresh = print->samples >> k & 1;
        for (int i = 0; i < k && fresh; i++)
            fresh = !(print->samples >> i & 1) ||
                    print->sample[i] != print->sample[k];
        values += fresh;
    }
    return values;
}
