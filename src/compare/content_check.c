/* SPDX-License-Identifier: MIT */
/*
 * Two tensors, or views of them, are walked side by side and a walk ends at the
 * first difference, so that a wrong guess (of a permutation, of an axis) costs
 * one piece. In order: all of one list against all of the other, which covers
 * shards along the first axis and tensors that were stacked. Along an axis: the
 * ranges that both cuts make, each as a view of either side. Rows: each row's
 * order digest, looked up on the other side; then the runs of rows that stay
 * together are walked as everything else. A file stays open while its tensors
 * are asked for. Cost: one reading of both sides and, for rows, one more.
 */
#include "compare/content_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "compare/content_open.h"
#include "data/tensor_axes.h"
#include "formats/reader.h"

enum {
    PIECE = 16 << 10, /* elements at a time                                */
    TILE = 128,       /* a square of them is a piece                       */
    ROWS = 1 << 18    /* of a side: 24 bytes each are kept                 */
};

struct tp_content_checker {
    struct tp_content_files files;
    enum tp_dtype dtype; /* in which elements are compared                 */
    unsigned char raw[2][PIECE * 16]; /* complex128                        */
    uint64_t codes[2][PIECE * 2];
    unsigned char scratch[TP_CHUNK_BYTES];
};

struct tp_content_checker *tp_content_checker_new(void)
{
    return calloc(1, sizeof(struct tp_content_checker));
}

void tp_content_checker_free(struct tp_content_checker *checker)
{
    if (checker)
        tp_content_files_close(&checker->files);
    free(checker);
}

enum tp_status tp_content_check_end(struct tp_content_checker *checker,
                                    enum tp_status status,
                                    struct tp_error *err)
{
    struct tp_error own;
    if (status == TP_E_MEMORY)
        return status;
    const enum tp_status files =
        tp_content_files_unchanged(&checker->files, &own);
    if (files != TP_OK)
        *err = own;
    return files != TP_OK ? files : status;
}

/* --- two walks ------------------------------------------------------------ */

/* Elements from `at` on of a tensor. */
struct strand {
    const struct tp_tensor *tensor;
    int64_t at;
};

static enum tp_status read_codes(struct tp_content_checker *c, int side,
                                 const struct strand *strand, size_t n,
                                 struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(strand->tensor->dtype);
    struct tp_walk walk;
    tp_walk_ordered(strand->tensor, &walk);
    enum tp_status status =
        tp_walk_read(&walk, strand->at, n, c->raw[side], c->scratch, err);
    if (status != TP_OK)
        return tp_content_unread(&c->files, strand->tensor, status, err);
    tp_content_codes(info->real, c->dtype, c->raw[side], n * info->parts,
                         c->codes[side]);
    return status;
}

/* Sets *same to whether `n` elements are. */
static enum tp_status are_same(struct tp_content_checker *c,
                               const struct strand strands[2], int64_t n,
                               bool *same, struct tp_error *err)
{
    const size_t parts = tp_dtype_info(strands[0].tensor->dtype)->parts;
    enum tp_status status = TP_OK;
    *same = parts == tp_dtype_info(strands[1].tensor->dtype)->parts;
    for (int64_t done = 0; done < n && *same && status == TP_OK;) {
        const size_t some =
            n - done < PIECE ? (size_t)(n - done) : (size_t)PIECE;
        for (int i = 0; i < 2 && status == TP_OK; i++) {
            const struct strand at = {strands[i].tensor, strands[i].at + done};
            status = read_codes(c, i, &at, some, err);
        }
        *same = status == TP_OK &&
                memcmp(c->codes[0], c->codes[1], some * parts * 8) == 0;
        done += (int64_t)some;
    }
    return status;
}

/* --- one list behind the other -------------------------------------------- */

static int64_t total(const struct tp_content_tensors *list)
{
    int64_t numel = 0;
    for (size_t i = 0; i < list->count; i++)
        numel += list->tensors[i]->numel;
    return numel;
}

