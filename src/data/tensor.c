/* SPDX-License-Identifier: MIT */
/*
 * Reading a strided view. A request for elements [first, first + n) of a walk
 * is cut into at most 2 * ndim boxes: partial rows, partial planes, ...,
 * whole planes, ..., partial rows. Within a box order is free, because the
 * place of each element in the result is known; so a box is read in the order
 * of the storage, in windows as large as the scratch allows while the gaps
 * between wanted bytes cost less than another system call would.
 *
 * Alternative: a read for each run of neighbours, a system call for each
 * element of a transposed matrix; or reading the whole storage, which may be
 * any number of times larger than the view.
 *
 * Cost: every wanted byte is read and copied once, and gaps of up to 4 KiB
 * with them; runs from 32 KiB on are read straight into the result.
 */
#include "data/tensor.h"

#include <assert.h>
#include <string.h>

/* A gap is read over rather than skipped while copying it is cheaper than a
 * system call: about 0.4 us at 10 GB/s. */
enum { GAP_BYTES = 4096 };

/* Contiguous runs from this size on are read straight into the result; below
 * it, several runs share one read through the scratch. */
enum { DIRECT_BYTES = 1 << 15 };

static enum tp_status check_shape(struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    bool empty = false;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0) {
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "shape[%d] is negative (%lld)", i,
                           (long long)tensor->shape[i]);
        }
        if (tensor->stride[i] < 0) {
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "stride[%d] is negative (%lld)", i,
                           (long long)tensor->stride[i]);
        }
        empty = empty || tensor->shape[i] == 0;
    }
    tensor->numel = empty ? 0 : 1;
    for (int i = 0; i < tensor->ndim; i++) {
        if (__builtin_mul_overflow(tensor->numel, tensor->shape[i],
                                   &tensor->numel)) {
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "the shape has more than 2^63 elements");
        }
    }
    return TP_OK;
}

/* Sets *last to the highest element index the view reaches; numel > 0. */
static enum tp_status check_inside(const struct tp_tensor *tensor,
                                   int64_t *last, struct tp_error *err)
{
    const size_t size = tp_dtype_info(tensor->dtype)->size;
    const uint64_t held = tensor->storage->size / size;
    *last = tensor->offset;
    for (int i = 0; i < tensor->ndim; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i],
                                   &reach) ||
            __builtin_add_overflow(*last, reach, last) ||
            (uint64_t)*last >= held) {
            return tp_fail(err, TP_E_DAMAGED, tensor->storage->file_offset,
                           "dimension %d (size %lld, stride %lld) leaves "
                           "the storage of %llu elements",
                           i, (long long)tensor->shape[i],
                           (long long)tensor->stride[i],
                           (unsigned long long)held);
        }
    }
    if ((uint64_t)*last >= held) {
        return tp_fail(err, TP_E_DAMAGED, tensor->storage->file_offset,
                       "element %lld lies outside the storage of %llu "
                       "elements",
                       (long long)*last, (unsigned long long)held);
    }
    return TP_OK;
}

/*
 * Views may overlap themselves (sliding windows), but not without bound: a
 * view of 1 MB could otherwise keep us busy for years. Axes of stride 0 are
 * free, since walks count them instead.
 */
static enum tp_status check_overlap(const struct tp_tensor *tensor,
                                    int64_t last, struct tp_error *err)
{
    const uint64_t span = (uint64_t)(last - tensor->offset) + 1;
    uint64_t visits = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->stride[i] != 0) {
            visits *= (uint64_t)tensor->shape[i];
        }
    }
    if (visits / TP_LIMIT_OVERLAP > span) {
        return tp_fail(err, TP_E_LIMIT, tensor->storage->file_offset,
                       "the view shows %llu stored elements as %llu, over "
                       "%d times each",
                       (unsigned long long)span, (unsigned long long)visits,
                       TP_LIMIT_OVERLAP);
    }
    return TP_OK;
}

