/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_NUMPY_DTYPE_H
#define TP_DATA_NUMPY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "data/dtype.h"

/* What numpy calls the type of an array's elements. */
struct tp_numpy_dtype {
    enum tp_dtype dtype;
    bool big_endian;
    bool assumed; /* numpy has no name for it: two bytes of anything are
                     taken for bfloat16, as ml_dtypes leaves them          */
};

/*
 * Reads a type string: a byte order ('<', '>', '|', '='; absent: little), a
 * letter and the bytes of an element, as in "<f4" (numpy's manual, "The array
 * interface protocol", typestr). TP_E_UNSUPPORTED, with the text and what it
 * means, for types without a dtype of ours; TP_E_DAMAGED when it is none.
 */
enum tp_status tp_numpy_dtype_read(const char *text, size_t length,
                                   struct tp_numpy_dtype *type,
                                   struct tp_error *err);

#endif
