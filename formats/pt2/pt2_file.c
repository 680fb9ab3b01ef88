/* SPDX-License-Identifier: MIT */
/*
 * A program as torch.export.save writes it, a zip archive of stored records:
 *
 *     TOP/archive_format                             "pt2"
 *     TOP/byteorder                                  "little" or "big"
 *     TOP/data/weights/NAME_weights_config.json      what the weights are
 *     TOP/data/weights/weight_N                      the bytes of a storage
 *     TOP/data/constants/NAME_constants_config.json  the same of constants
 *     TOP/data/constants/tensor_N
 *     TOP/data/sample_inputs/NAME.pt                 examples, not weights
 *     TOP/models/NAME.json                           the graph
 *
 * A config is {"config": {WEIGHT: {"path_name", "use_pickle", "tensor_meta"}}}.
 * Several weights may name one payload: as views, or because they are tied. One
 * with use_pickle is a file of torch.save. Torch before 2.9 wrote all weights
 * as one such file, serialized_state_dict.pt, and the constants as
 * serialized_constants.pt. A weight has the path weights/WEIGHT, with the name
 * of the program before it where there are several. Configs are read weight by
 * weight, so that their number does not matter; graphs and compiled code are
 * left alone. Cost: the archive's directory and the configs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "data/tensor_path.h"
#include "formats/json/json_members.h"
#include "formats/pt2/pt2_formats.h"
#include "formats/pt2/pt2_tensor.h"
#include "formats/torch/torch_parts.h"
#include "formats/torch/torch_zip.h"

/* Of a record's name. */
enum { NAME_MAX_BYTES = 1024 };

/* Bytes of a config: 400 a weight, for more than 10^6 of them. */
#define CONFIG_MAX ((uint64_t)1 << 30)

/* The two kinds of data. */
static const struct kind {
    const char *folder; /* in TOP                                          */
    const char *config; /* end of its config's name                        */
    const char *path;   /* what its paths begin with                       */
    const char *old;    /* the file of torch before 2.9                    */
} kinds[] = {
    {"data/weights/", "_weights_config.json", "weights",
     "serialized_state_dict.pt"},
    {"data/constants/", "_constants_config.json", "constants",
     "serialized_constants.pt"},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* An archive in the course of being read. */
struct archive {
    struct tp_tensor_file *file;
    struct tp_zip *zip;
    struct tp_torch_parts parts;
    char top[NAME_MAX_BYTES]; /* with its slash, or "" */
    bool big_endian, checksums;
    const struct kind *kind;
    struct tp_text prefix; /* of the paths of the config at hand           */
};

/* Puts a problem aside, at the path of a weight or "". */
static enum tp_status skip(struct archive *a, const char *path,
                           const struct tp_error *why, struct tp_error *err)
{
    enum tp_status status = tp_tensor_file_skip(a->file, path, why, err);
    return status == TP_OK
               ? tp_torch_parts_take(&a->parts, a->file, "", "", err)
               : status;
}

/* ---- one weight --------------------------------------------------------- */

static enum tp_status find_payload(struct archive *a,
                                   const struct tp_json *entry,
                                   struct tp_zip_record *record,
                                   struct tp_error *err)
{
    const char *name = tp_json_text(entry, "path_name", "");
    char full[2 * NAME_MAX_BYTES];
    if (!*name || strlen(name) >= NAME_MAX_BYTES || strpbrk(name, "/\\") ||
        strcmp(name, "..") == 0)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "its payload has no name of the folder %s",
                       a->kind->folder);
    snprintf(full, sizeof full, "%s%s%s", a->top, a->kind->folder, name);
    enum tp_status status = tp_zip_find(a->zip, full, record, err);
    if (status == TP_E_NOT_FOUND)
        return tp_fail(err, TP_E_DAMAGED, -1, "the archive has no record %s",
                       full);
    return status;
}

/* A weight that is a file of torch.save in a record. */
static enum tp_status read_inside(struct archive *a, const char *path,
                                  const struct tp_zip_record *record,
                                  struct tp_error *err)
{
    struct tp_tensor_file *file = a->file;
    if (record->deflated)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a file of torch.save inside that is deflated; torch "
                       "stores them");
    enum tp_status status = tp_torch_zip_inside(
        file, record->start, record->start + record->size, err);
    file->saved_as = "";
    if (status == TP_OK)
        return tp_torch_parts_take(&a->parts, file, path, ".", err);
    file->tensor_count = 0;
    return status == TP_E_NOT_FOUND ? TP_E_DAMAGED : status;
}

