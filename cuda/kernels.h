/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_KERNELS_H
#define TP_CUDA_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "stats/blocks.h"
#include "stats/code_key.h"
#include "stats/dims.h"
#include "stats/float_tally.h"
#include "stats/judge.h"
#include "stats/select.h"
#include "stats/tally.h"
#include "stats/values.h"

/*
 * Starts of kernels: internal to cuda/. All of them put work into a stream
 * and return at once, a cudaError_t (0: started). Pointers are to memory of
 * the device unless said otherwise; results are added to what is there, so
 * begin with zeros. Codes are in native byte order and aligned to the size of
 * one code (8-byte totals likewise); any number of them, 0 included.
 *
 * Each result has the bits that the function of src/stats named beside it
 * gives for the same codes.
 */

/* Where kernels run. */
struct tp_kernel_place {
    struct CUstream_st *stream; /* a cudaStream_t                         */
    int multiprocessors;
    uint64_t shared; /* bytes of shared memory a block may have           */
};

/* The place for `stream` of the device that is current. */
int tp_kernel_place_init(struct tp_kernel_place *place,
                         struct CUstream_st *stream);

/* Histogram of codes of 8 or 16 bits into totals[256] or [TP_CODES]:
 * tp_codes_count8, tp_codes_count16. */
int tp_kernel_codes(const struct tp_kernel_place *place,
                    const struct tp_span *span, uint64_t *totals);

/* The same of 16 bits alone, fast where a block may have so many bytes of
 * shared memory: that is, on sm_80, sm_90 and what follows them. */
enum { TP_KERNEL_CODES16_SHARED = 160 << 10 };
int tp_kernel_codes16(const struct tp_kernel_place *place,
                      const struct tp_span *span, uint64_t *totals);

/*
 * Lists of many small tensors at once, in one buffer: of each, the codes that
 * occur, as entries that tp_codes_list_entries takes.
 */
struct tp_kernel_list {
    uint64_t offset;     /* bytes from the buffer's begin                 */
    uint32_t n;          /* codes, at most TP_SELECT_SMALL                */
    uint32_t code_size;  /* 1 or 2                                        */
    uint32_t length;     /* made: entries,                                */
    uint32_t first;      /* from entries[first] on                        */
};

/*
 * entries[0] becomes the number of those in use behind it: not more, for each
 * tensor, than it has codes, nor, if these are of 8 bits, than 256. So that is
 * the room needed, and one; less than 2^32. Tensors are in any order.
 */
struct tp_kernel_lists {
    const void *codes;
    struct tp_kernel_list *lists;       /* of the device                  */
    uint32_t count;                     /* of tensors                     */
    uint32_t *entries;
};
int tp_kernel_lists(const struct tp_kernel_place *place,
                    const struct tp_kernel_lists *job);

/* Histogram of the top TP_SELECT_TOP_BITS of the keys of codes of 32 or 64
 * bits into totals[TP_SELECT_TOP]: tp_select_count_top. */
int tp_kernel_top(const struct tp_kernel_place *place,
                  const struct tp_span *span, uint64_t *totals);

/*
 * The readings of a selection that follow the first, of codes of 32 or 64
 * bits. For TP_SELECT_DIGIT, totals gain what tp_select_count and
 * tp_select_flush add. For TP_SELECT_GATHER, totals[0] is the number of keys
 * and totals[1] is the first of them, in any order: behind those there, and
 * no more than TP_SELECT_SMALL in all, the others are dropped. So these totals
 * are laid out as tp_select_tables.gathered is.
 */
struct tp_kernel_select {
    const struct tp_select *select;     /* of the device ...              */
    const struct tp_select *host;       /* and a copy of it on the host   */
    struct tp_span span;
    uint64_t *totals;                   /* TP_SELECT_ROOM of them         */
};
int tp_kernel_select(const struct tp_kernel_place *place,
                     const struct tp_kernel_select *job);

/* Histogram of the finite nonzero values of codes of 32 or 64 bits by
 * tp_bin_of into totals[TP_SUMMARY_BINS]: the bins of tp_values_add. */
int tp_kernel_bins(const struct tp_kernel_place *place,
                   const struct tp_span *span, uint64_t *totals);

