/* SPDX-License-Identifier: MIT */
/*
 * Codes and scales to values, for any range of elements. The elements of a
 * range are taken in pieces that share a block: codes of up to BATCH elements
 * are read at once, and scales through a window that goes ahead in the order
 * in which they lie, so that a line of 64 elements does not cost a read of
 * four bytes, and the 128 lines that share scales read them once. Padding,
 * transposition and the tiles of cuBLAS are no matter here: they are strides
 * of the tensor of scales.
 *
 * To decode a whole tensor once into memory would be simpler, and needs four
 * to eight times what the file has. Cost: a step for each piece, a look into a
 * table of 256 and a product for each element; memory is one struct work.
 */
#include "data/scaled.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/dtype_math.h"
#include "data/encode.h"
#include "data/tensor_axes.h"

enum {
    BATCH = 4096,  /* codes read at once                                  */
    WINDOW = 4096, /* scales read at once                                 */
    TABLE = 256
};

/* A scale in the course of being read. */
struct window {
    const struct tp_block_scale *scale;
    struct tp_walk walk;
    int64_t first, n; /* what is in value                                 */
    double value[WINDOW];
};

enum { SCALE, ZERO, FACTOR, WINDOWS };

struct work {
    const struct tp_scaled *scaled;
    tp_scaled_visit *visit;
    void *context;
    struct tp_walk codes;
    struct window windows[WINDOWS];
    unsigned char *scratch; /* TP_CHUNK_BYTES, or NULL where all is dense */
    uint32_t code[BATCH];
    uint64_t raw[BATCH]; /* as read, up to 8 bytes a code              */
};

/* ---- scales -------------------------------------------------------------- */

static enum tp_status read_window(struct work *w, struct window *window,
                                  int64_t place, struct tp_error *err)
{
    const struct tp_tensor *tensor = window->scale->tensor;
    int64_t left = window->walk.count - place;
    if (place < 0 || left <= 0)
        return tp_fail(err, TP_E_DAMAGED, -1, "there is no scale %" PRId64,
                       place);
    size_t n = left < WINDOW ? (size_t)left : WINDOW;
    enum tp_status status =
        tp_walk_read(&window->walk, place, n, w->raw, w->scratch, err);
    if (status != TP_OK)
        return status;
    enum tp_dtype as = window->scale->dtype;
    tp_dtype_decode(as < TP_DTYPE_COUNT ? as : tensor->dtype, w->raw, n,
                    window->value);
    window->first = place;
    window->n = (int64_t)n;
    return TP_OK;
}

/* The number for an element; *place is where it is. */
static enum tp_status scale_at(struct work *w, struct window *window,
                               const int64_t *index, int64_t *place,
                               double *value, struct tp_error *err)
{
    const struct tp_block_scale *scale = window->scale;
    *place = 0;
    *value = scale->constant;
    if (!scale->tensor)
        return TP_OK;
    for (int i = 0; i < w->scaled->ndim; i++)
        *place += index[i] / scale->block[i] * scale->pitch[i];
    if (*place < window->first || *place >= window->first + window->n) {
        enum tp_status status = read_window(w, window, *place, err);
        if (status != TP_OK)
            return status;
    }
    *value = window->value[*place - window->first];
    return TP_OK;
}

/* ---- codes --------------------------------------------------------------- */

static void widen(const void *raw, size_t size, size_t n, uint32_t *code)
{
    const unsigned char *bytes = raw;
    for (size_t i = 0; size == 1 && i < n; i++)
        code[i] = bytes[i];
    for (size_t i = 0; size > 1 && i < n; i++) {
        code[i] = 0;
        if (size == 2) {
            uint16_t c;
            memcpy(&c, bytes + 2 * i, 2);
            code[i] = c;
        } else {
            memcpy(&code[i], bytes + 4 * i, 4);
        }
    }
}

