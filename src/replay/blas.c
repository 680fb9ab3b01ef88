/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS, loaded by the products that are large enough for it.
 *
 * Linked to the program it would be loaded, with the Fortran libraries below
 * it, at every start: 12 million instructions of relocations, and conversions
 * of printf that libquadmath registers, with which each of the program's costs
 * twice as much. A trace of a MB has 100 million in all. It stays loaded once
 * it is, so that opening it again is a look through a list.
 *
 * Builds without threads of their own do not guard the buffers that calls take
 * turns with: of products of four threads at once 2 % were wrong (0.3.21 of
 * Debian 12). What they share is the process's, so is what guards it.
 */
#include "replay/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;

/* ISO C has no conversion from an object's address to a function's. */
static bool find(void *library, const char *name, void *function)
{
    void *const found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

enum tp_status tp_blas_open(struct tp_blas *blas, struct tp_error *err)
{
    void (*set_threads)(int);
    blas->library =
        dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!blas->library)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "products of this size need OpenBLAS: %s", dlerror());
    if (!find(blas->library, "cblas_dgemm", &blas->dgemm) ||
        !find(blas->library, "cblas_sgemm", &blas->sgemm) ||
        !find(blas->library, "openblas_set_num_threads", &set_threads)) {
        dlclose(blas->library);
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "libopenblas.so.0 is not OpenBLAS");
    }
    pthread_mutex_lock(&in_use);
    set_threads(1); /* else its number would choose the bits */
    return TP_OK;
}

void tp_blas_close(struct tp_blas *blas)
{
    pthread_mutex_unlock(&in_use);
    dlclose(blas->library);
}
