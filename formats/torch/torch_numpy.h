/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_NUMPY_H
#define TP_TORCH_TORCH_NUMPY_H

#include "data/numpy_dtype.h"
#include "formats/torch/pickle_value.h"

/* An array of numpy inside a pickle, taken apart. */
struct tp_torch_array {
    struct tp_numpy_dtype type;
    bool fortran;
    tp_ref shape; /* a tuple of integers                                   */
    tp_ref bytes; /* the elements: bytes, or a text that stands for them   */
};

/*
 * Takes apart a call that makes an array: numpy's _reconstruct, which is told
 * the rest as its state, or _frombuffer. TP_E_UNSUPPORTED for elements that
 * are not read, TP_E_DAMAGED.
 */
enum tp_status tp_torch_array_read(const struct tp_pickle *pickle, tp_ref call,
                                   struct tp_torch_array *array,
                                   struct tp_error *err);

#endif