enum tp_status tp_tensor_check(struct tp_tensor *tensor, struct tp_error *err)
{
    if (tensor->ndim < 0 || tensor->ndim > TP_LIMIT_DIMS) {
        return tp_fail(err, TP_E_DAMAGED, -1, "%d dimensions, not 0 to %d",
                       tensor->ndim, TP_LIMIT_DIMS);
    }
    enum tp_status status = check_shape(tensor, err);
    if (status != TP_OK) {
        return status;
    }
    if (tensor->offset < 0) {
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "the storage offset is negative (%lld)",
                       (long long)tensor->offset);
    }
    if (tensor->numel == 0) {
        return TP_OK;
    }
    if (!tensor->storage) {
        return tp_fail(err, TP_E_DAMAGED, -1, "the tensor has no storage");
    }
    int64_t last;
    status = check_inside(tensor, &last, err);
    if (status == TP_OK) {
        status = check_overlap(tensor, last, err);
    }
    return status;
}

/* An axis of a walk, of a box, or of what lies between. */
struct axis {
    int64_t count;
    int64_t from; /* stride in the storage, elements                       */
    int64_t to;   /* stride in the result, elements; joins only if it fits */
};

/* Stable, so that the order of a walk is defined where strides are equal. */
static void sort_by_stride(struct axis *axes, int n)
{
    for (int i = 1; i < n; i++) {
        const struct axis axis = axes[i];
        int j = i;
        for (; j > 0 && axes[j - 1].from < axis.from; j--) {
            axes[j] = axes[j - 1];
        }
        axes[j] = axis;
    }
}

/* Joins neighbours that continue each other; returns how many remain. */
static int join_axes(struct axis *axes, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        struct axis *outer = kept > 0 ? &axes[kept - 1] : NULL;
        /* A product that overflows cannot equal a stride of a valid view, of
         * which every count - 1 times stride is below 2^63. */
        int64_t from, to;
        if (outer &&
            !__builtin_mul_overflow(axes[i].count, axes[i].from, &from) &&
            !__builtin_mul_overflow(axes[i].count, axes[i].to, &to) &&
            outer->from == from && outer->to == to) {
            outer->count *= axes[i].count;
            outer->from = axes[i].from;
            outer->to = axes[i].to;
        } else {
            axes[kept++] = axes[i];
        }
    }
    return kept;
}

/* Turns the axes, whose `to` is unused, into a walk. */
static void make_walk(const struct tp_tensor *tensor, struct axis *axes,
                      int n, struct tp_walk *walk)
{
    n = join_axes(axes, n);
    walk->tensor = tensor;
    walk->ndim = n;
    walk->count = tensor->numel == 0 ? 0 : 1;
    for (int i = 0; i < n; i++) {
        walk->shape[i] = axes[i].count;
        walk->stride[i] = axes[i].from;
        walk->count *= axes[i].count;
    }
    walk->dense = n == 0 || (n == 1 && walk->stride[0] == 1);
}

void tp_walk_ordered(const struct tp_tensor *tensor, struct tp_walk *walk)
{
    struct axis axes[TP_LIMIT_DIMS];
    int n = 0;
    for (int i = 0; i < tensor->ndim && tensor->numel != 0; i++) {
        if (tensor->shape[i] != 1) {
            axes[n++] = (struct axis){tensor->shape[i], tensor->stride[i], 0};
        }
    }
    walk->repeat = 1;
    make_walk(tensor, axes, n, walk);
}

/* The axes a walk in storage order loops over; the others are in *repeat. */
static int looped_axes(const struct tp_tensor *tensor, struct axis *axes,
                       uint64_t *repeat)
{
    int n = 0;
    *repeat = 1;
    for (int i = 0; i < tensor->ndim && tensor->numel != 0; i++) {
        if (tensor->stride[i] == 0) {
            *repeat *= (uint64_t)tensor->shape[i];
        } else if (tensor->shape[i] != 1) {
            axes[n++] = (struct axis){tensor->shape[i], tensor->stride[i], 0};
        }
    }
    sort_by_stride(axes, n);
    return n;
}

void tp_walk_any_order(const struct tp_tensor *tensor, struct tp_walk *walk)
{
    struct axis axes[TP_LIMIT_DIMS];
    const int n = looped_axes(tensor, axes, &walk->repeat);
    make_walk(tensor, axes, n, walk);
}

