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

#include "formats/gzip.h"
#include "formats/numpy/numpy_formats.h"
#include "formats/pt2/pt2_formats.h"
#include "formats/tensor_saver.h"
#include "formats/torch/torch_formats.h"

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
    &tp_format_torch_zip,     &tp_format_torch_legacy,
    &tp_format_torch_pickle,  &tp_format_torch_tar,
    &tp_format_torch_package, &tp_format_pt2,
    &tp_format_npy,           &tp_format_npz,
    &packed_by_gzip,          NULL,
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

/* Longest header that the safetensors library accepts. */
#define SAFETENSORS_MAX ((uint64_t)100000000)

/* Safetensors: the length of a JSON text, little-endian, and the text. */
static bool is_safetensors(const unsigned char *head, size_t length)
{
    uint64_t text = 0;
    for (size_t i = 8; length > 9 && i-- > 0;)
        text = text << 8 | head[i];
    return text >= 2 && text < SAFETENSORS_MAX && head[8] == '{' &&
           (head[9] == '"' || head[9] == '}' || head[9] == ' ');
}

/* Formats that are not read, by how they start or by a test. */
static const struct foreign {
    const char *word, *start;
    bool (*test)(const unsigned char *head, size_t length);
} foreign_formats[] = {
    {"HDF5", "\x89HDF\r\n", NULL},
    {"a pointer of Git LFS in place of the file; `git lfs pull` fetches it",
     "version https://git-lfs", NULL},
    {"a GGUF model", "GGUF", NULL},
    {"packed by bzip2; unpack it first", "BZh", NULL},
    {"packed by xz; unpack it first",
     "\xfd"
     "7zXZ",
     NULL},
    {"packed by zstd; unpack it first", "\x28\xb5\x2f\xfd", NULL},
    {"a page of HTML", "<!DOCTYPE", NULL},
    {"a page of HTML", "<html", NULL},
    {"safetensors", NULL, is_safetensors},
    {NULL, NULL, NULL},
};

static bool is_foreign(const struct foreign *row, const unsigned char *head,
                       size_t length)
{
    if (!row->start)
        return row->test(head, length);
    size_t start = strlen(row->start);
    return length >= start && memcmp(head, row->start, start) == 0;
}

/* Adds, in words, what a file is for which no format bids, as far as its
 * first bytes show. */
static void add_foreign(const unsigned char *head, size_t length,
                        struct tp_text *text)
{
    for (const struct foreign *row = foreign_formats; row->word; row++) {
        if (is_foreign(row, head, length)) {
            tp_text_add(text, "%s", row->word);
            return;
        }
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

bool tp_format_has_suffix(const char *path)
{
    size_t whole = strlen(path), tail;
    for (size_t i = 0; tp_formats[i]; i++) {
        const char *list = tp_formats[i]->suffixes, *suffix;
        while ((suffix = next_word(&list, &tail))) {
            if (whole > tail && !memcmp(path + whole - tail, suffix, tail))
                return true;
        }
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

/* Forgets what a format filled in that found that the file is not its own. */
static void leave(struct tp_tensor_file *file)
{
    if (file->format->close)
        file->format->close(file);
    file->tensors = NULL;
    file->tensor_count = 0;
    file->skips = file->last_skip = NULL;
    file->saved_as = file->assumption = "";
    file->metadata_count = tp_label_ask(file->metadata);
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
    if (!file->format) {
        struct tp_text word = {0};
        add_foreign(head, length, &word);
        status = tp_fail(err, TP_E_UNSUPPORTED, 0, "not a torch file: %s",
                         tp_text_get(&word));
        tp_text_clear(&word);
        return status;
    }
    file->metadata_count = tp_label_ask(file->metadata);
    return open_by_bid(file, head, length, err);
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

/* Opens file->bytes, which are open. */
static enum tp_status open_bytes(const char *name, struct tp_tensor_file *file,
                                 struct tp_error *err)
{
    enum tp_status status = open_content(file, err);
    if (status != TP_OK)
        return status;
    tp_label_from_metadata(file->metadata, file->metadata_count, &file->label);
    const char *plain = plain_name(name, &file->arena);
    if (!plain)
        return tp_fail_memory(err);
    return tp_label_complete(&file->label, plain, &file->arena,
                             &file->label_conflict, err);
}

/* Everything but the arena, which is reused, and the bytes. */
static void start(struct tp_tensor_file *file)
{
    static const struct tp_label none = TP_LABEL_NONE;
    tp_arena_reset(&file->arena);
    file->format = NULL;
    file->tensors = NULL;
    file->tensor_count = 0;
    file->metadata_count = 0;
    file->label = none;
    file->label_conflict = "";
    file->saved_as = "";
    file->assumption = "";
    file->skips = file->last_skip = NULL;
    file->state = NULL;
}

enum tp_status tp_tensor_file_open(const char *name,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err)
{
    start(file);
    enum tp_status status = tp_bytes_open(name, &file->bytes, err);
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
    start(file);
    tp_bytes_view(data, size, &file->bytes);
    enum tp_status status = open_bytes(name, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, name);
    return status;
}

void tp_tensor_file_close(struct tp_tensor_file *file)
{
    if (file->format && file->format->close)
        file->format->close(file);
    tp_bytes_close(&file->bytes);
    start(file);
}