static enum tp_status read_nibbles(struct work *w, int64_t first, size_t n,
                                   struct tp_error *err)
{
    unsigned char *bytes = (unsigned char *)w->raw;
    int64_t from = first / 2, to = (first + (int64_t)n + 1) / 2;
    enum tp_status status = tp_walk_read(&w->codes, from, (size_t)(to - from),
                                         bytes, w->scratch, err);
    for (size_t i = 0; status == TP_OK && i < n; i++) {
        size_t at = (size_t)(first & 1) + i;
        w->code[i] = at & 1 ? bytes[at / 2] >> 4 : bytes[at / 2] & 15;
    }
    return status;
}

/* Codes of one line, from its element k on. */
static enum tp_status read_words(struct work *w, int64_t line, int64_t k,
                                 size_t n, uint32_t *code, struct tp_error *err)
{
    const struct tp_scaled *s = w->scaled;
    const int64_t columns = s->codes->shape[s->codes->ndim - 1];
    const int64_t bit = k * s->bits, first = bit / 32;
    const int64_t last = (bit + (int64_t)n * s->bits - 1) / 32;
    uint32_t *words = (uint32_t *)w->raw;
    enum tp_status status =
        tp_walk_read(&w->codes, line * columns + first,
                     (size_t)(last - first + 1), words, w->scratch, err);
    for (size_t i = 0; status == TP_OK && i < n; i++) {
        uint64_t at = (uint64_t)(bit - 32 * first) + i * (uint64_t)s->bits;
        uint64_t both = words[at / 32];
        if (at / 32 < (uint64_t)(last - first))
            both |= (uint64_t)words[at / 32 + 1] << 32;
        code[i] = (uint32_t)(both >> at % 32) & ((1u << s->bits) - 1);
    }
    return status;
}

static enum tp_status read_codes(struct work *w, int64_t first, size_t n,
                                 struct tp_error *err)
{
    const struct tp_scaled *s = w->scaled;
    if (s->packing == TP_PACKED_NIBBLES)
        return read_nibbles(w, first, n, err);
    enum tp_status status = TP_OK;
    if (s->packing == TP_PACKED_NOT) {
        status = tp_walk_read(&w->codes, first, n, w->raw, w->scratch, err);
        if (status == TP_OK)
            widen(w->raw, tp_dtype_info(s->codes->dtype)->size, n, w->code);
        return status;
    }
    const int64_t length = s->shape[s->ndim - 1];
    for (size_t done = 0; status == TP_OK && done < n;) {
        int64_t line = (first + (int64_t)done) / length;
        int64_t k = (first + (int64_t)done) % length;
        size_t here =
            n - done < (size_t)(length - k) ? n - done : (size_t)(length - k);
        status = read_words(w, line, k, here, w->code + done, err);
        done += here;
    }
    return status;
}

/* ---- pieces -------------------------------------------------------------- */

static bool walk_of(const struct tp_tensor *tensor, struct tp_walk *walk)
{
    tp_walk_ordered(tensor, walk);
    return walk->dense;
}

static enum tp_status work_new(const struct tp_scaled *s, struct work **work,
                               struct tp_error *err)
{
    struct work *w = *work = malloc(sizeof *w);
    if (!w)
        return tp_fail_memory(err);
    w->scaled = s;
    w->scratch = NULL;
    const struct tp_block_scale *const scales[WINDOWS] = {
        [SCALE] = &s->scale, [ZERO] = &s->zero, [FACTOR] = &s->factor};
    bool dense = walk_of(s->codes, &w->codes);
    for (int i = 0; i < WINDOWS; i++) {
        w->windows[i].scale = scales[i];
        w->windows[i].first = w->windows[i].n = 0;
        if (scales[i]->tensor &&
            !walk_of(scales[i]->tensor, &w->windows[i].walk))
            dense = false;
    }
    if (!dense && !(w->scratch = malloc(TP_CHUNK_BYTES)))
        return tp_fail_memory(err);
    return TP_OK;
}

static void work_free(struct work *w)
{
    if (w)
        free(w->scratch);
    free(w);
}