/*
 * Counts, moments and extrema of codes of 32 or 64 bits: calls[i] becomes what
 * tp_values_add makes, of nothing, of the i-th `per_call` codes (the last may
 * have fewer); merge them in order. per_call is a multiple of TP_VALUE_BLOCK.
 * `blocks` is scratch for one element for every TP_VALUE_BLOCK codes begun.
 */
struct tp_kernel_values {
    struct tp_span span;
    struct tp_judge judge;
    uint64_t per_call;
    struct tp_values *blocks, *calls;
};
int tp_kernel_values(const struct tp_kernel_place *place,
                     const struct tp_kernel_values *job);

/* Counts of block formats: of rows of row_length codes each, as
 * tp_blocks_count; or, when `columns` is not 0, of codes[row_length][columns]
 * down the columns, as tp_blocks_count_across. */
struct tp_kernel_blocks {
    const struct tp_block_plan *plan;   /* of the device ...              */
    int code_size, block;               /* and what the host's says       */
    const void *codes;
    uint64_t rows, row_length, columns; /* rows: 1 with columns           */
    struct tp_block_counts *counts;
};
int tp_kernel_blocks(const struct tp_kernel_place *place,
                     const struct tp_kernel_blocks *job);

/* MX tallies of codes of 8 or 16 bits: of rows, as tp_tally_rows; or, when
 * `columns` is not 0, of the columns of codes[row_length][columns], each as a
 * row. `plan` and the tally are of the device: it is all there is of a tally,
 * so a copy of it can be given to tp_tally_flush. */
struct tp_kernel_tally_rows {
    const struct tp_tally_plan *plan;
    const void *codes;
    uint64_t rows, row_length, columns; /* rows: 1 with columns           */
};
int tp_kernel_tally(const struct tp_kernel_place *place,
                    const struct tp_kernel_tally_rows *rows, int code_size,
                    struct tp_tally *tally);

/* Moves what a tally of the device holds to an empty one in pinned memory,
 * which kernels can write to: mostly that is little. */
int tp_kernel_tally_move(const struct tp_kernel_place *place,
                         struct tp_tally *from, struct tp_tally *to);

/* The same of codes of TP_FLOAT32: tp_float_tally_rows and its flush. */
int tp_kernel_float_tally(const struct tp_kernel_place *place,
                          const struct tp_kernel_tally_rows *rows,
                          struct tp_float_tally *tally);
int tp_kernel_float_tally_move(const struct tp_kernel_place *place,
                               struct tp_float_tally *from,
                               struct tp_float_tally *to);

/* Codes of TP_FLOAT32 into bins[TP_FLOAT_BINS], for at most as many as a bin
 * may take: tp_float_bins_add. */
int tp_kernel_float_bins(const struct tp_kernel_place *place,
                         const struct tp_span *span,
                         struct tp_float_bin *bins);

/* Copies elements [first, first + n) of a strided view, counted in row-major
 * order of its shape, to to[0 .. n). */
enum { TP_KERNEL_AXES = 64 };
struct tp_kernel_view {
    const void *codes;                  /* element 0                      */
    int size;                           /* of an element: 1 2 4 8 16      */
    int ndim;
    uint64_t shape[TP_KERNEL_AXES];
    int64_t stride[TP_KERNEL_AXES];     /* in elements                    */
};
int tp_kernel_gather(const struct tp_kernel_place *place,
                     const struct tp_kernel_view *view, uint64_t first,
                     uint64_t n, void *to);

/*
 * tp_dims_add of `height` rows (at most TP_DIM_ROWS) at a time: columns are
 * cells laid out as by tp_dim_cells_place, of which the matrix is added to
 * those from first_column on. `scratch` has tp_kernel_dims_room(job) cells.
 */
struct tp_kernel_dims {
    struct tp_dim_matrix matrix;
    uint64_t height;
    struct tp_dim_cells columns;
    uint64_t first_column;
    struct tp_dim_cell *rows, *scratch;
};
int tp_kernel_dims(const struct tp_kernel_place *place,
                   const struct tp_kernel_dims *job);

/* Cells of scratch for a matrix of this shape and height. */
uint64_t tp_kernel_dims_room(const struct tp_kernel_dims *job);

#ifdef __cplusplus
}
#endif

#endif