void tp_walk_cover(const struct tp_walk *walk, int64_t first, int64_t n,
                   int64_t *begin, int64_t *end)
{
    int64_t last = first + n - 1, inside = walk->count;
    *begin = *end = walk->tensor->offset;
    for (int i = 0; i < walk->ndim; i++) {
        inside /= walk->shape[i]; /* elements of one index of this axis */
        *begin += first / inside * walk->stride[i];
        *end += last / inside * walk->stride[i];
        if (first / inside != last / inside) {
            /* any index of the axes that follow */
            for (int j = i + 1; j < walk->ndim; j++) {
                *end += (walk->shape[j] - 1) * walk->stride[j];
            }
            break;
        }
        first %= inside;
        last %= inside;
    }
    ++*end;
}

void tp_walk_lines(const struct tp_tensor *tensor, int axis,
                   struct tp_lines *lines)
{
    *lines = (struct tp_lines){.outer = 1, .length = 1, .inner = 1};
    assert(tensor->ndim == 0 || (axis >= 0 && axis < tensor->ndim));
    if (tensor->numel == 0) {
        lines->outer = 0;
        return;
    }
    lines->constant = 1;
    if (tensor->ndim == 0) {
        return;
    }
    const int64_t length = tensor->shape[axis];
    const int64_t stride = tensor->stride[axis];
    if (stride == 0) {
        lines->constant = length;
    } else {
        lines->length = length;
    }
    /* As sort_by_stride places them: an axis of equal stride stays inside
     * this one exactly if it comes later. */
    for (int i = 0; i < tensor->ndim; i++) {
        const bool inside =
            tensor->stride[i] < stride ||
            (tensor->stride[i] == stride && i > axis);
        if (i == axis || tensor->stride[i] == 0) {
            continue;
        } else if (inside && length != 1) {
            lines->inner *= tensor->shape[i];
        } else {
            lines->outer *= tensor->shape[i];
        }
    }
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* Reads `n` elements that lie next to each other. */
static enum tp_status read_run(const struct tp_tensor *tensor,
                               int64_t position, int64_t n, void *to,
                               struct tp_error *err)
{
    const size_t size = tp_dtype_info(tensor->dtype)->size;
    return tensor->storage->read(tensor->storage, (uint64_t)position * size,
                                 to, (size_t)n * size, err);
}

/* Copies elements of constant size along one axis; strides in elements. */
#define COPY_AS(bytes)                                                       \
    for (int64_t i = 0; i < axis->count; i++) {                              \
        memcpy(to + i * axis->to * (bytes), from + i * axis->from * (bytes), \
               bytes);                                                       \
    }                                                                        \
    break

static void copy_line(const unsigned char *from, const struct axis *axis,
                      size_t size, unsigned char *to)
{
    if (axis->from == 1 && axis->to == 1) {
        memcpy(to, from, (size_t)axis->count * size);
        return;
    }
    switch (size) {
    case 1: COPY_AS(1);
    case 2: COPY_AS(2);
    case 4: COPY_AS(4);
    case 8: COPY_AS(8);
    case 16: COPY_AS(16);
    default: assert(!"elements have 1 to 16 bytes, a power of two");
    }
}

/*
 * Moves `index` to the next place of the box of `n` axes (row-major) and the
 * two positions with it. False when the box is done.
 */
static bool next_place(const struct axis *axes, int n, int64_t *index,
                       int64_t *from, int64_t *to)
{
    for (int i = n - 1; i >= 0; i--) {
        *from += axes[i].from;
        *to += axes[i].to;
        if (++index[i] < axes[i].count) {
            return true;
        }
        *from -= axes[i].from * axes[i].count;
        *to -= axes[i].to * axes[i].count;
        index[i] = 0;
    }
    return false;
}

/* Copies a box whose storage bytes are all in memory. */
static void copy_box(const unsigned char *from, const struct axis *axes,
                     int n, size_t size, unsigned char *to)
{
    if (n == 0) {
        memcpy(to, from, size);
        return;
    }
    int64_t index[TP_LIMIT_DIMS] = {0};
    int64_t source = 0, target = 0;
    do {
        copy_line(from + source * (int64_t)size, &axes[n - 1], size,
                  to + target * (int64_t)size);
    } while (next_place(axes, n - 1, index, &source, &target));
}

/* Part of a request: where it begins in the storage and in the result. */
struct box {
    struct axis axes[TP_LIMIT_DIMS];
    int n;
    int64_t from, to;
};

/* How a box is read: the axes from `level` on are covered by one read of
 * `span` elements, `group` places of the axis `level` at a time. */
struct plan {
    int level;
    int64_t group;
    int64_t span; /* of a whole group, first to last element */
};

/* Chooses the largest reads that fit the scratch and waste little. */
static struct plan plan_reads(const struct axis *axes, int n, size_t size)
{
    const int64_t room = (int64_t)(TP_CHUNK_BYTES / size);
    struct plan plan = {.level = n, .group = 1, .span = 1};
    while (plan.level > 0) {
        const struct axis *axis = &axes[plan.level - 1];
        if (axis->from - plan.span > GAP_BYTES / (int64_t)size) {
            break;
        }
        /* How many places of this axis fit; all, where the stride is 0. */
        int64_t fit = axis->count;
        if (axis->from != 0 && fit > (room - plan.span) / axis->from + 1) {
            fit = (room - plan.span) / axis->from + 1;
        }
        plan.level--;
        plan.group = fit;
        plan.span += (fit - 1) * axis->from;
        if (fit < axis->count) {
            break;
        }
    }
    return plan;
}

/* Where a box is read from and put, and by what means. */
struct transfer {
    const struct tp_tensor *tensor;
    size_t size;
    unsigned char *codes;
    unsigned char *scratch;
};

/* Reads one group, `count` places of axis `level`, at the given positions. */
static enum tp_status read_group(const struct transfer *transfer,
                                 struct axis *axes, int n, int64_t from,
                                 int64_t to, struct tp_error *err)
{
    int64_t span = 1;
    for (int i = 0; i < n; i++) {
        span += (axes[i].count - 1) * axes[i].from;
    }
    unsigned char *target = transfer->codes + to * (int64_t)transfer->size;
    const bool straight =
        n == 0 || (n == 1 && axes[0].from == 1 && axes[0].to == 1);
    if (straight) {
        return read_run(transfer->tensor, from, span, target, err);
    }
    const enum tp_status status =
        read_run(transfer->tensor, from, span, transfer->scratch, err);
    if (status == TP_OK) {
        copy_box(transfer->scratch, axes, n, transfer->size, target);
    }
    return status;
}

/* Reads a box in the order of the storage. The box is used up. */
static enum tp_status read_box(const struct transfer *transfer,
                               struct box *box, struct tp_error *err)
{
    struct axis *axes = box->axes;
    int64_t from = box->from, to = box->to;
    sort_by_stride(axes, box->n);
    const int n = join_axes(axes, box->n);
    const int64_t direct = DIRECT_BYTES / (int64_t)transfer->size;
    struct plan plan;
    if (n > 0 && axes[n - 1].from == 1 && axes[n - 1].to == 1 &&
        axes[n - 1].count >= direct) {
        plan = (struct plan){n - 1, axes[n - 1].count, 0};
    } else {
        plan = plan_reads(axes, n, transfer->size);
    }
    int64_t index[TP_LIMIT_DIMS] = {0};
    if (plan.level == n) {
        /* No two elements share a read. */
        enum tp_status status;
        do {
            status = read_group(transfer, axes + n, 0, from, to, err);
        } while (status == TP_OK &&
                 next_place(axes, n, index, &from, &to));
        return status;
    }
    struct axis *grouped = &axes[plan.level];
    const struct axis whole = *grouped;
    do {
        for (int64_t i = 0; i < whole.count; i += plan.group) {
            grouped->count = whole.count - i < plan.group ? whole.count - i
                                                          : plan.group;
            const enum tp_status status =
                read_group(transfer, grouped, n - plan.level,
                           from + i * whole.from, to + i * whole.to, err);
            if (status != TP_OK) {
                return status;
            }
        }
    } while (next_place(axes, plan.level, index, &from, &to));
    return TP_OK;
}

/*
 * Sets the largest box of the walk that begins at element `first` and has at
 * most `n` elements (box->to is left alone). Returns how many it has.
 */
static int64_t largest_box(const struct tp_walk *walk, int64_t first,
                           int64_t n, struct box *box)
{
    int64_t index[TP_LIMIT_DIMS] = {0};
    int64_t rest = first;
    box->from = walk->tensor->offset;
    for (int i = walk->ndim - 1; i >= 0; i--) {
        index[i] = rest % walk->shape[i];
        rest /= walk->shape[i];
        box->from += index[i] * walk->stride[i];
    }
    int level = walk->ndim - 1;
    int64_t volume = 1; /* elements in one place of axis `level` */
    while (level > 0 && index[level] == 0 &&
           n / volume >= walk->shape[level]) {
        volume *= walk->shape[level--];
    }
    int64_t count = walk->shape[level] - index[level];
    if (count > n / volume) {
        count = n / volume;
    }
    int64_t to = volume;
    box->n = 0;
    for (int i = level; i < walk->ndim; i++) {
        const int64_t places = i == level ? count : walk->shape[i];
        if (i > level) {
            to /= walk->shape[i];
        }
        if (places > 1) {
            box->axes[box->n++] =
                (struct axis){places, walk->stride[i], to};
        }
    }
    return count * volume;
}

static enum tp_status read_strided(const struct tp_walk *walk, int64_t first,
                                   int64_t n, void *codes, void *scratch,
                                   struct tp_error *err)
{
    const struct transfer transfer = {
        .tensor = walk->tensor,
        .size = tp_dtype_info(walk->tensor->dtype)->size,
        .codes = codes,
        .scratch = scratch,
    };
    for (int64_t done = 0; done < n;) {
        struct box box;
        box.to = done;
        const int64_t boxed = largest_box(walk, first + done, n - done, &box);
        const enum tp_status status = read_box(&transfer, &box, err);
        if (status != TP_OK) {
            return status;
        }
        done += boxed;
    }
    return TP_OK;
}

/* Flips the sign of every `step`-th floating code, from code `start` on. */
static void flip_signs(unsigned char *codes, size_t n, size_t code_size,
                       size_t start, size_t step)
{
    const size_t top = host_is_big_endian() ? 0 : code_size - 1;
    for (size_t i = start; i < n; i += step) {
        codes[i * code_size + top] ^= 0x80;
    }
}

/* The two formats without -0, where the lone sign bit means NaN. */
static void flip_signs_fnuz(unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        codes[i] ^= codes[i] & 0x7f ? 0x80 : 0;
    }
}

