/* SPDX-License-Identifier: MIT */
/*
 * The head of a .npy file. Its text is a literal of Python, of which only what
 * numpy writes is understood: quoted words, True and False, and tuples of whole
 * numbers. So the text is read by a small reader of its own and never
 * evaluated; JSON's would refuse its quotes and tuples. What stands there is
 * checked against the bytes that follow before anything is believed. Cost: one
 * pass over some hundred bytes.
 */
#include "formats/numpy/npy.h"
#include "data/tensor_axes.h"

#include <inttypes.h>
#include <string.h>

static const unsigned char MAGIC[TP_NPY_MAGIC] = "\x93NUMPY";

const char tp_npy_assumption[] =
    "elements of two bytes that numpy has no name for (V2) were read as "
    "bfloat16, as ml_dtypes writes them";

bool tp_npy_is(const unsigned char *head, size_t length)
{
    return length >= sizeof MAGIC && memcmp(head, MAGIC, sizeof MAGIC) == 0;
}

/* ---- the literal -------------------------------------------------------- */

/* The text in the course of being read. */
struct text {
    const unsigned char *at, *end, *start;
    struct tp_error *err;
};

static enum tp_status fail(const struct text *t, const char *what)
{
    return tp_fail(t->err, TP_E_DAMAGED, t->at - t->start,
                   "the head of the array holds %s", what);
}

static unsigned char next(struct text *t)
{
    while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
        t->at++;
    return t->at < t->end ? *t->at : 0;
}

/* Takes a character that may be next. */
static bool take(struct text *t, char wanted)
{
    bool there = next(t) == (unsigned char)wanted;
    t->at += there;
    return there;
}

/* A quoted word without escapes, which numpy never writes. */
static bool take_word(struct text *t, const char **word, size_t *length)
{
    unsigned char quote = next(t);
    if (quote != '\'' && quote != '"')
        return false;
    const unsigned char *from = t->at + 1, *to = from;
    while (to < t->end && *to != quote && *to != '\\')
        to++;
    if (to == t->end || *to != quote)
        return false;
    *word = (const char *)from;
    *length = (size_t)(to - from);
    t->at = to + 1;
    return true;
}

static bool take_bool(struct text *t, bool *value)
{
    next(t);
    size_t left = (size_t)(t->end - t->at);
    *value = left >= 4 && memcmp(t->at, "True", 4) == 0;
    bool is_false = left >= 5 && memcmp(t->at, "False", 5) == 0;
    t->at += *value ? 4 : is_false ? 5 : 0;
    return *value || is_false;
}

/* A whole number; Python 2 wrote an L behind long ones. */
static enum tp_status take_length(struct text *t, int64_t *value)
{
    *value = 0;
    if (next(t) == '-')
        return fail(t, "a negative length");
    const unsigned char *from = t->at;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *t->at - '0', value))
            return fail(t, "a length beyond 2^63");
        t->at++;
    }
    if (t->at == from)
        return fail(t, "a shape that is no tuple of whole numbers");
    t->at += t->at < t->end && *t->at == 'L';
    return TP_OK;
}

static enum tp_status take_shape(struct text *t, struct tp_npy_head *head)
{
    if (!take(t, '('))
        return fail(t, "a shape that is no tuple of whole numbers");
    while (!take(t, ')')) {
        if (head->ndim == TP_LIMIT_DIMS)
            return tp_fail(t->err, TP_E_LIMIT, t->at - t->start,
                           "the array has more than %d dimensions",
                           TP_LIMIT_DIMS);
        enum tp_status status = take_length(t, &head->shape[head->ndim]);
        if (status != TP_OK)
            return status;
        head->ndim++;
        if (!take(t, ',') && next(t) != ')')
            return fail(t, "a shape that is no tuple of whole numbers");
    }
    return TP_OK;
}

static enum tp_status take_descr(struct text *t, struct tp_npy_head *head)
{
    const char *word;
    size_t length;
    unsigned char first = next(t);
    int64_t at = t->at - t->start;
    if (first == '[' || first == '(')
        return tp_fail(t->err, TP_E_UNSUPPORTED, at,
                       "its elements are records of several fields, or arrays "
                       "themselves; they are not read");
    if (!take_word(t, &word, &length))
        return fail(t, "a type that is no quoted word");
    enum tp_status status =
        tp_numpy_dtype_read(word, length, &head->type, t->err);
    if (status != TP_OK && t->err)
        t->err->offset = at;
    return status;
}

enum key { DESCR, FORTRAN_ORDER, SHAPE, KEYS };

static enum key take_key(struct text *t)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    const char *word;
    size_t length;
    if (!take_word(t, &word, &length) || !take(t, ':'))
        return KEYS;
    for (int i = 0; i < KEYS; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return (enum key)i;
    }
    return KEYS;
}

