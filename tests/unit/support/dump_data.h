/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_DUMP_DATA_H
#define TP_TESTS_DUMP_DATA_H

#include "base/pool.h"
#include "dump/dump_read.h"
#include "tests/unit/support/testdata.h"

/* Reads the dump below a path; false: it failed. Cleared by the caller. */
static inline bool dump_data_read(const char *path, struct tp_dump *dump)
{
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    enum tp_status status = tp_pool_new(1, &pool, &err);
    const struct tp_dump_read_options options = {
        .wish = {.roots = &path, .root_count = 1}, .pool = pool};
    memset(dump, 0, sizeof *dump);
    if (status == TP_OK)
        status = tp_dump_read(&options, dump, &err);
    tp_pool_free(pool);
    if (status != TP_OK)
        fprintf(stderr, "%s: %s\n", path, err.message);
    return status == TP_OK;
}

#endif