/* Two's complement negation, as torch does: wraps at the least value. */
static void negate_integers(unsigned char *codes, size_t n, size_t code_size)
{
    const bool big = host_is_big_endian();
    for (size_t i = 0; i < n; i++, codes += code_size) {
        unsigned carry = 1;
        for (size_t j = 0; j < code_size; j++) {
            unsigned char *byte = &codes[big ? code_size - 1 - j : j];
            carry += *byte ^ 0xffu;
            *byte = (unsigned char)carry;
            carry >>= 8;
        }
    }
}

static void negate(enum tp_dtype dtype, unsigned char *codes, size_t n)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    if (dtype == TP_FLOAT8_E4M3FNUZ || dtype == TP_FLOAT8_E5M2FNUZ) {
        flip_signs_fnuz(codes, n);
    } else if (dtype == TP_FLOAT8_E8M0FNU || dtype == TP_BOOL) {
        return; /* unsigned: torch itself refuses to negate these */
    } else if (info->kind == TP_CLASS_INTEGER) {
        negate_integers(codes, n, info->code_size);
    } else {
        flip_signs(codes, n * info->parts, info->code_size, 0, 1);
    }
}

enum tp_status tp_walk_read(const struct tp_walk *walk, int64_t first,
                            size_t n, void *codes, void *scratch,
                            struct tp_error *err)
{
    const struct tp_tensor *tensor = walk->tensor;
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    assert(first >= 0 && first <= walk->count &&
           n <= (uint64_t)(walk->count - first));
    assert(scratch || walk->dense);
    if (n == 0) {
        return TP_OK;
    }
    const enum tp_status status =
        walk->dense ? read_run(tensor, tensor->offset + first, (int64_t)n,
                               codes, err)
                    : read_strided(walk, first, (int64_t)n, codes, scratch,
                                   err);
    if (status != TP_OK) {
        return status;
    }
    if (tensor->storage->big_endian != host_is_big_endian()) {
        tp_dtype_swap(codes, n * info->parts, info->code_size);
    }
    if (tensor->conjugated && info->parts == 2) {
        flip_signs(codes, 2 * n, info->code_size, 1, 2);
    }
    if (tensor->negated) {
        negate(tensor->dtype, codes, n);
    }
    return TP_OK;
}