/* How many elements from `k` on, of `n`, have one scale, zero and factor. */
static size_t piece_length(const struct work *w, int64_t k, size_t n)
{
    const int last = w->scaled->ndim - 1;
    for (int i = 0; i < WINDOWS; i++) {
        const struct tp_block_scale *scale = w->windows[i].scale;
        if (!scale->tensor || scale->pitch[last] == 0)
            continue;
        size_t left = (size_t)(scale->block[last] - k % scale->block[last]);
        n = left < n ? left : n;
    }
    return n;
}

static void index_of(const struct tp_scaled *s, int64_t element,
                     int64_t index[TP_SCALED_DIMS])
{
    for (int i = s->ndim - 1; i >= 0; i--) {
        index[i] = element % s->shape[i];
        element /= s->shape[i];
    }
}

/* The pieces of a part of one line, whose codes are there: of `n` of the batch,
 * from its number `from` on. */
static enum tp_status visit_line(struct work *w, int64_t first, size_t from,
                                 size_t n, struct tp_error *err)
{
    int64_t index[TP_SCALED_DIMS];
    index_of(w->scaled, first + (int64_t)from, index);
    const int last = w->scaled->ndim - 1;
    for (size_t done = 0; done < n;) {
        struct tp_scaled_piece piece = {
            .first = first + (int64_t)(from + done),
            .codes = w->code + from + done,
            .count = piece_length(w, index[last], n - done)};
        int64_t other;
        enum tp_status status = scale_at(w, &w->windows[SCALE], index,
                                         &piece.place, &piece.scale, err);
        if (status == TP_OK)
            status =
                scale_at(w, &w->windows[ZERO], index, &other, &piece.zero, err);
        if (status == TP_OK)
            status = scale_at(w, &w->windows[FACTOR], index, &other,
                              &piece.factor, err);
        if (status != TP_OK)
            return status;
        w->visit(w->context, &piece);
        index[last] += (int64_t)piece.count;
        done += piece.count;
    }
    return TP_OK;
}

static enum tp_status walk_with(struct work *w, int64_t first, int64_t n,
                                struct tp_error *err)
{
    const struct tp_scaled *s = w->scaled;
    const int64_t length = s->shape[s->ndim - 1];
    enum tp_status status = TP_OK;
    for (int64_t done = 0; done < n && status == TP_OK; done += BATCH) {
        const size_t batch = n - done < BATCH ? (size_t)(n - done) : BATCH;
        status = read_codes(w, first + done, batch, err);
        for (size_t from = 0; from < batch && status == TP_OK;) {
            int64_t left = length - (first + done + (int64_t)from) % length;
            size_t part =
                (int64_t)(batch - from) < left ? batch - from : (size_t)left;
            status = visit_line(w, first + done, from, part, err);
            from += part;
        }
    }
    return status;
}

enum tp_status tp_scaled_walk(const struct tp_scaled *scaled, int64_t first,
                              int64_t n, tp_scaled_visit *visit, void *context,
                              struct tp_error *err)
{
    struct work *w;
    enum tp_status status = work_new(scaled, &w, err);
    if (status == TP_OK) {
        w->visit = visit;
        w->context = context;
        status = walk_with(w, first, n, err);
    }
    work_free(w);
    return status;
}

/* ---- values -------------------------------------------------------------- */

/* Where values go: bytes [skip, skip + length) of the elements from `first`
 * on. */
struct values {
    const struct tp_scaled *scaled;
    float table[TABLE]; /* of codes of up to 8 bits                       */
    int64_t first;
    uint64_t skip, length;
    unsigned char *out;
};

static float multiplier(const struct tp_scaled *s,
                        const struct tp_scaled_piece *piece)
{
    const float scale = (float)piece->scale, factor = (float)piece->factor;
    switch (s->factor_use) {
    case TP_FACTOR_TIMES:
        return scale * factor;
    case TP_FACTOR_OVER:
        return scale / factor;
    case TP_FACTOR_AMAX: {
        const float product = scale * factor;
        return product * (1.0f / (6.0f * s->amax_for));
    }
    default:
        return scale;
    }
}

