/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_BLAS_H
#define TP_REPLAY_BLAS_H

#include <cblas.h>

#include "base/error.h"

/* Of OpenBLAS what products need. */
struct tp_blas {
    void *library;
    void (*dgemm)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE left,
                  enum CBLAS_TRANSPOSE right, blasint m, blasint n, blasint k,
                  double alpha, const double *a, blasint lda, const double *b,
                  blasint ldb, double beta, double *c, blasint ldc);
    void (*sgemm)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE left,
                  enum CBLAS_TRANSPOSE right, blasint m, blasint n, blasint k,
                  float alpha, const float *a, blasint lda, const float *b,
                  blasint ldb, float beta, float *c, blasint ldc);
};

/* Loads it, to run on one thread, and for the caller alone until
 * tp_blas_close(), for what was opened. TP_E_UNSUPPORTED where it is not
 * installed. */
enum tp_status tp_blas_open(struct tp_blas *blas, struct tp_error *err);
void tp_blas_close(struct tp_blas *blas);

#endif
