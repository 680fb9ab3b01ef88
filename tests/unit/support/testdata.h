/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TESTDATA_H
#define TP_TESTS_TESTDATA_H

#include <stdio.h>
#include <stdlib.h>

/*
 * Where the data of tests lies. What we made is in testdata, of the source
 * tree: a test may count on it. Data of others is not: it lies in shared
 * beside the source tree, or in $TP_SHARED, and a test that needs it is
 * skipped, with the reason, where there is none.
 */

/* The path of testdata/NAME. */
static inline void testdata_path(const char *name, char *path, size_t size)
{
    const char *source = getenv("srcdir");
    snprintf(path, size, "%s/testdata/%s", source ? source : ".", name);
}

/* The path of shared/NAME. */
static inline void shared_path(const char *name, char *path, size_t size)
{
    const char *shared = getenv("TP_SHARED");
    const char *source = getenv("srcdir");
    if (shared)
        snprintf(path, size, "%s/%s", shared, name);
    else
        snprintf(path, size, "%s/../shared/%s", source ? source : ".", name);
}

#endif