static void add_values(void *context, const struct tp_scaled_piece *piece)
{
    struct values *v = context;
    const struct tp_scaled *s = v->scaled;
    const float by = multiplier(s, piece), zero = (float)piece->zero;
    float value[BATCH];
    const bool wide = !s->number && s->packing == TP_PACKED_NOT;
    for (size_t i = 0; i < piece->count; i++) {
        const uint32_t code = piece->codes[i];
        const float number =
            wide ? (float)((double)tp_code_value(s->codes->dtype, code) -
                           piece->zero)
                 : v->table[code & (TABLE - 1)] - zero;
        value[i] = number * by;
    }
    /* the part of the bytes that was asked for */
    uint64_t begin = (uint64_t)(piece->first - v->first) * sizeof *value;
    uint64_t end = begin + piece->count * sizeof *value;
    uint64_t from = begin > v->skip ? begin : v->skip;
    uint64_t to = end < v->skip + v->length ? end : v->skip + v->length;
    if (from < to)
        memcpy(v->out + (from - v->skip),
               (const unsigned char *)value + (from - begin),
               (size_t)(to - from));
}

static void make_table(const struct tp_scaled *s, float table[TABLE])
{
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = s->number ? (float)tp_number_decode(
                                   s->number, i & ((1u << s->number->bits) - 1))
                             : (float)((int64_t)i - s->bias);
}

static enum tp_status read_values(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct tp_scaled *s = (const struct tp_scaled *)storage;
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "values beyond the last one were asked for");
    if (length == 0)
        return TP_OK;
    struct values v = {.scaled = s,
                       .first = (int64_t)(offset / sizeof(float)),
                       .skip = offset % sizeof(float),
                       .length = length,
                       .out = buffer};
    make_table(s, v.table);
    uint64_t end = offset + length;
    int64_t n = (int64_t)((end + sizeof(float) - 1) / sizeof(float)) - v.first;
    return tp_scaled_walk(s, v.first, n, add_values, &v, err);
}

/* ---- descriptions ---------------------------------------------------------
 */

/* Elements of an axis of codes that make `n` values. */
static int64_t packed_length(const struct tp_scaled *s, int64_t n)
{
    if (s->packing == TP_PACKED_NIBBLES)
        return n / 2 + n % 2;
    if (s->packing == TP_PACKED_WORDS)
        return n / 32 * s->bits + (n % 32 * s->bits + 31) / 32;
    return n;
}

static enum tp_status check_shape(struct tp_scaled *s, int64_t *numel,
                                  struct tp_error *err)
{
    const int64_t most = INT64_MAX / (int64_t)sizeof(float) / 32;
    if (s->ndim < 1 || s->ndim > TP_SCALED_DIMS)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "codes of %d dimensions with scales", s->ndim);
    *numel = 1;
    for (int i = 0; i < s->ndim; i++) {
        if (s->shape[i] < 0 || (*numel && s->shape[i] > most / *numel))
            return tp_fail(err, TP_E_DAMAGED, -1, "an impossible shape");
        *numel *= s->shape[i];
    }
    for (int i = 0; i < s->codes->ndim; i++) {
        if (s->codes->stride[i] == 0 && s->codes->shape[i] > 1)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "codes that a view repeats");
    }
    if (tp_dtype_info(s->codes->dtype)->size > 4)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "codes of dtype %s",
                       tp_dtype_info(s->codes->dtype)->name);
    const int64_t length = s->shape[s->ndim - 1];
    const int64_t lines = length ? *numel / length : 0;
    if (s->packing == TP_PACKED_NIBBLES && length % 2)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "lines of %" PRId64 " values do not fill bytes of two",
                       length);
    const int64_t need = lines * packed_length(s, length);
    if (s->codes->numel != need)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "its shape asks for %" PRId64
                       " codes, there are %" PRId64,
                       need, s->codes->numel);
    if (s->packing != TP_PACKED_NOT &&
        tp_dtype_info(s->codes->dtype)->size !=
            (s->packing == TP_PACKED_NIBBLES ? 1 : 4))
        return tp_fail(err, TP_E_DAMAGED, -1, "packed codes of dtype %s",
                       tp_dtype_info(s->codes->dtype)->name);
    return TP_OK;
}

