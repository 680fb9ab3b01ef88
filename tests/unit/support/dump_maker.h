/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_DUMP_MAKER_H
#define TP_TESTS_DUMP_MAKER_H

/* Folders of files for tests of dumps: include it first. */
#define _XOPEN_SOURCE 700

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pool.h"
#include "dump/dump_read.h"

/* A folder of its own, removed by maker_end. */
struct maker {
    char root[64];
};

static inline struct maker maker_begin(void)
{
    struct maker maker = {"/tmp/tp-dump.XXXXXX"};
    cr_assert_not_null(mkdtemp(maker.root));
    return maker;
}

static inline int maker_remove(const char *path, const struct stat *info,
                               int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline void maker_end(const struct maker *maker)
{
    cr_expect_eq(nftw(maker->root, maker_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void maker_path(const struct maker *maker, const char *name,
                              char *path, size_t size)
{
    snprintf(path, size, "%s/%s", maker->root, name);
}

/* Writes a file, and the folders it is in. */
static inline void maker_put_bytes(const struct maker *maker, const char *name,
                                   const void *bytes, size_t size)
{
    char path[512];
    maker_path(maker, name, path, sizeof path);
    for (char *at = path + strlen(maker->root) + 1; (at = strchr(at, '/'));
         at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static inline void maker_put(const struct maker *maker, const char *name,
                             const char *text)
{
    maker_put_bytes(maker, name, text, strlen(text));
}

/* Reads the dump in a folder of the maker, by one thread. */
static inline enum tp_status maker_read(const struct maker *maker,
                                        const char *name, bool recover,
                                        struct tp_dump *dump)
{
    char path[512];
    const char *root = path;
    struct tp_error err = {0};
    struct tp_dump_read_options options = {.recover = recover};
    maker_path(maker, name, path, sizeof path);
    options.wish.roots = &root;
    options.wish.root_count = 1;
    cr_assert_eq(tp_pool_new(1, &options.pool, &err), TP_OK);
    memset(dump, 0, sizeof *dump);
    enum tp_status status = tp_dump_read(&options, dump, &err);
    tp_pool_free(options.pool);
    return status;
}

#endif
