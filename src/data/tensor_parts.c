/* SPDX-License-Identifier: MIT */
/*
 * A tensor of parts as one storage. In row-major order a part is a sequence of
 * runs: the axes behind the last one that it does not have whole make its runs,
 * which follow each other in the part and stand at growing places of the whole.
 * A request is cut by these: the first and the last run of a part that it
 * reaches are found by bisection, and what lies between is one piece of the
 * part, read through a window when runs are short. So whatever reads tensors
 * reads these, in any order and by any thread.
 *
 * To merge the statistics of the parts would need no place of any element, but
 * a second path through every statistic, quantiles and blocks included. Cost: a
 * look at each part for each request, and one more copy where runs are short.
 */
#include "data/tensor_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "data/tensor_axes.h"

enum {
    WINDOW = 1 << 16, /* bytes of a part read together                   */
    DIRECT = 1 << 14, /* longer runs are read where they are wanted      */
    OVERLAP_TESTS = 1 << 28 /* pairs of parts that are compared: a grid of
                         10^5 parts in three axes needs 2 * 10^8         */
};

/* A part; all in bytes, places are those of the whole. */
struct piece {
    struct tp_storage *storage;
    const int64_t *size;  /* elements along each axis          */
    uint64_t first, last; /* its first byte, and behind its last one */
    uint64_t run, runs;
    int outer; /* axes that number the runs                    */
};

struct joined {
    struct tp_storage base;
    uint64_t step[TP_LIMIT_DIMS]; /* bytes between indices of an axis */
    size_t count;
    struct piece pieces[]; /* by first byte */
};

/* ---- reading ------------------------------------------------------------ */

static uint64_t run_place(const struct joined *j, const struct piece *piece,
                          uint64_t run)
{
    uint64_t place = piece->first;
    for (int i = piece->outer; i-- > 0;) {
        const uint64_t size = (uint64_t)piece->size[i];
        place += run % size * j->step[i];
        run /= size;
    }
    return place;
}