/* The place of the last element's scale must be there, and so all are. */
static enum tp_status check_scale(const struct tp_scaled *s,
                                  const struct tp_block_scale *scale,
                                  const char *what, struct tp_error *err)
{
    int64_t last = 0;
    if (!scale->tensor)
        return TP_OK;
    if (tp_dtype_info(scale->tensor->dtype)->parts > 1)
        return tp_fail(err, TP_E_DAMAGED, -1, "complex %s", what);
    for (int i = 0; i < s->ndim; i++) {
        int64_t block = scale->block[i], pitch = scale->pitch[i];
        if (block < 1 || pitch < 0)
            return tp_fail(err, TP_E_DAMAGED, -1, "%s of impossible blocks",
                           what);
        int64_t steps = s->shape[i] > 0 ? (s->shape[i] - 1) / block : 0;
        if (pitch && steps > (scale->tensor->numel - last) / pitch)
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "%s: %" PRId64 " are too few for its shape", what,
                           scale->tensor->numel);
        last += steps * pitch;
    }
    if (last >= scale->tensor->numel)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "%s: %" PRId64 " are too few for its shape", what,
                       scale->tensor->numel);
    return TP_OK;
}

enum tp_status tp_scaled_check(struct tp_scaled *scaled, struct tp_error *err)
{
    int64_t numel = 0;
    enum tp_status status = check_shape(scaled, &numel, err);
    if (status == TP_OK && numel > 0)
        status = check_scale(scaled, &scaled->scale, "scales", err);
    if (status == TP_OK && numel > 0)
        status = check_scale(scaled, &scaled->zero, "zero points", err);
    if (status == TP_OK && numel > 0)
        status = check_scale(scaled, &scaled->factor, "factor of scales", err);
    if (status != TP_OK)
        return status;
    scaled->base = (struct tp_storage){.read = read_values,
                                       .size = (uint64_t)numel * sizeof(float),
                                       .file_offset = -1};
    return TP_OK;
}

/* Length of blocks of an axis that has n values and m scales; 0: none fits. */
static int64_t block_of(int64_t n, int64_t m, const int64_t *sizes, bool padded)
{
    if (!padded && m == 1)
        return n > 0 ? n : 1;
    if (!padded && m == n)
        return 1;
    for (; *sizes; sizes++) {
        int64_t need = n / *sizes + (n % *sizes != 0);
        if (padded ? need <= m : need == m)
            return *sizes;
    }
    return 0;
}

bool tp_block_scale_fit(struct tp_block_scale *scale,
                        const struct tp_scaled *scaled, const int64_t *sizes,
                        bool padded)
{
    const struct tp_tensor *tensor = scale->tensor;
    int64_t pitch = 1;
    if (tensor->ndim > scaled->ndim)
        return false;
    for (int i = scaled->ndim - 1; i >= 0; i--) {
        bool there = i < tensor->ndim && tensor->numel != 1;
        int64_t m = there ? tensor->shape[i] : 1;
        scale->block[i] = block_of(scaled->shape[i], m, sizes, padded && there);
        if (scale->block[i] == 0)
            return false;
        scale->pitch[i] = m > 1 ? pitch : 0;
        pitch *= m;
    }
    /* of one scale on the last axis, but for more on others, pitch is 0 there
     * already: places are those of the other axes */
    return true;
}

enum tp_status tp_scaled_tensor(struct tp_scaled *scaled, const char *path,
                                struct tp_arena *arena,
                                struct tp_tensor *tensor, struct tp_error *err)
{
    memset(tensor, 0, sizeof *tensor);
    tensor->path = path;
    tensor->dtype = TP_FLOAT32;
    int64_t *shape = tp_tensor_new_axes(tensor, scaled->ndim, arena);
    if (!shape)
        return tp_fail_memory(err);
    for (int i = 0; i < scaled->ndim; i++)
        shape[i] = scaled->shape[i];
    tp_dense_strides(scaled->ndim, shape, shape + scaled->ndim);
    tensor->storage = &scaled->base;
    tensor->scaled = scaled;
    return tp_tensor_check(tensor, err);
}