/* Compares `n` elements of two lists, from element from[i] of each. */
static enum tp_status compare_lists(struct tp_content_checker *c,
                                    const struct tp_content_tensors lists[2],
                                    const int64_t from[2], int64_t n,
                                    bool *same, struct tp_error *err)
{
    size_t index[2] = {0, 0};
    int64_t at[2] = {from[0], from[1]};
    enum tp_status status = TP_OK;
    *same = true;
    while (n > 0 && *same && status == TP_OK) {
        struct tp_tensor tensors[2];
        int64_t some = n;
        for (int i = 0; i < 2; i++)
            while (at[i] >= lists[i].tensors[index[i]]->numel)
                at[i] -= lists[i].tensors[index[i]++]->numel;
        for (int i = 0; i < 2 && status == TP_OK; i++) {
            const struct tp_content_tensor *its = lists[i].tensors[index[i]];
            some = its->numel - at[i] < some ? its->numel - at[i] : some;
            status = tp_content_fetch(&c->files, its, &tensors[i], err);
        }
        const struct strand strands[2] = {{&tensors[0], at[0]},
                                          {&tensors[1], at[1]}};
        if (status == TP_OK)
            status = are_same(c, strands, some, same, err);
        at[0] += some;
        at[1] += some;
        n -= some;
    }
    return status;
}

/* --- permutations --------------------------------------------------------- */

/* Permutation number `number` of `n` axes. */
static void nth_permutation(int number, int n, int *permutation)
{
    int left[TP_CONTENT_AXES];
    for (int i = 0; i < n; i++)
        left[i] = i;
    for (int i = 0; i < n; i++) {
        const int at = number % (n - i);
        number /= n - i;
        permutation[i] = left[at];
        for (int k = at; k + 1 < n - i; k++)
            left[k] = left[k + 1];
    }
}

/* The left one with its axes permuted; false: not the shape of the right. */
static bool permute(const struct tp_tensor *left, const struct tp_tensor *right,
                    const int *permutation, struct tp_tensor *turned,
                    struct tp_tensor_axes *axes)
{
    *turned = *left;
    tp_tensor_permute(turned, permutation, left->ndim, axes);
    for (int i = 0; i < left->ndim; i++)
        if (turned->shape[i] != right->shape[i])
            return false;
    return true;
}

/* The axis that is fastest in the storage. */
static int fastest(const struct tp_tensor *tensor)
{
    int axis = 0;
    for (int i = 1; i < tensor->ndim; i++)
        if (tensor->stride[i] < tensor->stride[axis])
            axis = i;
    return axis;
}

/* Compares tiles, squares of the axes that are fastest in either storage, so
 * that both are read in runs of TILE elements at least; `axis` and those behind
 * it are still to be cut. */
static enum tp_status compare_tiles(struct tp_content_checker *c,
                                    const struct tp_tensor tensors[2], int axis,
                                    bool *same, struct tp_error *err)
{
    const int fast[2] = {fastest(&tensors[0]), fastest(&tensors[1])};
    const struct strand strands[2] = {{&tensors[0], 0}, {&tensors[1], 0}};
    enum tp_status status = TP_OK;
    if (axis == tensors[0].ndim || tensors[0].numel <= PIECE ||
        fast[0] == fast[1])
        return are_same(c, strands, tensors[0].numel, same, err);
    const int64_t step = axis == fast[0] || axis == fast[1] ? TILE : 1;
    const int64_t all = tensors[0].shape[axis];
    *same = true;
    for (int64_t at = 0; at < all && *same && status == TP_OK; at += step) {
        struct tp_tensor parts[2] = {tensors[0], tensors[1]};
        struct tp_tensor_axes axes[2];
        for (int i = 0; i < 2; i++)
            tp_tensor_cut(&parts[i], axis, at,
                          all - at < step ? all - at : step, &axes[i]);
        status = compare_tiles(c, parts, axis + 1, same, err);
    }
    return status;
}