static enum tp_status read_plain(struct archive *a, const char *path,
                                 const struct tp_json *entry,
                                 const struct tp_zip_record *record,
                                 struct tp_error *err)
{
    struct tp_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    enum tp_status status =
        tp_pt2_tensor_read(tp_json_member(entry, "tensor_meta"),
                           &a->file->arena, &tensor, err);
    if (status == TP_OK)
        status = tp_zip_storage(a->zip, record, &a->file->arena,
                                &tensor.storage, err);
    if (status != TP_OK)
        return status;
    tensor.storage->big_endian = a->big_endian;
    tensor.storage->has_crc32 &= a->checksums;
    tensor.path = path;
    status = tp_tensor_check(&tensor, err);
    return status == TP_OK ? tp_torch_parts_add(&a->parts, &tensor, err)
                           : status;
}

/* Reads what the config says of one weight. */
static enum tp_status visit(void *context, const struct tp_json_pair *pair,
                            struct tp_arena *arena, struct tp_error *err)
{
    struct archive *a = context;
    struct tp_error why = {0};
    struct tp_zip_record record;
    const size_t kept = a->prefix.length;
    (void)arena;
    tp_text_add(&a->prefix, "%s", pair->key);
    const char *path =
        a->prefix.failed
            ? NULL
            : tp_tensor_path(&a->file->arena, a->prefix.data, a->prefix.length);
    if (!path)
        return tp_fail_memory(err);
    a->prefix.length = kept;
    a->prefix.data[kept] = '\0';
    const struct tp_json *pickled = tp_json_member(pair->value, "use_pickle");
    enum tp_status status = find_payload(a, pair->value, &record, &why);
    if (status == TP_OK)
        status = pickled && pickled->kind == TP_JSON_BOOL && pickled->integer
                     ? read_inside(a, path, &record, &why)
                     : read_plain(a, path, pair->value, &record, &why);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status != TP_OK && why.offset < 0)
        why.offset = pair->offset;
    return status == TP_OK ? TP_OK : skip(a, path, &why, err);
}

/* ---- configs ------------------------------------------------------------ */

static enum tp_status walk_config(struct archive *a,
                                  const struct tp_zip_content *content,
                                  uint64_t size, struct tp_error *err)
{
    const struct tp_json_visitor visitor = {a, visit};
    struct tp_json_walk walk = {NULL, {0}};
    struct tp_json_stream stream;
    struct tp_json_part key;
    tp_json_stream_range(&stream, &content->bytes, content->start,
                         content->start + size);
    enum tp_status status = tp_json_stream_enter(&stream, err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&stream, &key, err);
        if (status != TP_OK || !key.text)
            break;
        status = tp_json_key_is(&key, "config")
                     ? tp_json_walk_members(&walk, &stream, &visitor, err)
                     : tp_json_stream_skip(&stream, err);
    }
    tp_json_walk_clear(&walk);
    tp_json_stream_close(&stream);
    return status;
}

/* Reads the config of this name; its problems are put aside. */
static enum tp_status read_config(struct archive *a, const char *name,
                                  struct tp_error *err)
{
    struct tp_zip_content content = {.bytes = {.fd = -1}};
    struct tp_zip_record record;
    struct tp_error why = {0};
    enum tp_status status =
        tp_torch_zip_load(a->zip, name, CONFIG_MAX, &content, &record, &why);
    if (status == TP_OK) {
        a->checksums = record.crc32 != 0;
        status = walk_config(a, &content, record.size, &why);
        tp_while(status == TP_OK ? NULL : &why, "reading %s", name);
    }
    tp_zip_unload(&content);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    return status == TP_OK ? TP_OK : skip(a, "", &why, err);
}

/* The name of the program whose config this is; *length 0: it is none. */
static const char *program_of(const struct archive *a, const char *name,
                              size_t *length)
{
    size_t top = strlen(a->top), folder = strlen(a->kind->folder);
    *length = 0;
    if (strncmp(name, a->top, top) != 0 ||
        strncmp(name + top, a->kind->folder, folder) != 0 ||
        !tp_text_ends_with(name, a->kind->config))
        return NULL;
    const char *program = name + top + folder;
    size_t rest = strlen(program), tail = strlen(a->kind->config);
    *length = rest > tail ? rest - tail : 0;
    return program;
}

static size_t count_configs(const struct archive *a)
{
    const uint64_t count = tp_zip_count(a->zip);
    size_t found = 0, length;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(a->zip, i);
        found += name && program_of(a, name, &length) && length;
    }
    return found;
}

