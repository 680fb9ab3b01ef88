/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TESTDATA_H
#define TP_TESTS_TESTDATA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether a trace is of our making. */
static inline bool trace_data_own(const char *name)
{
    return strncmp(name, "own/", 4) == 0 || strncmp(name, "cpu-", 4) == 0;
}

/* The path of a trace, or of what others print about it: in testdata/traces
 * what is our own, else in shared/traces. */
static inline void trace_data_path(const char *name, char *path, size_t size)
{
    char below[512];
    snprintf(below, sizeof below, "traces/%s", name);
    if (trace_data_own(name))
        testdata_path(below, path, size);
    else
        shared_path(below, path, size);
}

/* Whether it is there; our own always is. */
static inline bool trace_data_there(const char *name)
{
    char path[4096];
    trace_data_path(name, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file || trace_data_own(name);
}

#endif