/* The first run that ends behind byte `place` of the whole. */
static uint64_t run_behind(const struct joined *j, const struct piece *piece,
                           uint64_t place)
{
    uint64_t low = 0, high = piece->runs;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (run_place(j, piece, middle) + piece->run > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A request: bytes [begin, end) of the whole. */
struct request {
    uint64_t begin, end;
    unsigned char *to;
};

/* Short runs: bytes [from, until) of the part pass through a window. */
static enum tp_status read_runs(const struct joined *j,
                                const struct piece *piece,
                                const struct request *request, uint64_t run,
                                struct tp_error *err)
{
    unsigned char window[WINDOW];
    uint64_t start = 0, end = 0; /* of the window in the part */
    const uint64_t all = piece->run * piece->runs;
    /* the last run that is reached, and where the part is needed no more */
    uint64_t until = run_behind(j, piece, request->end - 1);
    until = until < piece->runs ? (until + 1) * piece->run : all;
    for (; run < piece->runs; run++) {
        const uint64_t place = run_place(j, piece, run);
        if (place >= request->end)
            break;
        uint64_t low = place < request->begin ? request->begin - place : 0;
        uint64_t high = request->end - place < piece->run
                            ? request->end - place
                            : piece->run;
        const uint64_t from = run * piece->run + low;
        const size_t length = (size_t)(high - low);
        if (from < start || from + length > end) {
            start = from;
            end = until - from < WINDOW ? until : from + WINDOW;
            enum tp_status status = piece->storage->read(
                piece->storage, start, window, (size_t)(end - start), err);
            if (status != TP_OK)
                return status;
        }
        memcpy(request->to + (place + low - request->begin),
               window + (from - start), length);
    }
    return TP_OK;
}

/* Long runs: each is read to its place. */
static enum tp_status read_long_runs(const struct joined *j,
                                     const struct piece *piece,
                                     const struct request *request,
                                     uint64_t run, struct tp_error *err)
{
    for (; run < piece->runs; run++) {
        const uint64_t place = run_place(j, piece, run);
        if (place >= request->end)
            break;
        uint64_t low = place < request->begin ? request->begin - place : 0;
        uint64_t high = request->end - place < piece->run
                            ? request->end - place
                            : piece->run;
        enum tp_status status = piece->storage->read(
            piece->storage, run * piece->run + low,
            request->to + (place + low - request->begin), (size_t)(high - low),
            err);
        if (status != TP_OK)
            return status;
    }
    return TP_OK;
}

static enum tp_status joined_read(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct joined *j = (const struct joined *)storage;
    const struct request request = {offset, offset + length, buffer};
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "the tensor has %" PRIu64 " bytes, but %zu bytes from "
                       "byte %" PRIu64 " are needed",
                       storage->size, length, offset);
    for (size_t i = 0; length && i < j->count; i++) {
        const struct piece *piece = &j->pieces[i];
        if (piece->first >= request.end)
            break;
        if (piece->last <= request.begin)
            continue;
        const uint64_t run = run_behind(j, piece, request.begin);
        enum tp_status status =
            piece->run < DIRECT
                ? read_runs(j, piece, &request, run, err)
                : read_long_runs(j, piece, &request, run, err);
        if (status != TP_OK)
            return status;
    }
    return TP_OK;
}

struct tp_storage *tp_joined_part(const struct tp_storage *storage, size_t i)
{
    const struct joined *j = (const struct joined *)storage;
    return storage && storage->read == joined_read && i < j->count
               ? j->pieces[i].storage
               : NULL;
}

/* ---- that the parts make the whole -------------------------------------- */

static uint64_t part_numel(const struct tp_tensor *tensor,
                           const struct tp_tensor_part *part)
{
    uint64_t numel = 1;
    for (int i = 0; i < tensor->ndim; i++)
        numel *= (uint64_t)part->size[i];
    return numel;
}

enum tp_status tp_tensor_part_inside(const struct tp_tensor *tensor,
                                     const struct tp_tensor_part *part,
                                     struct tp_error *err)
{
    for (int i = 0; i < tensor->ndim; i++) {
        if (part->offset[i] < 0 || part->size[i] < 0 ||
            part->offset[i] > tensor->shape[i] ||
            part->size[i] > tensor->shape[i] - part->offset[i])
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "a part begins at index %" PRId64 " and has %" PRId64
                           " indices of dimension %d, which has %" PRId64,
                           part->offset[i], part->size[i], i,
                           tensor->shape[i]);
    }
    return TP_OK;
}

static bool overlap(int ndim, const struct tp_tensor_part *a,
                    const struct tp_tensor_part *b)
{
    bool common = true;
    for (int i = 0; i < ndim && common; i++)
        common = a->offset[i] < b->offset[i] + b->size[i] &&
                 b->offset[i] < a->offset[i] + a->size[i];
    return common;
}

struct start {
    int64_t offset;
    size_t part;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    int order = tp_order_int64(x->offset, y->offset);
    return order ? order : tp_order_uint64(x->part, y->part);
}

/* Sorts parts by where they begin along an axis; how many beginnings. */
static size_t sort_along(const struct tp_tensor_part *parts, size_t count,
                         int axis, struct start *starts)
{
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        starts[i] = (struct start){parts[i].offset[axis], i};
    qsort(starts, count, sizeof *starts, compare_starts);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || starts[i].offset != starts[i - 1].offset;
    return distinct;
}

/* That no two parts share an element: each is compared with those that begin
 * before it ends, along the axis with most beginnings. */
