/* SPDX-License-Identifier: MIT */
#ifndef TP_NUMPY_NPY_H
#define TP_NUMPY_NPY_H

#include "base/memory.h"
#include "data/numpy_dtype.h"
#include "data/tensor.h"

/*
 * The head of an array as numpy.save writes it:
 *
 *     \x93NUMPY   the magic
 *     major minor one byte each: 1.0, 2.0 or 3.0
 *     length      of the text: 2 bytes in 1.0, else 4, little-endian
 *     text        a dict of Python with exactly the keys descr, fortran_order
 *                 and shape, in any order and spacing; UTF-8 in 3.0
 *
 * behind which the elements stand, in the order of rows or, in Fortran's, of
 * columns (numpy, "numpy.lib.format").
 */

enum {
    TP_NPY_MAGIC = 6,            /* bytes of the magic                        */
    TP_NPY_HEAD_MAX = 12 + 10000 /* numpy itself reads no longer text      */
};

/* Whether an array starts here. */
bool tp_npy_is(const unsigned char *head, size_t length);

/* What a head says. */
struct tp_npy_head {
    struct tp_numpy_dtype type;
    bool fortran;
    int ndim;
    int64_t shape[TP_LIMIT_DIMS];
    size_t size;    /* of the head: where the elements start               */
    uint64_t bytes; /* of the elements                                     */
};

/*
 * Reads the head of an array of which `total` bytes are there, the first
 * `length` of them at `text`: all, or TP_NPY_HEAD_MAX. Nothing in it is
 * evaluated. TP_E_DAMAGED, with the byte of the head; TP_E_UNSUPPORTED for
 * elements that are not read; TP_E_LIMIT.
 */
enum tp_status tp_npy_head_read(const unsigned char *text, size_t length,
                                uint64_t total, struct tp_npy_head *head,
                                struct tp_error *err);

/* Makes a tensor, but for its path, of a head and the storage of its
 * elements, whose byte order is set; its axes are in the arena. Fails as
 * tp_tensor_check does, or with TP_E_MEMORY. */
enum tp_status tp_npy_tensor(const struct tp_npy_head *head,
                             struct tp_storage *storage, struct tp_arena *arena,
                             struct tp_tensor *tensor, struct tp_error *err);

/* The sentence about arrays whose type was assumed. */
extern const char tp_npy_assumption[];

#endif
