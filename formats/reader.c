/* SPDX-License-Identifier: MIT */
/*
 * Which format reads a file. Every format looks at the first 64 bytes and says
 * how many bits of evidence it sees there (a magic of four bytes: 32); the
 * highest bid wins, so that the order of the table decides nothing and a zip
 * archive can never pass for the two bytes with which a pickle starts. The
 * alternative, the suffix, is wrong for dumps: .pt and .bin are zip archives,
 * legacy streams and pickles alike; a suffix only says which files of a
 * directory must be reported when they cannot be read. Archives of
 * several programs start alike; who bids higher looks inside and leaves those
 * that are not its own to the next. Cost: one read of 64 bytes and a few
 * comparisons for each file.
 */
#include "formats/reader.h"

#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/notes.h"
#include "formats/distcp/unit.h"
#include "formats/gzip.h"
#include "formats/numpy/numpy_formats.h"
#include "formats/optimizer_names.h"
#include "formats/param_name.h"
#include "formats/pt2/pt2_formats.h"
#include "formats/safetensors/safetensors.h"
#include "formats/tensor_saver.h"
#include "formats/torch/torch_formats.h"
#include "formats/value_layouts.h"

/* Names have up to 255 bytes. */
enum { PATTERN_MAX = 512 };

static enum tp_status open_packed(struct tp_tensor_file *file,
                                  struct tp_error *err);

static int bid_packed(const unsigned char *head, size_t length)
{
    return tp_gzip_is(head, length) ? 24 : 0;
}

static const struct tp_format packed_by_gzip = {
    .name = "gzip",
    .help = "any of these in gzip (.pt.gz); takes disk for what is unpacked",
    .suffixes = ".pt.gz .pth.gz .pkl.gz .bin.gz .npy.gz .npz.gz "
                ".safetensors.gz",
    .word = NULL,
    .any_content = true,
    .bid = bid_packed,
    .open = open_packed,
};

const struct tp_format *const tp_formats[] = {
    &tp_format_torch_zip,
    &tp_format_torch_legacy,
    &tp_format_torch_pickle,
    &tp_format_torch_tar,
    &tp_format_torch_package,
    &tp_format_pt2,
    &tp_format_npy,
    &tp_format_npz,
    &tp_format_safetensors,
    &tp_format_weight_map,
    &tp_format_distcp,
    &tp_format_distcp_safetensors,
    &tp_format_megatron,
    &packed_by_gzip,
    NULL,
};

/* The highest bidder below *bid, which becomes its bid. */
static const struct tp_format *bidder_below(int *bid, const unsigned char *head,
                                            size_t length)
{
    const struct tp_format *best = NULL;
    int highest = 0;
    for (size_t i = 0; tp_formats[i]; i++) {
        int its = tp_formats[i]->bid(head, length);
        if (its > highest && its < *bid) {
            highest = its;
            best = tp_formats[i];
        }
    }
    *bid = highest;
    return best;
}

const struct tp_format *tp_format_by_content(const unsigned char *head,
                                             size_t length)
{
    int bid = INT_MAX;
    return bidder_below(&bid, head, length);
}

/* The format that claims a file by its name. */
static const struct tp_format *format_by_name(const char *path,
                                              enum tp_name_claim *claim)
{
    const char *name = tp_file_base_name(path);
    *claim = TP_NAME_OTHER;
    for (size_t i = 0; tp_formats[i]; i++) {
        if (tp_formats[i]->claims)
            *claim = tp_formats[i]->claims(name);
        if (*claim != TP_NAME_OTHER)
            return tp_formats[i];
    }
    return NULL;
}

bool tp_format_pattern(const char *path, struct tp_text *pattern)
{
    char own[PATTERN_MAX];
    const char *name = tp_file_base_name(path);
    const size_t folder = tp_megatron_folder(path);
    if (folder) {
        tp_text_bytes(pattern, path, folder);
        tp_text_add(pattern, "mp_rank_*");
        return true;
    }
    const char *found = tp_unit_pattern(name, own, sizeof own);
    if (!found)
        return false;
    tp_text_bytes(pattern, path, (size_t)(name - path));
    tp_text_add(pattern, "%s", found);
    return true;
}

