/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_DTYPE_H
#define TP_DATA_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The element types a torch tensor is stored in. What a quantiser would turn
 * it into is a number format (data/number.h), another thing.
 */
enum tp_dtype {
    TP_FLOAT64,
    TP_FLOAT32,
    TP_FLOAT16,
    TP_BFLOAT16,
    TP_FLOAT8_E4M3FN,
    TP_FLOAT8_E5M2,
    TP_FLOAT8_E4M3FNUZ,
    TP_FLOAT8_E5M2FNUZ,
    TP_FLOAT8_E8M0FNU,
    TP_FLOAT6_E3M2FN,
    TP_FLOAT6_E2M3FN,
    TP_FLOAT4_E2M1FN_X2,
    TP_UINT8,
    TP_UINT16,
    TP_UINT32,
    TP_UINT64,
    TP_INT8,
    TP_INT16,
    TP_INT32,
    TP_INT64,
    TP_BOOL,
    TP_COMPLEX32,
    TP_COMPLEX64,
    TP_COMPLEX128,
    TP_DTYPE_COUNT
};

enum tp_dtype_class { TP_CLASS_FLOAT, TP_CLASS_INTEGER, TP_CLASS_COMPLEX };

/* One row of the dtype table. */
struct tp_dtype_info {
    const char *name;    /* as torch prints it, without "torch."          */
    const char *storage; /* class name in a pickle, e.g. "HalfStorage";
                            NULL: the dtype only exists as torch.<name>   */
    enum tp_dtype_class kind;
    uint8_t size;        /* bytes of an element, both parts of a complex  */
    uint8_t code_size;   /* bytes of one real number (size, or half)      */
    uint8_t parts;       /* 2 for complex, else 1                         */
    enum tp_dtype real;  /* dtype of one part; itself unless complex      */
    uint8_t significand; /* bits, the hidden one included; 0: integer     */
    const char *format;  /* id of the equal number format, "" if none     */
    uint8_t packed;      /* bits of an element in files, where these are not
                            bytes: a reader widens its codes to those of
                            float8_e4m3fn, which has all its values
                            (data/packed_storage.h); else 0               */
};

/* The row of a dtype; never NULL. */
const struct tp_dtype_info *tp_dtype_info(enum tp_dtype dtype);

/*
 * Finds a dtype by torch name ("bfloat16") or by storage class name
 * ("BFloat16Storage"). Returns TP_DTYPE_COUNT when there is none.
 */
enum tp_dtype tp_dtype_by_name(const char *name);
enum tp_dtype tp_dtype_by_storage(const char *name);

/*
 * Decodes `n` real numbers at `codes` (native byte order, any alignment;
 * complex dtypes: n parts, interleaved) into doubles. Exact for every dtype
 * but 64-bit integers beyond 2^53, which round to nearest.
 */
void tp_dtype_decode(enum tp_dtype dtype, const void *codes, size_t n,
                     double *values);

/* Reverses the bytes of each of `n` codes of `code_size` bytes, in place. */
void tp_dtype_swap(void *codes, size_t n, size_t code_size);

#endif
