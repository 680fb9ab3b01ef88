/* SPDX-License-Identifier: MIT */
/* Tensors of parts against an array that was cut: boxes of random grids, read
 * in random pieces, are the array; what is no partition is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data/range_storage.h"
#include "data/tensor_parts.h"
#include "tests/unit/support/xorshift.h"
#include "tests/unit/support/made_axes.h"

enum { AXES_MAX = 4, CUTS_MAX = 4, PARTS_MAX = 256 };

struct whole {
    struct tp_arena arena;
    struct tp_tensor tensor;
    float *values; /* 0, 1, 2, ... */
    struct tp_tensor_part parts[PARTS_MAX];
    size_t count;
};

/* Cuts the box [offset, offset + size) out of the values, as a storage. */
static struct tp_storage *cut(struct whole *w, const int64_t *offset,
                              const int64_t *size)
{
    size_t n = 1, i = 0;
    int64_t index[AXES_MAX] = {0};
    for (int k = 0; k < w->tensor.ndim; k++)
        n *= (size_t)size[k];
    float *box = tp_arena_alloc(&w->arena, n * sizeof *box);
    while (i < n) {
        int64_t place = 0;
        for (int k = 0; k < w->tensor.ndim; k++)
            place = place * w->tensor.shape[k] + offset[k] + index[k];
        box[i++] = w->values[place];
        for (int k = w->tensor.ndim; k-- > 0 && ++index[k] == size[k];)
            index[k] = 0;
    }
    struct tp_bytes bytes;
    tp_bytes_view(box, n * sizeof *box, &bytes);
    return &tp_range_storage_new(&w->arena, &bytes, 0, bytes.size)->base;
}

static void add_part(struct whole *w, const int64_t *offset,
                     const int64_t *size)
{
    int64_t *dims = tp_arena_alloc(&w->arena, 2 * AXES_MAX * sizeof *dims);
    memcpy(dims, offset, AXES_MAX * sizeof *dims);
    memcpy(dims + AXES_MAX, size, AXES_MAX * sizeof *dims);
    w->parts[w->count++] = (struct tp_tensor_part){
        cut(w, offset, size), dims, dims + AXES_MAX};
}

/* A tensor cut along each axis at `cuts` random places. */
static void make(struct whole *w, uint64_t *state, int ndim, int longest)
{
    int64_t cuts[AXES_MAX][CUTS_MAX + 2], pieces[AXES_MAX], at[AXES_MAX] = {0};
    size_t n = 1;
    memset(w, 0, sizeof *w);
    w->tensor = (struct tp_tensor){
        .path = "w", .dtype = TP_FLOAT32, .ndim = ndim};
    struct tp_tensor_axes *axes = axes_of(&w->tensor);
    for (int k = 0; k < ndim; k++) {
        axes->shape[k] = 1 + (int64_t)(xorshift(state) % (uint64_t)longest);
        n *= (size_t)w->tensor.shape[k];
        pieces[k] = 1 + (int64_t)(xorshift(state) % 3);
        cuts[k][0] = 0;
        for (int64_t i = 1; i < pieces[k]; i++) {
            const int64_t left = w->tensor.shape[k] - cuts[k][i - 1];
            cuts[k][i] = cuts[k][i - 1] +
                         (int64_t)(xorshift(state) % (uint64_t)(left + 1));
        }
        cuts[k][pieces[k]] = w->tensor.shape[k];
    }
    w->values = malloc(n * sizeof *w->values);
    for (size_t i = 0; i < n; i++)
        w->values[i] = (float)i;
    for (;;) {
        int64_t offset[AXES_MAX] = {0}, size[AXES_MAX] = {0};
        for (int k = 0; k < ndim; k++) {
            offset[k] = cuts[k][at[k]];
            size[k] = cuts[k][at[k] + 1] - offset[k];
        }
        add_part(w, offset, size);
        int k = ndim;
        while (k-- > 0 && ++at[k] == pieces[k])
            at[k] = 0;
        if (k < 0)
            break;
    }
}

static void clear(struct whole *w)
{
    free(w->values);
    tp_arena_clear(&w->arena);
}

static void check_reads(const struct whole *w, uint64_t *state)
{
    const size_t n = (size_t)w->tensor.numel;
    float *read = malloc(n * sizeof *read);
    for (int i = 0; i < 20; i++) {
        const size_t first = xorshift(state) % n;
        const size_t count = 1 + xorshift(state) % (n - first);
        const struct tp_storage *storage = w->tensor.storage;
        cr_assert_eq(storage->read(storage, 4 * first, read, 4 * count, NULL),
                     TP_OK);
        cr_assert_eq(memcmp(read, w->values + first, 4 * count), 0);
    }
    free(read);
}

Test(tensor_parts, boxes_are_the_array)
{
    uint64_t state = 7;
    for (int i = 0; i < 300; i++) {
        struct whole w;
        struct tp_error err = {0};
        make(&w, &state, (int)(xorshift(&state) % (AXES_MAX + 1)), 9);
        cr_assert_eq(tp_tensor_join(&w.arena, &w.tensor, w.parts, w.count,
                                    &err),
                     TP_OK, "%s", err.message);
        check_reads(&w, &state);
        clear(&w);
    }
}

/* Runs longer than the window, and shorter ones that fill several. */
Test(tensor_parts, large_boxes_are_the_array)
{
    uint64_t state = 11;
    for (int i = 0; i < 20; i++) {
        struct whole w;
        make(&w, &state, 2, 1500);
        cr_assert_eq(tp_tensor_join(&w.arena, &w.tensor, w.parts, w.count,
                                    NULL),
                     TP_OK);
        check_reads(&w, &state);
        clear(&w);
    }
}

static void refused(struct whole *w, const char *words)
{
    struct tp_error err = {0};
    cr_expect_eq(tp_tensor_join(&w->arena, &w->tensor, w->parts, w->count,
                                &err),
                 TP_E_DAMAGED);
    cr_expect(strstr(err.message, words), "%s", err.message);
}

Test(tensor_parts, what_is_no_partition)
{
    const int64_t four[AXES_MAX] = {4, 4}, at[AXES_MAX] = {2, 0};
    const int64_t two[AXES_MAX] = {2, 4}, none[AXES_MAX] = {0};
    struct whole w = {.tensor = {.path = "w",
                                 .dtype = TP_FLOAT32,
                                 .ndim = 2,
                                 .shape = four}};
    w.values = calloc(64, sizeof *w.values);
    add_part(&w, none, two);
    refused(&w, "a hole: its 1 part has 8 of 16");
    add_part(&w, none, two);
    refused(&w, "parts 0 and 1 of it overlap");
    w.count = 1;
    add_part(&w, at, two);
    cr_expect_eq(tp_tensor_join(&w.arena, &w.tensor, w.parts, w.count, NULL),
                 TP_OK);
    w.count = 1;
    add_part(&w, none, four);
    refused(&w, "overlap");
    w.count = 1;
    w.parts[0].offset = (const int64_t[]){INT64_MAX, 0};
    refused(&w, "of dimension 0, which has 4");
    clear(&w);
}
