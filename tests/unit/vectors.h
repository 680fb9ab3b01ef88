/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_VECTORS_H
#define TP_TESTS_VECTORS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Number format vectors are read where they lie, in shared/vectors beside
 * the source tree (or below $TP_SHARED). A test that needs one is skipped,
 * with the reason, where there is none.
 */

enum { VECTOR_FIELDS = 16, VECTOR_LINE = 2048 };

/* One line of a CSV file, cut at the commas. */
struct vectors {
    FILE *file;
    char line[VECTOR_LINE];
    char *field[VECTOR_FIELDS];
    char nothing[1]; /* what fields beyond the last one hold */
};

/* Opens shared/vectors/NAME and skips its header line, or skips the test. */
static inline struct vectors vectors_open(const char *name)
{
    struct vectors vectors = {.file = NULL};
    const char *shared = getenv("TP_SHARED");
    const char *source = getenv("srcdir");
    char path[4096];
    if (shared) {
        snprintf(path, sizeof path, "%s/vectors/%s", shared, name);
    } else {
        snprintf(path, sizeof path, "%s/../shared/vectors/%s",
                 source ? source : ".", name);
    }
    vectors.file = fopen(path, "r");
    if (!vectors.file) {
        fprintf(stderr, "skipped: no vectors at %s\n", path);
        cr_skip("no vectors at %s", path);
    } else if (!fgets(vectors.line, sizeof vectors.line, vectors.file)) {
        cr_assert_fail("%s is empty", path);
    }
    return vectors;
}

/* Reads the next line; closes the file and returns 0 at its end. */
static inline int vectors_next(struct vectors *vectors)
{
    if (!fgets(vectors->line, sizeof vectors->line, vectors->file)) {
        fclose(vectors->file);
        return 0;
    }
    vectors->line[strcspn(vectors->line, "\n")] = '\0';
    char *rest = vectors->line;
    for (int i = 0; i < VECTOR_FIELDS; i++) {
        vectors->nothing[0] = '\0';
        vectors->field[i] = rest ? rest : vectors->nothing;
        rest = rest ? strchr(rest, ',') : NULL;
        if (rest) {
            *rest++ = '\0';
        }
    }
    return 1;
}

/* The binary32 number whose bits are written in hexadecimal. */
static inline float vectors_float(const char *hex)
{
    const unsigned bits = (unsigned)strtoul(hex, NULL, 16);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