static enum tp_status check_permuted(struct tp_content_checker *c,
                                     const struct tp_content_tensors lists[2],
                                     struct tp_content_proof *proof,
                                     struct tp_error *err)
{
    static const int factorial[TP_CONTENT_AXES + 1] = {1, 1, 2, 6, 24};
    struct tp_tensor left, right, both[2];
    struct tp_tensor_axes axes[2], turned;
    enum tp_status status =
        tp_content_fetch(&c->files, lists[0].tensors[0], &left, err);
    if (status == TP_OK)
        status = tp_content_fetch(&c->files, lists[1].tensors[0], &right, err);
    if (status != TP_OK)
        return status;
    tp_tensor_squeeze(&left, &axes[0]);
    tp_tensor_squeeze(&right, &axes[1]);
    if (left.ndim > TP_CONTENT_AXES || left.ndim != right.ndim)
        return TP_OK;
    for (int i = 1; i < factorial[left.ndim] && status == TP_OK; i++) {
        bool same = false;
        nth_permutation(i, left.ndim, proof->permutation);
        if (!permute(&left, &right, proof->permutation, &both[0], &turned))
            continue;
        both[1] = right;
        status = compare_tiles(c, both, 0, &same, err);
        if (!same)
            continue;
        proof->how = TP_CONTENT_PERMUTED;
        proof->ndim = left.ndim;
        return status;
    }
    return status;
}

/* --- along an axis -------------------------------------------------------- */

/* Length of a list along an axis; -1: other axes or dtypes differ. */
static int64_t length_along(const struct tp_content_tensors *list,
                            const struct tp_content_tensor *like, int axis)
{
    int64_t length = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct tp_content_tensor *its = list->tensors[i];
        if (its->ndim != like->ndim)
            return -1;
        for (int k = 0; k < its->ndim; k++)
            if (k != axis && its->shape[k] != like->shape[k])
                return -1;
        length += its->shape[axis];
    }
    return length;
}

/* A part of an axis. */
struct range {
    int axis;
    int64_t at, length;
};

/* Compares the range that both cuts make which begins at range->at, and sets
 * its length. */
static enum tp_status check_range(struct tp_content_checker *c,
                                  const struct tp_content_tensors lists[2],
                                  struct range *range, bool *same,
                                  struct tp_error *err)
{
    struct tp_tensor tensors[2];
    struct tp_tensor_axes axes[2];
    int64_t first[2];
    const int axis = range->axis;
    enum tp_status status = TP_OK;
    range->length = INT64_MAX;
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        size_t index = 0;
        first[i] = range->at;
        while (first[i] >= lists[i].tensors[index]->shape[axis])
            first[i] -= lists[i].tensors[index++]->shape[axis];
        status = tp_content_fetch(&c->files, lists[i].tensors[index],
                                  &tensors[i], err);
        if (status == TP_OK &&
            tensors[i].shape[axis] - first[i] < range->length)
            range->length = tensors[i].shape[axis] - first[i];
    }
    if (status != TP_OK)
        return status;
    for (int i = 0; i < 2; i++)
        tp_tensor_cut(&tensors[i], axis, first[i], range->length, &axes[i]);
    const struct strand strands[2] = {{&tensors[0], 0}, {&tensors[1], 0}};
    return are_same(c, strands, tensors[0].numel, same, err);
}

static enum tp_status check_along(struct tp_content_checker *c,
                                  const struct tp_content_tensors lists[2],
                                  struct tp_content_proof *proof,
                                  struct tp_error *err)
{
    const struct tp_content_tensor *like = lists[0].tensors[0];
    enum tp_status status = TP_OK;
    for (int axis = 1; axis < like->ndim && status == TP_OK; axis++) {
        const int64_t all = length_along(&lists[0], like, axis);
        bool same = all >= 0 && all == length_along(&lists[1], like, axis);
        struct range range = {axis, 0, 0};
        for (; range.at < all && same && status == TP_OK;
             range.at += range.length)
            status = check_range(c, lists, &range, &same, err);
        if (status == TP_OK && same) {
            proof->how = TP_CONTENT_ALONG;
            proof->axis = axis;
            return TP_OK;
        }
    }
    return status;
}

enum tp_status tp_content_check(struct tp_content_checker *checker,
                                enum tp_dtype dtype,
                                const struct tp_content_tensors lists[2],
                                struct tp_content_proof *proof,
                                struct tp_error *err)
{
    static const int64_t start[2] = {0, 0};
    bool same = false;
    *proof = (struct tp_content_proof){.how = TP_CONTENT_DIFFER};
    checker->dtype = dtype;
    if (total(&lists[0]) != total(&lists[1]) || total(&lists[0]) == 0)
        return TP_OK;
    enum tp_status status =
        compare_lists(checker, lists, start, total(&lists[0]), &same, err);
    if (status != TP_OK)
        return status;
    if (same)
        proof->how = TP_CONTENT_IN_ORDER;
    else if (lists[0].count + lists[1].count == 2)
        status = check_permuted(checker, lists, proof, err);
    else
        status = check_along(checker, lists, proof, err);
    return status;
}