enum tp_name_claim tp_format_claims(const char *path)
{
    enum tp_name_claim claim;
    format_by_name(path, &claim);
    return claim;
}

/* Formats that are not read, by how they start, or by a text at a byte that is
 * the same in all of their files. */
static const struct foreign {
    const char *word, *start;
    size_t at;
} foreign_formats[] = {
    {"HDF5", "\x89HDF\r\n", 0},
    {"a pointer of Git LFS in place of the file; `git lfs pull` fetches it",
     "version https://git-lfs", 0},
    {"a GGUF model", "GGUF", 0},
    {"a log of torchtitan, which has statistics of activations and no values; "
     "`tprof-analyze dump` reads it",
     "Total captured activations: ", 0},
    {"an event file of TensorBoard, which has curves and no tensors",
     "brain.Event:", 23},
    {"a log of Python's logging, as TransformerEngine writes statistics to; it "
     "has no tensors",
     " - INFO - ", 23},
    {"packed by bzip2; unpack it first", "BZh", 0},
    {"packed by xz; unpack it first",
     "\xfd"
     "7zXZ",
     0},
    {"packed by zstd; unpack it first", "\x28\xb5\x2f\xfd", 0},
    {"a page of HTML", "<!DOCTYPE", 0},
    {"a page of HTML", "<html", 0},
    {NULL, NULL, 0},
};

/* What these first bytes show that is not read; NULL: nothing known. */
static const char *foreign_word(const unsigned char *head, size_t length)
{
    for (const struct foreign *row = foreign_formats; row->word; row++) {
        size_t start = strlen(row->start);
        if (length >= row->at + start &&
            memcmp(head + row->at, row->start, start) == 0)
            return row->word;
    }
    return NULL;
}

/* Adds, in words, what a file is for which no format bids, as far as its
 * first bytes show. */
static void add_foreign(const unsigned char *head, size_t length,
                        struct tp_text *text)
{
    const char *foreign = foreign_word(head, length);
    if (foreign) {
        tp_text_add(text, "%s", foreign);
        return;
    }
    const char *last = NULL, *joint = "neither ";
    for (size_t i = 0; tp_formats[i]; i++) {
        if (!tp_formats[i]->word)
            continue;
        if (last) {
            tp_text_add(text, "%s%s", joint, last);
            joint = ", ";
        }
        last = tp_formats[i]->word;
    }
    tp_text_add(text, " nor %s", last);
}

/* The word of a list at *list, of *length bytes; *list is moved behind it. */
static const char *next_word(const char **list, size_t *length)
{
    const char *word = *list + strspn(*list, " ");
    *length = strcspn(word, " ");
    *list = word + *length;
    return *length ? word : NULL;
}

/* Whether the path ends as those of the format do. */
static bool has_suffix_of(const struct tp_format *format, const char *path)
{
    size_t whole = strlen(path), tail;
    const char *list = format->suffixes, *suffix;
    while ((suffix = next_word(&list, &tail))) {
        if (whole > tail && !memcmp(path + whole - tail, suffix, tail))
            return true;
    }
    return false;
}

bool tp_format_has_suffix(const char *path)
{
    for (size_t i = 0; tp_formats[i]; i++) {
        if (has_suffix_of(tp_formats[i], path))
            return true;
    }
    return false;
}

/* Whether a row before row `i` has the suffix, too. */
static bool is_repeated(size_t i, const char *suffix, size_t length)
{
    while (i-- > 0) {
        const char *list = tp_formats[i]->suffixes, *word;
        size_t n;
        while ((word = next_word(&list, &n))) {
            if (n == length && !memcmp(word, suffix, n))
                return true;
        }
    }
    return false;
}

void tp_format_suffixes(struct tp_text *text)
{
    const char *joint = "";
    for (size_t i = 0; tp_formats[i]; i++) {
        const char *list = tp_formats[i]->suffixes, *suffix;
        size_t length;
        while ((suffix = next_word(&list, &length))) {
            if (is_repeated(i, suffix, length))
                continue;
            tp_text_add(text, "%s%.*s", joint, (int)length, suffix);
            joint = " ";
        }
    }
}

