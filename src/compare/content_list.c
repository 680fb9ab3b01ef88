/* SPDX-License-Identifier: MIT */
/*
 * Files are opened twice: for their headers, which say what dtypes there are,
 * and once more to read all of their tensors. A file is a task of the pool and
 * a large tensor is split over it; digests are sums, so that neither decides
 * the result. Cost: one reading, and for dtypes that the other side has in a
 * shorter one another digest of the same pieces; 0.5 kB a tensor is kept.
 */
#include "compare/content_list.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/order.h"
#include "base/text.h"
#include "compare/compare_group.h"
#include "data/dtype_math.h"
#include "formats/reader.h"
#include "scan/pass.h"
#include "scan/scan_crc.h"

/* --- headers -------------------------------------------------------------- */

struct lister {
    const struct tp_content_wish *wish;
    struct tp_content_side *side;
    struct tp_intern words;
    struct tp_tensor_file file;
};

static const char *word(struct lister *l, const char *text)
{
    return tp_intern(&l->words, &l->side->arena, text);
}

/* What of a file could not be read, for whatever reason. */
static enum tp_status keep_problem(struct tp_found *found, const char *path,
                                   const char *reason, int64_t offset,
                                   struct tp_error *err)
{
    struct tp_error why = {.code = TP_OK};
    tp_fail(&why, TP_E_DAMAGED, offset, "%s", reason);
    return tp_found_fail(found, path, &why, err);
}

/* The path of a file below the root. */
static const char *below(const char *root, const char *path)
{
    const size_t length = strlen(root);
    if (strncmp(root, path, length) != 0)
        return path;
    path += length;
    while (*path == '/')
        path++;
    return path;
}

/* The number in a component "step7" of a path, or "rank0"; -1. */
static int64_t number_in(const char *path, const char *component)
{
    const size_t length = strlen(component);
    for (const char *at = path; *at; at++) {
        const char *digits = at + length;
        if ((at > path && at[-1] != '/') || strncmp(at, component, length))
            continue;
        const size_t count = strspn(digits, "0123456789");
        if (count && (digits[count] == '/' || digits[count] == '\0'))
            return tp_digits_value(digits, count);
    }
    return -1;
}

/* Whether the user wants a file that says its step and rank, if it does. */
static bool is_wanted(const struct lister *l, const char *path)
{
    const struct tp_label *label = &l->file.label;
    const char *inside = below(l->wish->root, path);
    const int64_t step =
        label->iteration >= 0 ? label->iteration : number_in(inside, "step");
    const int64_t rank =
        label->rank >= 0 ? label->rank : number_in(inside, "rank");
    return (step < 0 || tp_number_set_has(l->wish->steps, step)) &&
           (rank < 0 || tp_number_set_has(l->wish->ranks, rank));
}

static const char *shape_text(struct lister *l, const struct tp_tensor *tensor)
{
    struct tp_text text = {0};
    tp_text_add(&text, "[");
    for (int i = 0; i < tensor->ndim; i++)
        tp_text_add(&text, "%s%" PRId64, i ? ", " : "", tensor->shape[i]);
    tp_text_add(&text, "]");
    const char *kept = text.failed ? NULL : word(l, tp_text_get(&text));
    tp_text_clear(&text);
    return kept;
}

/* The key of a tensor, and its full name. */
static bool set_names(struct lister *l, const char *inside, const char *path,
                      struct tp_content_tensor *made)
{
    struct tp_text text = {0};
    const char *base = tp_file_base_name(inside);
    const char *dot = strrchr(base, '.');
    if (l->file.tensor_count > 1 || *path)
        tp_text_printable(&text, *path ? path : "tensor");
    else
        tp_text_printable(&text, base);
    if (dot && dot > base && l->file.tensor_count == 1 && !*path &&
        !text.failed) {
        text.length = strlen(text.data) - strlen(dot);
        text.data[text.length] = '\0';
    }
    made->key = text.failed ? NULL : word(l, tp_text_get(&text));
    text.length = 0;
    if (made->key) {
        tp_text_printable(&text, inside);
        tp_text_add(&text, "%s%s", *inside ? ":" : "", made->key);
    }
    made->full = text.failed || !made->key ? NULL : word(l, tp_text_get(&text));
    tp_text_clear(&text);
    return made->full != NULL;
}

