/* SPDX-License-Identifier: MIT */
/*
 * What torch.package.PackageExporter writes: a zip archive
 *
 *     TOP/NAME/FILE.pkl     pickles, wherever the user wanted them
 *     TOP/.data/N.storage   the bytes of one storage, shared by all of them
 *     TOP/byteorder         "little" or "big"
 *     TOP/...               sources of modules, and other resources
 *
 * Every pickle is read as one of torch.save, but that the key of a storage is
 * the number N; its tensors are called NAME/FILE.pkl:PATH. Sources and
 * resources are left alone, and no module of the package is imported: pickles
 * of its own classes give what their attributes hold. Cost: as for torch.save,
 * for each pickle.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "data/tensor_path.h"
#include "formats/torch/torch_formats.h"
#include "formats/torch/torch_legacy.h"
#include "formats/torch/torch_object.h"
#include "formats/torch/torch_parts.h"
#include "formats/torch/torch_zip.h"

enum { NAME_MAX_BYTES = 1024 };

struct package {
    struct tp_torch_source source;
    struct tp_zip *zip;
    struct tp_arena *arena;
    char top[NAME_MAX_BYTES]; /* with its slash */
    bool big_endian;
    uint64_t unpacked; /* bytes of deflated pickles, which stay in memory  */
};

static enum tp_status resolve(struct tp_torch_source *source,
                              struct tp_torch_entry *entry,
                              struct tp_error *err)
{
    struct package *p = (struct package *)source;
    char name[NAME_MAX_BYTES + 64];
    struct tp_zip_record record;
    if (entry->id.number < 0)
        return tp_fail(err, TP_E_DAMAGED, entry->id.at,
                       "the key of its storage is no number");
    snprintf(name, sizeof name, "%s.data/%" PRId64 ".storage", p->top,
             entry->id.number);
    enum tp_status status = tp_zip_find(p->zip, name, &record, err);
    if (status == TP_E_NOT_FOUND)
        return tp_fail(err, TP_E_DAMAGED, entry->id.at,
                       "the archive has no record %s", name);
    if (status == TP_OK)
        status =
            tp_zip_storage(p->zip, &record, p->arena, &entry->storage, err);
    if (status != TP_OK)
        return status;
    entry->storage->big_endian = p->big_endian;
    /* torch may be told to leave the checksums out: then they are 0 */
    entry->storage->has_crc32 &= record.crc32 != 0;
    return TP_OK;
}

/* Finds TOP: every package has TOP/.data/extern_modules. */
static bool find_top(struct package *p)
{
    static const char mark[] = "/.data/extern_modules";
    const uint64_t count = tp_zip_count(p->zip);
    const size_t tail = sizeof mark - 1;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(p->zip, i);
        size_t length = name ? strlen(name) : 0;
        if (length <= tail || length >= NAME_MAX_BYTES ||
            strcmp(name + length - tail, mark) != 0)
            continue;
        memcpy(p->top, name, length - tail + 1);
        p->top[length - tail + 1] = '\0';
        return true;
    }
    return false;
}

/* Reads one pickle into file->tensors and file->skips. */
static enum tp_status read_pickle(struct package *p, const char *name,
                                  struct tp_tensor_file *file,
                                  struct tp_error *err)
{
    struct tp_pickle pickle = {0};
    struct tp_torch_zips *held = tp_torch_zips_add(file);
    struct tp_zip_record record;
    if (!held)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_torch_zip_load(p->zip, name, TP_LIMIT_PICKLE_BYTES - p->unpacked,
                          &held->content, &record, err);
    if (status == TP_OK) {
        p->unpacked += record.deflated ? record.size : 0;
        uint64_t position = held->content.start;
        p->source.bytes = held->content.bytes;
        status = tp_pickle_read(&held->content.bytes, &position,
                                position + record.size, &pickle, err);
    }
    if (status == TP_OK)
        status =
            tp_torch_table_read(&pickle, &file->arena, &p->source.table, err);
    if (status == TP_OK)
        status = tp_torch_collect(file, &pickle, &p->source, err);
    tp_pickle_clear(&pickle);
    return status == TP_E_NOT_FOUND ? TP_E_DAMAGED : status;
}

static bool is_pickle(const struct package *p, const char *name)
{
    static const char end[] = ".pkl";
    const size_t top = strlen(p->top), length = strlen(name);
    return length > top + sizeof end - 1 && strncmp(name, p->top, top) == 0 &&
           strcmp(name + length - (sizeof end - 1), end) == 0;
}

static enum tp_status read_pickles(struct package *p,
                                   struct tp_tensor_file *file,
                                   struct tp_torch_parts *parts,
                                   struct tp_error *err)
{
    const uint64_t count = tp_zip_count(p->zip);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(p->zip, i);
        if (!name || !is_pickle(p, name))
            continue;
        const char *inner = name + strlen(p->top);
        const char *prefix = tp_tensor_path(&file->arena, inner, strlen(inner));
        struct tp_error why = {0};
        if (!prefix)
            return tp_fail_memory(err);
        enum tp_status status = read_pickle(p, name, file, &why);
        if (status != TP_OK && status != TP_E_MEMORY)
            status = tp_tensor_file_skip(file, "", &why, err);
        if (status == TP_OK)
            status = tp_torch_parts_take(parts, file, prefix, ":", err);
        if (status != TP_OK)
            return status == TP_E_MEMORY ? tp_fail_memory(err) : status;
    }
    return tp_torch_parts_give(parts, file, err);
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct package p = {.arena = &file->arena};
    struct tp_torch_parts parts = {0};
    enum tp_status status = tp_torch_zips_open(file, &p.zip, err);
    if (status != TP_OK)
        return status;
    p.source.resolve = resolve;
    p.source.nested = tp_legacy_storage;
    if (!find_top(&p))
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "no record .data/extern_modules");
    file->metadata_count = 0; /* no pickle speaks for the file */
    status = tp_torch_zip_byteorder(p.zip, p.top, &p.big_endian, err);
    if (status == TP_OK)
        status = read_pickles(&p, file, &parts, err);
    tp_torch_parts_clear(&parts);
    return status;
}

/* Bids after torch.save, which looks for its own pickle first. */
static int bid(const unsigned char *head, size_t length)
{
    return tp_zip_is(head, length) ? 30 : 0;
}

const struct tp_format tp_format_torch_package = {
    .name = "torch_package",
    .help = "torch.package: every pickle of it",
    .suffixes = TP_TORCH_SUFFIXES,
    .word = NULL,
    .bid = bid,
    .open = open_file,
    .close = tp_torch_zips_close,
};