/* Asks the format for what labels are made of. */
static void ask(struct tp_tensor_file *file)
{
    file->metadata_count = file->bare ? 0 : tp_label_ask(file->metadata);
}

/* Forgets what a format filled in that found that the file is not its own. */
static void leave(struct tp_tensor_file *file)
{
    if (file->format->close)
        file->format->close(file);
    file->tensors = NULL;
    file->tensor_count = 0;
    file->skips = file->last_skip = NULL;
    file->optimizers = NULL;
    file->members = NULL;
    file->member_count = 0;
    file->saved_as = file->assumption = "";
    ask(file);
}

/* Opens the file as the highest bidder, file->format, does, or the next one
 * that finds it its own. Where none does the first has the word. */
static enum tp_status open_by_bid(struct tp_tensor_file *file,
                                  const unsigned char *head, size_t length,
                                  struct tp_error *err)
{
    const struct tp_format *first = file->format;
    struct tp_error its = {0}, why;
    enum tp_status status;
    int bid = INT_MAX;
    for (;;) {
        const struct tp_format *next = bidder_below(&bid, head, length);
        if (!next)
            break;
        file->format = next;
        memset(&why, 0, sizeof why);
        status = next->open(file, &why);
        if (status != TP_E_NOT_FOUND) {
            if (status != TP_OK && err)
                *err = why;
            return status;
        }
        leave(file);
        its = next == first ? why : its;
    }
    file->format = NULL;
    return tp_fail(err, TP_E_UNSUPPORTED, its.offset, "%s", its.message);
}

/* The format that says what is wrong with a file for which none bids: that of
 * its name, unless something else is known to be in it. */
static const struct tp_format *fall_back(const char *name,
                                         const unsigned char *head,
                                         size_t length)
{
    for (size_t i = 0; tp_formats[i] && !foreign_word(head, length); i++) {
        if (tp_formats[i]->falls_back && has_suffix_of(tp_formats[i], name))
            return tp_formats[i];
    }
    return NULL;
}

/* Says that no format reads the file, and what it is instead. */
static enum tp_status fail_foreign(const char *name, const unsigned char *head,
                                   size_t length, struct tp_error *err)
{
    const char *promised = "a torch file";
    for (size_t i = 0; tp_formats[i]; i++) {
        if (tp_formats[i]->falls_back && has_suffix_of(tp_formats[i], name))
            promised = tp_formats[i]->word;
    }
    struct tp_text word = {0};
    add_foreign(head, length, &word);
    enum tp_status status = tp_fail(err, TP_E_UNSUPPORTED, 0, "not %s: %s",
                                    promised, tp_text_get(&word));
    tp_text_clear(&word);
    return status;
}

/* Opens file->bytes as the format that their content tells, but for the label.
 */
static enum tp_status open_content(struct tp_tensor_file *file,
                                   struct tp_error *err)
{
    unsigned char head[TP_FORMAT_HEAD];
    size_t length =
        file->bytes.size < sizeof head ? (size_t)file->bytes.size : sizeof head;
    enum tp_status status = tp_bytes_read(&file->bytes, 0, head, length, err);
    if (status != TP_OK)
        return status;
    if (length == 0)
        return tp_fail(err, TP_E_DAMAGED, 0, "the file is empty");
    file->format = tp_format_by_content(head, length);
    if (file->format)
        return open_by_bid(file, head, length, err);
    file->format = fall_back(file->path, head, length);
    return file->format ? file->format->open(file, err)
                        : fail_foreign(file->path, head, length, err);
}

/* Refuses what is no file of tensors by its first unpacked bytes. */
static enum tp_status judge_unpacked(const unsigned char *head, size_t length,
                                     struct tp_error *err)
{
    const struct tp_format *inner = tp_format_by_content(head, length);
    if (inner == &packed_by_gzip)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "packed by gzip twice; unpack it first");
    if (!inner)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "packed by gzip, and no file of tensors is inside");
    return TP_OK;
}

