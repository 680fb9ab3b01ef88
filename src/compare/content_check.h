/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_CHECK_H
#define TP_COMPARE_CONTENT_CHECK_H

#include "compare/content_list.h"

/* Whether tensors hold the same elements, element by element: what digests
 * nominate is claimed only after this. */

/* How two lists of tensors are the same. */
enum tp_content_how {
    TP_CONTENT_DIFFER,
    TP_CONTENT_IN_ORDER, /* row-major, one list behind the other           */
    TP_CONTENT_PERMUTED, /* one tensor each, axes in another order         */
    TP_CONTENT_ALONG,    /* concatenated along an axis but the first       */
    TP_CONTENT_ROWS      /* rows (of the first axis) in another order      */
};

enum { TP_CONTENT_AXES = 4 }; /* that are permuted, those of length 1 aside */

/* What a check found. */
struct tp_content_proof {
    enum tp_content_how how;
    int axis; /* of TP_CONTENT_ALONG                  */
    int ndim; /* of TP_CONTENT_PERMUTED: axis i of the */
    int permutation[TP_CONTENT_AXES]; /* right is axis permutation[i] of the
                                         left, axes of length 1 aside      */
    int64_t block; /* of TP_CONTENT_ROWS: all runs of rows that stay together
                      are multiples of so many                             */
    size_t runs;   /* how many such runs                                   */
};

/* Files and buffers of one thread; all-zero bytes are none. */
struct tp_content_checker;

/* Makes one, to be freed; NULL: no memory. */
struct tp_content_checker *tp_content_checker_new(void);
void tp_content_checker_free(struct tp_content_checker *checker);

/* Tensors that stand behind each other, of one side. */
struct tp_content_tensors {
    const struct tp_content_tensor *const *tensors;
    size_t count;
};

/*
 * Compares two lists, of as many elements, in a dtype that all can be told in.
 * The orders of the two lists are kept. Fails when a file cannot be read (any
 * more), and with TP_E_MEMORY; tp_content_check_end says whether it counts.
 */
enum tp_status tp_content_check(struct tp_content_checker *checker,
                                enum tp_dtype dtype,
                                const struct tp_content_tensors lists[2],
                                struct tp_content_proof *proof,
                                struct tp_error *err);

/* The same for rows only, which the above does not try. */
enum tp_status tp_content_check_rows(struct tp_content_checker *checker,
                                     enum tp_dtype dtype,
                                     const struct tp_content_tensors lists[2],
                                     struct tp_content_proof *proof,
                                     struct tp_error *err);

/*
 * Ends what one or several of these gave with `status`, and *err: whether it
 * counts. TP_E_CHANGED: a file is another by now. What could not be read is a
 * problem of its file.
 */
enum tp_status tp_content_check_end(struct tp_content_checker *checker,
                                    enum tp_status status,
                                    struct tp_error *err);

/* How far a tensor is from another of equal shape. */
struct tp_content_distance {
    int64_t differ;     /* elements that are not the same value            */
    double relative_l2; /* |left - right| / |right|; Inf: NaN or Inf, or the
                           right is zero                                   */
};
enum tp_status tp_content_distance(struct tp_content_checker *checker,
                                   const struct tp_content_tensor *left,
                                   const struct tp_content_tensor *right,
                                   struct tp_content_distance *distance,
                                   struct tp_error *err);

#endif