static enum tp_status add_tensor(struct lister *l, struct tp_found *file,
                                 const struct tp_tensor *tensor,
                                 struct tp_error *err)
{
    struct tp_content_side *side = l->side;
    enum tp_status status =
        tp_grow(&side->tensors, &side->capacity, side->count + 1,
                sizeof *side->tensors, err);
    if (status != TP_OK)
        return status;
    struct tp_content_tensor *made = &side->tensors[side->count++];
    int64_t *shape =
        tp_arena_alloc(&side->arena, (size_t)tensor->ndim * sizeof *shape);
    *made = (struct tp_content_tensor){
        .file = file,
        .place = (size_t)(tensor - l->file.tensors),
        .shape_text = shape_text(l, tensor),
        .shape = shape,
        .ndim = tensor->ndim,
        .dtype = tensor->dtype,
        .numel = tensor->numel,
        .views = {{.dtype = tp_dtype_info(tensor->dtype)->real}},
        .view_count = 1,
        .amax = NAN};
    if (shape && tensor->ndim)
        memcpy(shape, tensor->shape, (size_t)tensor->ndim * sizeof *shape);
    return shape && made->shape_text &&
                   set_names(l, below(l->wish->root, file->path), tensor->path,
                             made)
               ? TP_OK
               : tp_fail_memory(err);
}

static enum tp_status list_tensors(struct lister *l, struct tp_found *found,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const struct tp_skip *skip = l->file.skips; skip && status == TP_OK;
         skip = skip->next)
        if (skip->code != TP_OK)
            status = keep_problem(found, skip->path, skip->reason,
                                  skip->offset, err);
    for (size_t i = 0; i < l->file.tensor_count && status == TP_OK; i++)
        status = add_tensor(l, found, &l->file.tensors[i], err);
    return status;
}

/* What is no file of tensors by its name is let go without a word, one that
 * changed with one. */
static enum tp_status list_file(struct lister *l, struct tp_found *found,
                                struct tp_error *err)
{
    struct tp_error why = {.code = TP_OK};
    const bool promised = tp_format_has_suffix(found->path) ||
                          !strcmp(found->path, l->wish->root);
    const size_t before = l->side->count;
    enum tp_status status = tp_tensor_file_open_found(found, &l->file, &why);
    if ((status == TP_OK && !is_wanted(l, found->path)) ||
        (status == TP_E_UNSUPPORTED && !promised)) {
        tp_tensor_file_close(&l->file);
        return TP_OK;
    }
    if (status == TP_OK)
        status = list_tensors(l, found, &why);
    if (status == TP_E_UNSUPPORTED)
        status = why.code = TP_E_DAMAGED; /* by its name it is one */
    status = tp_tensor_file_end_found(found, "", &l->file, status, &why);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status != TP_OK)
        l->side->count = before;
    return TP_OK;
}

/* Shows in full what has a key that is there several times. */
static enum tp_status set_shown(struct tp_content_side *side,
                                struct tp_error *err)
{
    const char **keys = calloc(side->count + 1, sizeof *keys);
    size_t *groups = calloc(side->count + 1, sizeof *groups), count = 0;
    size_t *members = calloc(side->count + 1, sizeof *members);
    enum tp_status status =
        keys && groups && members ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < side->count && status == TP_OK; i++)
        keys[i] = side->tensors[i].key;
    if (status == TP_OK)
        status = tp_compare_group(keys, side->count, groups, &count, err);
    for (size_t i = 0; i < side->count && status == TP_OK; i++)
        members[groups[i]]++;
    for (size_t i = 0; i < side->count && status == TP_OK; i++)
        side->tensors[i].name = members[groups[i]] > 1 ? side->tensors[i].full
                                                       : side->tensors[i].key;
    free(keys);
    free(groups);
    free(members);
    return status;
}