/* Leaves the file as it were without gzip. */
static enum tp_status open_packed(struct tp_tensor_file *file,
                                  struct tp_error *err)
{
    enum tp_status status = tp_gzip_unpack(&file->bytes, judge_unpacked, err);
    if (status != TP_OK)
        return status;
    status = open_content(file, err);
    tp_while(status == TP_OK ? NULL : err, "reading what gzip had packed");
    return status;
}

/* The name that a file has when it is unpacked; NULL: out of memory. */
static const char *plain_name(const char *name, struct tp_arena *arena)
{
    static const char packed[] = ".gz";
    size_t length = strlen(name), tail = sizeof packed - 1;
    bool is_packed = length > tail && strcmp(name + length - tail, packed) == 0;
    return is_packed ? tp_arena_text(arena, name, length - tail) : name;
}

/* Opens file->bytes, which are open unless the name is a pattern. */
static enum tp_status open_bytes(const char *name, struct tp_tensor_file *file,
                                 struct tp_error *err)
{
    file->path = plain_name(name, &file->arena);
    if (!file->path)
        return tp_fail_memory(err);
    ask(file);
    enum tp_status status =
        file->format ? file->format->open(file, err) : open_content(file, err);
    if (status == TP_OK)
        status = tp_value_layouts_add(file->path, file, err);
    if (status != TP_OK || file->bare)
        return status;
    tp_label_from_metadata(file->metadata, file->metadata_count, &file->label);
    status = tp_label_complete(&file->label, file->path, &file->arena,
                               &file->label_conflict, &file->labelled, err);
    if (status == TP_OK && file->label.iteration < 0)
        file->label.iteration =
            tp_label_epoch(file->metadata, file->metadata_count);
    file->flat = !file->format->claims; /* else it is named for its kind */
    for (size_t i = 0; i < file->tensor_count && file->flat; i++)
        file->flat = !strchr(file->tensors[i].path, '.');
    return status == TP_OK && file->optimizers ? tp_optimizer_names(file, err)
                                               : status;
}

/* Where no key has a module, the file is one: "q_proj.pt" with "weight". */
static enum tp_status name_by_file(struct tp_tensor_file *file,
                                   struct tp_label *label, struct tp_error *err)
{
    struct tp_text name = {0};
    tp_text_add(&name, "%s.%s", file->label.tensor_name, label->tensor_name);
    label->tensor_name = tp_arena_take(&file->arena, &name);
    return label->tensor_name ? TP_OK : tp_fail_memory(err);
}

/* The key with the number that its layer has in the whole model; NULL: out of
 * memory. */
static const char *shifted_path(struct tp_tensor_file *file, const char *path)
{
    for (size_t i = 0; i < file->shift_count; i++) {
        const struct tp_layer_shift *shift = &file->shifts[i];
        const size_t length = strlen(shift->prefix);
        if (strncmp(path, shift->prefix, length) != 0)
            continue;
        const size_t digits = strspn(path + length, "0123456789");
        const int64_t number = tp_digits_value(path + length, digits);
        if (number < 0 || digits > 9)
            continue;
        struct tp_text text = {0};
        tp_text_add(&text, "%s%lld%s", shift->prefix,
                    (long long)(number + shift->by), path + length + digits);
        return tp_arena_take(&file->arena, &text);
    }
    return path;
}

enum tp_status tp_tensor_file_label(struct tp_tensor_file *file, size_t place,
                                    struct tp_label *label,
                                    struct tp_error *err)
{
    *label = file->label;
    if (file->labelled)
        return TP_OK;
    struct tp_label own = file->label;
    const char *parameter = file->parameters ? file->parameters[place] : NULL;
    const char *path = shifted_path(file, file->tensors[place].path);
    bool named;
    if (path && parameter && !(parameter = shifted_path(file, parameter)))
        path = NULL;
    if (!path)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_param_name_label(path, parameter, &file->arena, &own, &named, err);
    bool by_file = file->flat && *file->label.tensor_name;
    bool nameless = by_file && file->tensor_count == 1 && !*own.component;
    if (status != TP_OK || !named || nameless) /* "tensor" says nothing */
        return status;
    *label = own;
    return by_file ? name_by_file(file, label, err) : TP_OK;
}