/* Reads all configs of a->kind. */
static enum tp_status read_configs(struct archive *a, struct tp_error *err)
{
    const uint64_t count = tp_zip_count(a->zip);
    const bool several = count_configs(a) > 1;
    enum tp_status status = TP_OK;
    for (uint64_t i = 0; i < count && status == TP_OK; i++) {
        size_t length;
        const char *name = tp_zip_name(a->zip, i);
        const char *program = name ? program_of(a, name, &length) : NULL;
        if (!program || !length)
            continue;
        tp_text_clear(&a->prefix);
        if (several)
            tp_text_add(&a->prefix, "%.*s/", (int)length, program);
        tp_text_add(&a->prefix, "%s/", a->kind->path);
        status = read_config(a, name, err);
    }
    return status;
}

/* The one file of torch before 2.9, if it is there. */
static enum tp_status read_old(struct archive *a, struct tp_error *err)
{
    char name[NAME_MAX_BYTES + 64];
    struct tp_zip_record record;
    struct tp_error why = {0};
    snprintf(name, sizeof name, "%s%s", a->top, a->kind->old);
    enum tp_status status = tp_zip_find(a->zip, name, &record, &why);
    if (status == TP_E_NOT_FOUND || (status == TP_OK && record.size == 0))
        return TP_OK;
    if (status == TP_OK)
        status = read_inside(a, a->kind->path, &record, &why);
    tp_while(status == TP_OK ? NULL : &why, "reading %s", name);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    return status == TP_OK ? TP_OK : skip(a, a->kind->path, &why, err);
}

/* ---- the archive -------------------------------------------------------- */

/* Finds TOP by what only these archives have. */
static bool find_top(struct archive *a)
{
    static const char *const marks[] = {"archive_format",
                                        "serialized_exported_program.json"};
    const uint64_t count = tp_zip_count(a->zip);
    for (uint64_t i = 0; i < 2 * count; i++) {
        const char *name = tp_zip_name(a->zip, i / 2);
        size_t tail = strlen(marks[i % 2]), length = name ? strlen(name) : 0;
        if (length < tail || length - tail >= sizeof a->top ||
            !tp_text_ends_with(name, marks[i % 2]))
            continue;
        size_t top = length - tail;
        if (top > 0 && strchr(name, '/') != name + top - 1)
            continue;
        memcpy(a->top, name, top);
        a->top[top] = '\0';
        return true;
    }
    return false;
}

/* Says which tensors are left out on purpose. */
static enum tp_status note_samples(struct archive *a, struct tp_error *err)
{
    const uint64_t count = tp_zip_count(a->zip);
    enum tp_status status = TP_OK;
    for (uint64_t i = 0; i < count && status == TP_OK; i++) {
        const char *name = tp_zip_name(a->zip, i);
        size_t top = strlen(a->top);
        if (!name || strncmp(name, a->top, top) != 0 ||
            strncmp(name + top, "data/sample_inputs/", 19) != 0 ||
            !tp_text_ends_with(name, ".pt"))
            continue;
        struct tp_error why = {0};
        const char *path =
            tp_tensor_path(&a->file->arena, name + top, strlen(name + top));
        if (!path)
            return tp_fail_memory(err);
        tp_fail(&why, TP_OK, -1,
                "example inputs of the program, left out on purpose");
        status = skip(a, path, &why, err);
    }
    return status;
}

static enum tp_status read_all(struct archive *a, struct tp_error *err)
{
    enum tp_status status =
        tp_torch_zip_byteorder(a->zip, a->top, &a->big_endian, err);
    for (size_t i = 0; i < KINDS && status == TP_OK; i++) {
        a->kind = &kinds[i];
        status = read_configs(a, err);
        if (status == TP_OK)
            status = read_old(a, err);
    }
    if (status == TP_OK)
        status = note_samples(a, err);
    return status == TP_OK ? tp_torch_parts_give(&a->parts, a->file, err)
                           : status;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct archive a = {.file = file};
    enum tp_status status = tp_torch_zips_open(file, &a.zip, err);
    if (status != TP_OK)
        return status;
    if (!find_top(&a))
        return tp_fail(err, TP_E_NOT_FOUND, -1, "no record archive_format");
    file->metadata_count = 0; /* nothing in it speaks for the file */
    status = read_all(&a, err);
    tp_torch_parts_clear(&a.parts);
    tp_text_clear(&a.prefix);
    return status;
}

/* Bids after torch.save, which looks for its own pickle first. */
static int bid(const unsigned char *head, size_t length)
{
    return tp_zip_is(head, length) ? 29 : 0;
}

const struct tp_format tp_format_pt2 = {
    .name = "pt2",
    .help = "torch.export.save (.pt2): weights and constants",
    .suffixes = ".pt2",
    .word = NULL,
    .bid = bid,
    .open = open_file,
    .close = tp_torch_zips_close,
};