/* --- rows ----------------------------------------------------------------- */

/* A row of a side by its digest. */
struct row {
    uint64_t digest;
    size_t at;
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    const int result = tp_order_uint64(a->digest, b->digest);
    return result ? result : tp_order_size(a->at, b->at);
}

/* Elements of a row that all tensors of a list have; -1: they do not. */
static int64_t row_length(const struct tp_content_tensors *list)
{
    int64_t length = -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct tp_content_tensor *its = list->tensors[i];
        const int64_t here = its->ndim ? its->numel / its->shape[0] : -1;
        if (here < 1 || (i > 0 && here != length))
            return -1;
        length = here;
    }
    return length;
}

/* Digests of the rows of a tensor. */
static enum tp_status digest_rows(struct tp_content_checker *c,
                                  const struct tp_tensor *tensor,
                                  int64_t length, struct row *rows,
                                  struct tp_error *err)
{
    const size_t parts = tp_dtype_info(tensor->dtype)->parts;
    enum tp_status status = TP_OK;
    for (int64_t at = 0; at < tensor->numel && status == TP_OK;) {
        const int64_t left = length - at % length;
        const struct strand strand = {tensor, at};
        const size_t n = left < PIECE ? (size_t)left : (size_t)PIECE;
        struct tp_content_digest digest = {0};
        status = read_codes(c, 0, &strand, n, err);
        if (status == TP_OK)
            tp_content_digest_add(c->codes[0], n * parts,
                                  (uint64_t)(at % length) * parts, &digest);
        rows[at / length].digest += digest.order;
        at += (int64_t)n;
    }
    return status;
}

static enum tp_status list_rows(struct tp_content_checker *c,
                                const struct tp_content_tensors *list,
                                int64_t length, struct row *rows,
                                struct tp_error *err)
{
    size_t at = 0;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < list->count && status == TP_OK; i++) {
        struct tp_tensor tensor;
        status = tp_content_fetch(&c->files, list->tensors[i], &tensor, err);
        if (status == TP_OK)
            status = digest_rows(c, &tensor, length, rows + at, err);
        at += (size_t)(list->tensors[i]->numel / length);
    }
    for (size_t i = 0; i < at; i++)
        rows[i].at = i;
    return status;
}

/* Sets to[] of each left row, whose digests are `left`: the row behind the one
 * before it where that is equal, else the first free one. False: none is. */
static bool map_rows(const struct row *left, const struct row *sorted,
                     const uint64_t *right, size_t count, size_t *to)
{
    bool *taken = calloc(count, sizeof *taken);
    bool all = taken != NULL;
    for (size_t i = 0; i < count && all; i++) {
        size_t at = i > 0 ? to[i - 1] + 1 : 0, k;
        if (at >= count || taken[at] || right[at] != left[i].digest) {
            TP_PARTITION_POINT(k, count, sorted[k].digest < left[i].digest);
            while (k < count && sorted[k].digest == left[i].digest &&
                   taken[sorted[k].at])
                k++;
            all = k < count && sorted[k].digest == left[i].digest;
            at = all ? sorted[k].at : 0;
        }
        to[i] = at;
        if (all)
            taken[at] = true;
    }
    free(taken);
    return all;
}

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Walks the runs of rows that stay together. */
static enum tp_status check_runs(struct tp_content_checker *c,
                                 const struct tp_content_tensors lists[2],
                                 const size_t *to, int64_t length,
                                 struct tp_content_proof *proof,
                                 struct tp_error *err)
{
    const size_t count = (size_t)(total(&lists[0]) / length);
    enum tp_status status = TP_OK;
    bool same = true;
    for (size_t i = 0, end; i < count && same && status == TP_OK; i = end) {
        for (end = i + 1; end < count && to[end] == to[end - 1] + 1;)
            end++;
        const int64_t from[2] = {(int64_t)i * length, (int64_t)to[i] * length};
        proof->block = common(proof->block, (int64_t)(end - i));
        proof->runs++;
        status = compare_lists(c, lists, from, (int64_t)(end - i) * length,
                               &same, err);
    }
    if (status == TP_OK && same)
        proof->how = TP_CONTENT_ROWS;
    return status;
}