/* Everything but the arena, which is reused, and the bytes. */
static void start(struct tp_tensor_file *file)
{
    static const struct tp_label none = TP_LABEL_NONE;
    tp_arena_reset(&file->arena);
    file->format = NULL;
    file->path = "";
    file->tensors = NULL;
    file->tensor_count = 0;
    file->metadata_count = 0;
    file->optimizers = NULL;
    file->parameters = NULL;
    file->label = none;
    file->labelled = false;
    file->flat = false;
    file->label_conflict = "";
    file->saved_as = "";
    file->assumption = "";
    file->skips = file->last_skip = NULL;
    file->members = NULL;
    file->member_count = 0;
    file->rank_files = NULL;
    file->rank_file_count = 0;
    file->shifts = NULL;
    file->shift_count = 0;
    file->state = NULL;
}

enum tp_status tp_tensor_file_open(const char *name,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err)
{
    enum tp_name_claim claim;
    enum tp_status status = TP_OK;
    start(file);
    file->format = format_by_name(name, &claim);
    if (claim == TP_NAME_PATTERN)
        tp_bytes_view("", 0, &file->bytes);
    else
        status = tp_bytes_open(name, &file->bytes, err);
    if (status != TP_OK)
        file->format = NULL; /* nothing to close */
    if (status == TP_OK)
        status = open_bytes(name, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, name);
    return status;
}

enum tp_status tp_tensor_file_open_memory(const char *name, const void *data,
                                          size_t size,
                                          struct tp_tensor_file *file,
                                          struct tp_error *err)
{
    enum tp_name_claim claim;
    start(file);
    file->format = format_by_name(name, &claim);
    tp_bytes_view(data, size, &file->bytes);
    enum tp_status status = open_bytes(name, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, name);
    return status;
}

enum tp_status tp_tensor_file_unchanged(const struct tp_tensor_file *file,
                                        struct tp_error *err)
{
    enum tp_status status = tp_bytes_unchanged(&file->bytes, err);
    return status == TP_OK && file->format && file->format->unchanged
               ? file->format->unchanged(file, err)
               : status;
}

/* Whether an open file is the one that was read before, or the one that could
 * not be opened. */
static enum tp_status meet(struct tp_found *found,
                           const struct tp_tensor_file *file,
                           enum tp_status opened, struct tp_error *err)
{
    if (opened != TP_OK)
        return tp_found_look(found, err);
    return file->bytes.modified == 0
               ? TP_OK /* a name that stands for several files */
               : tp_found_meet(found, file->bytes.size, file->bytes.modified,
                               err);
}

enum tp_status tp_tensor_file_open_found(struct tp_found *found,
                                         struct tp_tensor_file *file,
                                         struct tp_error *err)
{
    struct tp_error own = {.code = TP_OK};
    const enum tp_status status = tp_tensor_file_open(found->path, file, err);
    if (status == TP_E_MEMORY || meet(found, file, status, &own) == TP_OK)
        return status;
    if (err)
        *err = own;
    return TP_E_CHANGED;
}

enum tp_status tp_tensor_file_end_found(struct tp_found *found,
                                        const char *path,
                                        struct tp_tensor_file *file,
                                        enum tp_status status,
                                        struct tp_error *err)
{
    struct tp_error own = {.code = TP_OK};
    if (status != TP_E_MEMORY && status != TP_E_INTERRUPTED &&
        status != TP_E_CHANGED && file->format &&
        tp_tensor_file_unchanged(file, &own) != TP_OK) {
        status = own.code; /* which may be why reading failed */
        *err = own;
    }
    tp_tensor_file_close(file);
    if (status == TP_OK || status == TP_E_MEMORY ||
        status == TP_E_INTERRUPTED)
        return status;
    const struct tp_error why = *err;
    return tp_found_fail(found, path, &why, err) == TP_OK ? status
                                                          : TP_E_MEMORY;
}

void tp_tensor_file_close(struct tp_tensor_file *file)
{
    if (file->format && file->format->close)
        file->format->close(file);
    tp_bytes_close(&file->bytes);
    start(file);
}
