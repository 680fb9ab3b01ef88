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

#include "formats/reader.h"

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
                                   struct tp_dump_print *print)
{
    const struct tp_dtype_info *info = tp_dtype_info(print->dtype);
    enum tp_status status = TP_OK;
    if (print->numel <= 0)
        return TP_OK;
    for (int k = 0; k < TP_PRINT_SAMPLES && status == TP_OK; k++) {
        status = tp_walk_read(walk, place_of(k, print->numel), 1, room->codes,
                              room->walk, NULL);
        print->sample[k] = hash_of(room->codes, info->size);
        if (!is_zero(room->codes, info->size, info->kind == TP_CLASS_FLOAT))
            print->samples |= 1u << k;
    }
    return status;
}

static enum tp_status take_crc(const struct tp_walk *walk,
                               const struct room *room,
                               struct tp_dump_print *print)
{
    const size_t size = tp_dtype_info(print->dtype)->size;
    const int64_t most = (int64_t)(READ_BYTES / size);
    enum tp_status status = TP_OK;
    print->crc = libdeflate_crc32(0, NULL, 0);
    for (int64_t at = 0; at < print->numel && status == TP_OK; at += most) {
        int64_t n = print->numel - at < most ? print->numel - at : most;
        status =
            tp_walk_read(walk, at, (size_t)n, room->codes, room->walk, NULL);
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

static void take(const struct tp_tensor *tensor, const struct room *room,
                 struct tp_dump_print *print)
{
    struct tp_walk walk;
    tp_walk_ordered(tensor, &walk);
    print->dtype = tensor->dtype;
    print->numel = tensor->numel;
    enum tp_status status = take_samples(&walk, room, print);
    if (is_whole(tensor, &walk))
        print->crc = tensor->storage->crc32;
    else if (status == TP_OK)
        status = take_crc(&walk, room, print);
    print->known = status == TP_OK;
}

const struct tp_tensor *tp_dump_item_open(const struct tp_dump_item *item,
                                          struct tp_tensor_file *file)
{
    enum tp_status status = tp_tensor_file_open(item->file, file, NULL);
    return status == TP_OK && item->tensor < file->tensor_count
               ? &file->tensors[item->tensor]
               : NULL;
}

/* --- places
 * ------------------------------------------------------------------- */

struct taker {
    struct tp_dump_place *place;
    const volatile sig_atomic_t *stop;
    struct tp_dump_print *prints;
    struct room *rooms;           /* of each worker                        */
    struct tp_tensor_file *files; /* the same                              */
};

static void take_task(void *context, size_t index, unsigned worker)
{
    struct taker *taker = context;
    struct tp_dump_item *item = &taker->place->items[index];
    struct tp_tensor_file *file = &taker->files[worker];
    taker->prints[index] = (struct tp_dump_print){.known = false};
    if (!item->file || (taker->stop && *taker->stop))
        return;
    const struct tp_tensor *tensor = tp_dump_item_open(item, file);
    if (tensor)
        take(tensor, &taker->rooms[worker], &taker->prints[index]);
    tp_tensor_file_close(file);
    item->has_crc = taker->prints[index].known;
    item->crc = taker->prints[index].crc;
}

static bool provide(struct taker *taker, unsigned workers)
{
    taker->rooms = calloc(workers, sizeof *taker->rooms);
    taker->files = calloc(workers, sizeof *taker->files);
    bool good = taker->rooms && taker->files;
    for (unsigned i = 0; i < workers && good; i++)
        good = tp_provide(&taker->rooms[i].codes, READ_BYTES) &&
               tp_provide(&taker->rooms[i].walk, TP_CHUNK_BYTES);
    return good;
}

enum tp_status tp_dump_prints_take(struct tp_dump_place *place,
                                   struct tp_pool *pool,
                                   const volatile sig_atomic_t *stop,
                                   struct tp_dump_print *prints,
                                   struct tp_error *err)
{
    struct taker taker = {.place = place, .stop = stop, .prints = prints};
    const unsigned workers = tp_pool_size(pool);
    const bool good = provide(&taker, workers);
    if (good)
        tp_pool_for(pool, place->item_count, take_task, &taker);
    for (unsigned i = 0; i < workers; i++) {
        if (taker.rooms) {
            free(taker.rooms[i].codes);
            free(taker.rooms[i].walk);
        }
        if (taker.files)
            tp_arena_clear(&taker.files[i].arena);
    }
    free(taker.rooms);
    free(taker.files);
    if (good && stop && *stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return good ? TP_OK : tp_fail_memory(err);
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