/* Nothing is there, or nothing that could be read: then a reason is said. */
static enum tp_status fail_empty(const struct tp_content_wish *wish,
                                 const struct tp_content_side *side,
                                 struct tp_error *err)
{
    const struct tp_found *file = tp_found_first_bad(&side->found);
    return file
               ? tp_fail(err, TP_E_NOT_FOUND, -1,
                         "%s has no tensor that could be read; not read: %s: "
                         "%s",
                         wish->root, file->path, file->problems->reason)
               : tp_fail(err, TP_E_NOT_FOUND, -1,
                         "%s has no tensor that could be read%s%s", wish->root,
                         side->found.problem_count ? "; " : "",
                         side->found.problem_count ? side->found.problems[0]
                                                   : "");
}

enum tp_status tp_content_list(const struct tp_content_wish *wish,
                               struct tp_content_side *side,
                               struct tp_error *err)
{
    struct lister l = {.wish = wish, .side = side};
    enum tp_status status = tp_file_find(wish->root, &side->found, err);
    if (status == TP_OK)
        status = tp_found_sort(&side->found, err);
    for (size_t i = 0; i < side->found.count && status == TP_OK; i++)
        status = list_file(&l, &side->found.files[i], err);
    tp_arena_clear(&l.file.arena);
    tp_intern_clear(&l.words);
    if (status == TP_OK)
        status = set_shown(side, err);
    return status == TP_OK && side->count == 0 ? fail_empty(wish, side, err)
                                               : status;
}

const struct tp_tensor *tp_content_tensor_in(
    const struct tp_content_tensor *tensor, const struct tp_tensor_file *file)
{
    const struct tp_tensor *its = tensor->place < file->tensor_count
                                      ? &file->tensors[tensor->place]
                                      : NULL;
    return its && its->dtype == tensor->dtype && its->numel == tensor->numel
               ? its
               : NULL;
}

void tp_content_side_clear(struct tp_content_side *side)
{
    free(side->tensors);
    tp_found_clear(&side->found);
    tp_arena_clear(&side->arena);
    memset(side, 0, sizeof *side);
}

/* --- what a reading gives ------------------------------------------------- */

enum { BATCH = 512 }; /* codes that stay in the first level cache           */

struct part {
    struct tp_content_digest digests[TP_CONTENT_VIEWS];
    uint64_t all, any; /* AND and OR of all codes                          */
    double amax;
    bool some;
};

struct state {
    const struct tp_content_tensor *tensor;
    struct part sums;
};

static double amax_of(enum tp_dtype dtype, const unsigned char *codes, size_t n)
{
    double values[BATCH], most = -1;
    tp_dtype_decode(dtype, codes, n, values);
    for (size_t i = 0; i < n; i++) {
        const double magnitude = fabs(values[i]);
        if (magnitude > most && magnitude < INFINITY)
            most = magnitude;
    }
    return most;
}

static void take_batch(const struct tp_content_tensor *tensor,
                       const unsigned char *codes, size_t n, uint64_t first,
                       struct part *part)
{
    const enum tp_dtype real = tensor->views[0].dtype;
    uint64_t canonical[BATCH];
    for (int i = 0; i < tensor->view_count; i++) {
        tp_content_codes(real, tensor->views[i].dtype, codes, n, canonical);
        tp_content_digest_add(canonical, n, first, &part->digests[i]);
        if (i > 0)
            continue;
        uint64_t all = part->some ? part->all : UINT64_MAX, any = part->any;
        for (size_t k = 0; k < n; k++) {
            all &= canonical[k];
            any |= canonical[k];
        }
        part->all = all;
        part->any = any;
    }
    const double amax = amax_of(real, codes, n);
    if (!part->some || amax > part->amax)
        part->amax = amax;
    part->some = true;
}

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct state *its = state;
    const size_t parts = pass->parts, size = pass->size / parts;
    const size_t all = (size_t)(piece->end - piece->fresh) * parts;
    const uint64_t first = (uint64_t)piece->fresh * parts;
    const unsigned char *codes =
        piece->codes + (size_t)(piece->fresh - piece->begin) * pass->size;
    (void)scratch;
    for (size_t i = 0; i < all; i += BATCH)
        take_batch(its->tensor, codes + i * size,
                   all - i < BATCH ? all - i : BATCH, first + i, part);
}

