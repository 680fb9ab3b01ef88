/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_VECTORS_H
#define TP_TESTS_VECTORS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/testdata.h"

/* Number format vectors: testdata/vectors. */

enum { VECTOR_FIELDS = 16, VECTOR_LINE = 2048 };

/* One line of a CSV file, cut at the commas. */
struct vectors {
    FILE *file;
    char line[VECTOR_LINE];
    char *field[VECTOR_FIELDS];
    char nothing[1]; /* what fields beyond the last one hold */
};

/* Opens testdata/vectors/NAME and skips its header line. */
static inline struct vectors vectors_open(const char *name)
{
    struct vectors vectors = {.file = NULL};
    char below[256], path[4096];
    snprintf(below, sizeof below, "vectors/%s", name);
    testdata_path(below, path, sizeof path);
    vectors.file = fopen(path, "r");
    cr_assert_not_null(vectors.file, "no vectors at %s", path);
    cr_assert(fgets(vectors.line, sizeof vectors.line, vectors.file),
              "%s is empty", path);
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

/* Splits words "3f800000 ..." into binary32 numbers; returns how many. */
static inline int vectors_words(char *text, float *values)
{
    int n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        values[n++] = vectors_float(word);
    }
    return n;
}

/* Element code i of a text with `digits` hexadecimal digits for each. */
static inline unsigned vectors_element(const char *text, int i, int digits)
{
    const char *at = text + i * digits;
    const char code[3] = {at[0], digits == 2 ? at[1] : '\0', '\0'};
    return (unsigned)strtoul(code, NULL, 16);
}

/* Values of the codes of one format. */
struct vector_codes {
    double value[256];
    int count;
};

/* Reads those of "hif8", "e4m3fn", ... from the tables of codes. */
static inline struct vector_codes vectors_codes(const char *format)
{
    struct vector_codes codes = {.count = 0};
    const int hif8 = strcmp(format, "hif8") == 0;
    struct vectors v =
        vectors_open(hif8 ? "hif8_codes.csv" : "small_codes.csv");
    while (vectors_next(&v)) {
        if (hif8 || strcmp(v.field[0], format) == 0) {
            const char *code = v.field[hif8 ? 0 : 1];
            const char *value = v.field[hif8 ? 10 : 2];
            codes.value[strtol(code, NULL, 16)] = strtod(value, NULL);
            codes.count++;
        }
    }
    return codes;
}

#endif