static enum tp_status check_apart(const struct tp_tensor *tensor,
                                  const struct tp_tensor_part *parts,
                                  size_t count, struct tp_error *err)
{
    size_t most = 0, tests = 0;
    int axis = 0;
    struct start *starts = calloc(count, sizeof *starts);
    if (!starts)
        return tp_fail_memory(err);
    for (int i = 0; i < tensor->ndim; i++) {
        const size_t distinct = sort_along(parts, count, i, starts);
        axis = distinct > most ? i : axis;
        most = distinct > most ? distinct : most;
    }
    if (tensor->ndim > 0)
        sort_along(parts, count, axis, starts);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct tp_tensor_part *a = &parts[starts[i].part];
        const int64_t end =
            tensor->ndim ? a->offset[axis] + a->size[axis] : INT64_MAX;
        for (size_t k = i + 1; k < count && status == TP_OK; k++) {
            const struct tp_tensor_part *b = &parts[starts[k].part];
            if (tensor->ndim && starts[k].offset >= end)
                break;
            if (++tests > OVERLAP_TESTS)
                status = tp_fail(err, TP_E_LIMIT, -1,
                                 "%zu parts are too many to compare", count);
            else if (overlap(tensor->ndim, a, b))
                status = tp_fail(err, TP_E_DAMAGED, -1,
                                 "parts %zu and %zu of it overlap",
                                 starts[i].part, starts[k].part);
        }
    }
    free(starts);
    return status;
}

/* Drops empty parts, checks the others; *count are left. */
static enum tp_status check_parts(const struct tp_tensor *tensor,
                                  const struct tp_tensor_part *parts,
                                  struct tp_tensor_part *kept, size_t *count,
                                  struct tp_error *err)
{
    uint64_t numel = 0;
    size_t n = 0;
    for (size_t i = 0; i < *count; i++) {
        enum tp_status status = tp_tensor_part_inside(tensor, &parts[i], err);
        if (status != TP_OK)
            return status;
        const uint64_t of_part = part_numel(tensor, &parts[i]);
        if (of_part == 0)
            continue;
        if (numel > (uint64_t)tensor->numel)
            break; /* they overlap */
        numel += of_part;
        kept[n++] = parts[i];
    }
    *count = n;
    enum tp_status status = n > 1 ? check_apart(tensor, kept, n, err) : TP_OK;
    if (status == TP_OK && numel != (uint64_t)tensor->numel)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "a hole: its %zu part%s %" PRIu64 " of %" PRId64
                         " elements",
                         n, n == 1 ? " has" : "s have", numel, tensor->numel);
    return status;
}

/* ---- making ------------------------------------------------------------- */

static void set_piece(const struct joined *j, const struct tp_tensor *tensor,
                      const struct tp_tensor_part *part, struct piece *piece)
{
    const uint64_t element = tp_dtype_info(tensor->dtype)->size;
    int i = tensor->ndim;
    piece->storage = part->storage;
    piece->size = part->size;
    piece->run = element;
    /* axes that the part has whole, and one more */
    while (i > 0 && part->size[i - 1] == tensor->shape[i - 1])
        piece->run *= (uint64_t)part->size[--i];
    if (i > 0)
        piece->run *= (uint64_t)part->size[--i];
    piece->outer = i;
    piece->runs = 1;
    for (int k = 0; k < i; k++)
        piece->runs *= (uint64_t)part->size[k];
    for (int k = 0; k < tensor->ndim; k++)
        piece->first += (uint64_t)part->offset[k] * j->step[k];
    piece->last = run_place(j, piece, piece->runs - 1) + piece->run;
}

static int compare_pieces(const void *a, const void *b)
{
    return tp_order_uint64(((const struct piece *)a)->first,
                           ((const struct piece *)b)->first);
}

static enum tp_status join(struct tp_arena *arena, struct tp_tensor *tensor,
                           const struct tp_tensor_part *parts, size_t count,
                           struct tp_error *err)
{
    const uint64_t element = tp_dtype_info(tensor->dtype)->size;
    struct joined *j =
        tp_arena_alloc(arena, sizeof *j + count * sizeof *j->pieces);
    if (!j)
        return tp_fail_memory(err);
    j->base.read = joined_read;
    j->base.size = (uint64_t)tensor->numel * element;
    j->base.file_offset = -1;
    j->base.big_endian = parts[0].storage->big_endian;
    j->count = count;
    for (int i = 0; i < tensor->ndim; i++)
        j->step[i] = (uint64_t)tensor->stride[i] * element;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].storage->big_endian != j->base.big_endian)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "its parts differ in their byte order");
        if (parts[i].storage->size / element < part_numel(tensor, &parts[i]))
            return tp_fail(err, TP_E_DAMAGED, parts[i].storage->file_offset,
                           "part %zu has %" PRIu64 " bytes, too few for its "
                           "shape",
                           i, parts[i].storage->size);
        set_piece(j, tensor, &parts[i], &j->pieces[i]);
    }
    qsort(j->pieces, count, sizeof *j->pieces, compare_pieces);
    tensor->storage = &j->base;
    return TP_OK;
}