static void merge(void *state, const void *part)
{
    struct state *its = state;
    const struct part *more = part;
    struct part *sums = &its->sums;
    if (!more->some)
        return;
    for (int i = 0; i < TP_CONTENT_VIEWS; i++)
        tp_content_digest_merge(&sums->digests[i], &more->digests[i]);
    sums->all = sums->some ? sums->all & more->all : more->all;
    sums->any |= more->any;
    if (!sums->some || more->amax > sums->amax)
        sums->amax = more->amax;
    sums->some = true;
}

static const struct tp_sink sink = {
    .part_size = sizeof(struct part), .piece = take_piece, .merge = merge};

/* --- reading -------------------------------------------------------------- */

struct reader {
    struct tp_content_side *sides;
    const struct tp_content_reading *reading;
    struct tp_readers readers;
    struct {
        size_t side, first, count; /* tensors of one file                  */
    } * tasks;
    size_t task_count;
    atomic_bool no_memory;
    pthread_mutex_t lock; /* guards what follows                           */
    uint64_t done, bytes_done;
};

/* An expanded tensor of a few bytes may claim to have any number of elements,
 * and a walk in order would visit each. */
static enum tp_status check_expanded(const struct tp_tensor *tensor,
                                     struct tp_error *err)
{
    struct tp_walk walk;
    tp_walk_any_order(tensor, &walk);
    return tensor->numel / TP_LIMIT_OVERLAP <= walk.count
               ? TP_OK
               : tp_fail(err, TP_E_LIMIT, -1,
                         "an expanded tensor of %" PRId64
                         " elements stores only %" PRId64,
                         tensor->numel, walk.count);
}

/* Reads a tensor in row-major order, and its checksum if it has one. */
static enum tp_status digest_tensor(struct reader *r, unsigned worker,
                                    const struct tp_tensor *tensor,
                                    struct tp_content_tensor *its,
                                    struct tp_error *err)
{
    struct state state = {.tensor = its};
    struct tp_sink_use uses[2] = {{&sink, &state, 1}};
    struct tp_pass pass;
    enum tp_status status = check_expanded(tensor, err);
    if (status != TP_OK)
        return status;
    tp_pass_init(&pass, &r->readers, worker, tensor, err);
    struct tp_crc crc = tp_crc_of(&pass);
    tp_walk_ordered(tensor, &pass.walk);
    crc.along = crc.along && pass.walk.dense;
    if (crc.apart)
        status = tp_crc_check_apart(&pass);
    uses[1] = (struct tp_sink_use){&tp_sink_crc, &crc, 1};
    if (status == TP_OK)
        status = tp_pass_run(&pass, uses, crc.along ? 2 : 1);
    if (status == TP_OK && crc.along)
        status = tp_crc_judge(&crc, &pass);
    if (status != TP_OK)
        return status;
    for (int i = 0; i < its->view_count; i++)
        its->views[i].digest = state.sums.digests[i];
    its->constant = state.sums.some && state.sums.all == state.sums.any;
    its->amax = state.sums.some && state.sums.amax >= 0 ? state.sums.amax : NAN;
    its->read = true;
    return TP_OK;
}

static void read_tensors(struct reader *r, size_t index, unsigned worker,
                         const struct tp_tensor_file *file)
{
    const size_t side = r->tasks[index].side, first = r->tasks[index].first;
    for (size_t i = 0; i < r->tasks[index].count; i++) {
        struct tp_content_tensor *its = &r->sides[side].tensors[first + i];
        const struct tp_tensor *tensor = tp_content_tensor_in(its, file);
        struct tp_error why = {.code = TP_OK};
        if (r->reading->stop && *r->reading->stop)
            return;
        enum tp_status status =
            !tensor ? tp_fail(&why, TP_E_CHANGED, -1,
                              "the file is another than when it was first read")
            : its->numel ? digest_tensor(r, worker, tensor, its, &why)
                         : TP_OK;
        its->read = status == TP_OK;
        if (status == TP_E_MEMORY ||
            (status != TP_OK &&
             keep_problem(its->file, its->key, why.message, why.offset,
                          NULL) != TP_OK))
            r->no_memory = true;
    }
}