static enum tp_status read_value(struct text *t, enum key key,
                                 struct tp_npy_head *head)
{
    if (key == DESCR)
        return take_descr(t, head);
    if (key == SHAPE)
        return take_shape(t, head);
    return take_bool(t, &head->fortran)
               ? TP_OK
               : fail(t, "a fortran_order that is neither True nor False");
}

static enum tp_status read_dict(struct text *t, struct tp_npy_head *head)
{
    bool seen[KEYS] = {false};
    size_t count = 0;
    if (!take(t, '{'))
        return fail(t, "no dict of Python");
    while (!take(t, '}')) {
        enum key key = take_key(t);
        if (key == KEYS || seen[key])
            return fail(t, "a key that is unknown or stands there twice");
        seen[key] = true;
        count++;
        enum tp_status status = read_value(t, key, head);
        if (status != TP_OK)
            return status;
        if (!take(t, ',') && next(t) != '}')
            return fail(t, "something else than a literal");
    }
    if (count < KEYS)
        return fail(t, "not all of descr, fortran_order and shape");
    return next(t) ? fail(t, "something behind its dict") : TP_OK;
}

/* ---- the head ----------------------------------------------------------- */

/* Finds the text between the fixed part and the elements. */
static enum tp_status find_text(const unsigned char *text, size_t length,
                                uint64_t total, struct tp_npy_head *head,
                                size_t *start, struct tp_error *err)
{
    if (!tp_npy_is(text, length))
        return tp_fail(err, TP_E_DAMAGED, 0, "no array of numpy starts here");
    if (length < 8)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)length,
                       "the head of the array is cut off");
    const unsigned major = text[6], minor = text[7];
    if (major < 1 || major > 3 || minor != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, 6,
                       "version %u.%u of .npy; 1.0, 2.0 and 3.0 are known",
                       major, minor);
    const size_t digits = major == 1 ? 2 : 4;
    uint64_t size = 0;
    *start = 8 + digits;
    if (length < *start)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)length,
                       "the head of the array is cut off");
    for (size_t i = digits; i-- > 0;)
        size = size << 8 | text[8 + i];
    if (size > total - *start)
        return tp_fail(err, TP_E_DAMAGED, 8,
                       "the head of the array is said to have %" PRIu64
                       " bytes, of which %" PRIu64 " are there",
                       size, total - *start);
    if (size > length - *start)
        return tp_fail(err, TP_E_LIMIT, 8,
                       "the head of the array has %" PRIu64
                       " bytes; numpy, too, reads at most 10000",
                       size);
    head->size = *start + (size_t)size;
    return TP_OK;
}

/* Sets head->bytes. */
static enum tp_status measure(struct tp_npy_head *head, uint64_t total,
                              struct tp_error *err)
{
    bool empty = false;
    uint64_t bytes = tp_dtype_info(head->type.dtype)->size;
    for (int i = 0; i < head->ndim; i++)
        empty = empty || head->shape[i] == 0;
    for (int i = 0; i < head->ndim && !empty; i++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)head->shape[i], &bytes) ||
            bytes > INT64_MAX)
            return tp_fail(err, TP_E_DAMAGED, (int64_t)head->size,
                           "the shape stands for more than 2^63 bytes");
    }
    head->bytes = empty ? 0 : bytes;
    if (head->bytes > total - head->size)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)total,
                       "the array needs %" PRIu64 " bytes, of which %" PRIu64
                       " are there",
                       head->bytes, total - head->size);
    return TP_OK;
}

enum tp_status tp_npy_head_read(const unsigned char *text, size_t length,
                                uint64_t total, struct tp_npy_head *head,
                                struct tp_error *err)
{
    size_t start = 0;
    memset(head, 0, sizeof *head);
    enum tp_status status = find_text(text, length, total, head, &start, err);
    if (status != TP_OK)
        return status;
    struct text t = {text + start, text + head->size, text, err};
    status = read_dict(&t, head);
    return status == TP_OK ? measure(head, total, err) : status;
}

enum tp_status tp_npy_tensor(const struct tp_npy_head *head,
                             struct tp_storage *storage, struct tp_arena *arena,
                             struct tp_tensor *tensor, struct tp_error *err)
{
    memset(tensor, 0, sizeof *tensor);
    tensor->dtype = head->type.dtype;
    int64_t *shape = tp_tensor_new_axes(tensor, head->ndim, arena);
    if (!shape)
        return tp_fail_memory(err);
    int64_t *stride = shape + head->ndim;
    tensor->storage = storage;
    storage->big_endian = head->type.big_endian;
    int64_t step = 1;
    for (int i = 0; i < head->ndim; i++) {
        int axis = head->fortran ? i : head->ndim - 1 - i;
        shape[axis] = head->shape[axis];
        stride[axis] = step;
        /* no more than the elements that are there, unless it is empty */
        if (__builtin_mul_overflow(step, head->shape[axis], &step))
            step = 0;
    }
    return tp_tensor_check(tensor, err);
}