/* Copies the shape to the arena, beside strides without gaps. */
static enum tp_status set_dense(struct tp_tensor *tensor,
                                struct tp_arena *arena, struct tp_error *err)
{
    const int64_t *shape = tensor->shape;
    int64_t *axes = tp_tensor_new_axes(tensor, tensor->ndim, arena);
    if (!axes)
        return tp_fail_memory(err);
    for (int i = 0; i < tensor->ndim; i++)
        axes[i] = shape[i];
    tp_dense_strides(tensor->ndim, axes, axes + tensor->ndim);
    tensor->offset = 0;
    return TP_OK;
}

/* Sets numel; the storage is not there yet. */
static enum tp_status count_elements(struct tp_tensor *tensor,
                                     struct tp_error *err)
{
    bool empty = false, overflow = false;
    tensor->numel = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0)
            return tp_fail(err, TP_E_DAMAGED, -1, "shape[%d] is negative", i);
        empty = empty || tensor->shape[i] == 0;
        overflow |= __builtin_mul_overflow(tensor->numel, tensor->shape[i],
                                           &tensor->numel);
    }
    if (empty)
        tensor->numel = 0;
    else if (overflow ||
             (uint64_t)tensor->numel >
                 INT64_MAX / tp_dtype_info(tensor->dtype)->size)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "the shape has more than 2^63 bytes");
    return TP_OK;
}

enum tp_status tp_tensor_join(struct tp_arena *arena, struct tp_tensor *tensor,
                              const struct tp_tensor_part *parts, size_t count,
                              struct tp_error *err)
{
    tensor->storage = NULL;
    enum tp_status status = set_dense(tensor, arena, err);
    if (status == TP_OK)
        status = count_elements(tensor, err);
    if (status != TP_OK)
        return status;
    struct tp_tensor_part *kept = calloc(count + 1, sizeof *kept);
    if (!kept)
        return tp_fail_memory(err);
    status = check_parts(tensor, parts, kept, &count, err);
    if (status == TP_OK && tensor->numel > 0) {
        if (count == 1)
            tensor->storage = kept[0].storage;
        else
            status = join(arena, tensor, kept, count, err);
    }
    free(kept);
    return status == TP_OK ? tp_tensor_check(tensor, err) : status;
}

/* ---- files of a set ----------------------------------------------------- */

struct member_storage {
    struct tp_storage base;
    struct tp_file_set *set;
    size_t number;
    uint64_t start;
};

static enum tp_status member_read(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct member_storage *m = (const struct member_storage *)storage;
    struct tp_bytes bytes;
    enum tp_status status = tp_file_set_take(m->set, m->number, &bytes, err);
    if (status != TP_OK)
        return status;
    status = tp_bytes_read(&bytes, m->start + offset, buffer, length, err);
    tp_file_set_give(m->set, m->number);
    tp_while(status == TP_OK ? NULL : err, "reading %s",
             tp_file_set_name(m->set, m->number));
    return status;
}

struct tp_storage *tp_member_storage_new(struct tp_arena *arena,
                                         struct tp_file_set *set,
                                         size_t number, uint64_t start,
                                         uint64_t size)
{
    struct member_storage *m = tp_arena_alloc(arena, sizeof *m);
    if (!m)
        return NULL;
    m->base.read = member_read;
    m->base.size = size;
    m->base.file_offset = (int64_t)start;
    m->base.member = tp_file_set_name(set, number);
    m->set = set;
    m->number = number;
    m->start = start;
    return &m->base;
}