static void read_task(void *context, size_t index, unsigned worker)
{
    struct reader *r = context;
    const struct tp_content_reading *reading = r->reading;
    struct tp_content_tensor *first =
        &r->sides[r->tasks[index].side].tensors[r->tasks[index].first];
    struct tp_tensor_file file;
    struct tp_error why = {.code = TP_OK};
    if (reading->stop && *reading->stop)
        return;
    memset(&file, 0, sizeof file);
    enum tp_status status = tp_tensor_file_open_found(first->file, &file, &why);
    const uint64_t bytes = file.bytes.size;
    if (status == TP_OK)
        read_tensors(r, index, worker, &file);
    status = tp_tensor_file_end_found(first->file, "", &file, status, &why);
    tp_arena_clear(&file.arena);
    if (status == TP_E_MEMORY)
        r->no_memory = true;
    for (size_t i = 0; status != TP_OK && i < r->tasks[index].count; i++)
        first[i].read = false;
    pthread_mutex_lock(&r->lock);
    r->done++;
    r->bytes_done += bytes;
    if (reading->progress)
        reading->progress(reading->progress_context, r->done, r->task_count,
                          r->bytes_done, 0);
    pthread_mutex_unlock(&r->lock);
}

/* A task for each file. */
static enum tp_status plan(struct reader *r, struct tp_error *err)
{
    r->tasks =
        calloc(r->sides[0].count + r->sides[1].count + 1, sizeof *r->tasks);
    if (!r->tasks)
        return tp_fail_memory(err);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < r->sides[side].count; i++) {
            const struct tp_content_tensor *at = &r->sides[side].tensors[i];
            if (i == 0 || at[-1].file != at->file) {
                r->tasks[r->task_count].side = side;
                r->tasks[r->task_count++].first = i;
            }
            r->tasks[r->task_count - 1].count++;
        }
    return TP_OK;
}

/* Views of a side in the dtypes that the other one has. */
static void plan_views(struct tp_content_side *side,
                       const struct tp_content_side *other)
{
    static const enum tp_dtype shorter[] = {TP_FLOAT32, TP_FLOAT16,
                                            TP_BFLOAT16};
    bool has[TP_DTYPE_COUNT] = {false};
    for (size_t i = 0; i < other->count; i++)
        has[other->tensors[i].dtype] = true;
    for (size_t i = 0; i < side->count; i++) {
        struct tp_content_tensor *its = &side->tensors[i];
        for (size_t k = 0; k < sizeof shorter / sizeof *shorter; k++)
            if (has[shorter[k]] && shorter[k] != its->dtype &&
                tp_content_casts(its->dtype, shorter[k]))
                its->views[its->view_count++].dtype = shorter[k];
    }
}

enum tp_status tp_content_read(struct tp_content_side sides[2],
                               const struct tp_content_reading *reading,
                               struct tp_error *err)
{
    struct reader r = {.sides = sides, .reading = reading};
    enum tp_status status = tp_readers_init(&r.readers, reading->pool, err);
    if (status != TP_OK)
        return status;
    r.readers.stop = reading->stop;
    pthread_mutex_init(&r.lock, NULL);
    plan_views(&sides[0], &sides[1]);
    plan_views(&sides[1], &sides[0]);
    status = plan(&r, err);
    if (status == TP_OK)
        tp_pool_for(reading->pool, r.task_count, read_task, &r);
    if (status == TP_OK && reading->stop && *reading->stop)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (status == TP_OK && r.no_memory)
        status = tp_fail_memory(err);
    pthread_mutex_destroy(&r.lock);
    tp_readers_clear(&r.readers);
    free(r.tasks);
    return status;
}