enum tp_status tp_content_check_rows(struct tp_content_checker *checker,
                                     enum tp_dtype dtype,
                                     const struct tp_content_tensors lists[2],
                                     struct tp_content_proof *proof,
                                     struct tp_error *err)
{
    const int64_t length = row_length(&lists[0]);
    *proof = (struct tp_content_proof){.how = TP_CONTENT_DIFFER};
    checker->dtype = dtype;
    if (length < 1 || length != row_length(&lists[1]) ||
        total(&lists[0]) != total(&lists[1]) ||
        total(&lists[0]) / length > ROWS)
        return TP_OK;
    const size_t count = (size_t)(total(&lists[0]) / length);
    struct row *left = calloc(count, sizeof *left);
    struct row *right = calloc(count, sizeof *right);
    uint64_t *digests = calloc(count, sizeof *digests);
    size_t *to = calloc(count, sizeof *to);
    enum tp_status status =
        left && right && digests && to ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK)
        status = list_rows(checker, &lists[0], length, left, err);
    if (status == TP_OK)
        status = list_rows(checker, &lists[1], length, right, err);
    for (size_t i = 0; i < count && status == TP_OK; i++)
        digests[i] = right[i].digest;
    if (status == TP_OK) {
        qsort(right, count, sizeof *right, compare_rows);
        if (map_rows(left, right, digests, count, to))
            status = check_runs(checker, lists, to, length, proof, err);
    }
    free(left);
    free(right);
    free(digests);
    free(to);
    return status;
}

/* --- distance ------------------------------------------------------------- */

struct sums {
    double difference, right;
    int64_t differ;
    bool broken; /* a NaN or Inf on one side only                          */
};

static void add_distance(const struct tp_content_checker *c,
                         const enum tp_dtype reals[2], size_t n,
                         struct sums *sums)
{
    double values[2][512];
    for (size_t i = 0; i < n; i += 512) {
        const size_t some = n - i < 512 ? n - i : 512;
        for (int k = 0; k < 2; k++)
            tp_dtype_decode(reals[k],
                            c->raw[k] + i * tp_dtype_info(reals[k])->code_size,
                            some, values[k]);
        for (size_t k = 0; k < some; k++) {
            const double x = values[0][k], y = values[1][k];
            const bool same = x == y || (isnan(x) && isnan(y));
            sums->differ += !same;
            sums->broken |= !same && !(isfinite(x) && isfinite(y));
            if (!same)
                sums->difference += (x - y) * (x - y);
            if (isfinite(y))
                sums->right += y * y;
        }
    }
}

enum tp_status tp_content_distance(struct tp_content_checker *checker,
                                   const struct tp_content_tensor *left,
                                   const struct tp_content_tensor *right,
                                   struct tp_content_distance *distance,
                                   struct tp_error *err)
{
    struct tp_tensor tensors[2];
    struct sums sums = {.broken = false};
    enum tp_status status =
        tp_content_fetch(&checker->files, left, &tensors[0], err);
    if (status == TP_OK)
        status = tp_content_fetch(&checker->files, right, &tensors[1], err);
    if (status != TP_OK)
        return status;
    const enum tp_dtype reals[2] = {tp_dtype_info(left->dtype)->real,
                                    tp_dtype_info(right->dtype)->real};
    for (int64_t at = 0; at < left->numel && status == TP_OK; at += PIECE) {
        const int64_t rest = left->numel - at;
        const size_t n = rest < PIECE ? (size_t)rest : (size_t)PIECE;
        for (int i = 0; i < 2 && status == TP_OK; i++) {
            const struct strand strand = {&tensors[i], at};
            checker->dtype = reals[i];
            status = read_codes(checker, i, &strand, n, err);
        }
        if (status == TP_OK)
            add_distance(checker, reals, n * tp_dtype_info(left->dtype)->parts,
                         &sums);
    }
    distance->differ = sums.differ;
    distance->relative_l2 = sums.differ == 0 ? 0
                            : sums.broken || sums.right == 0
                                ? INFINITY
                                : sqrt(sums.difference / sums.right);
    return status;
}
