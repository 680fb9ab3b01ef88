/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_BLOCK_GRID_H
#define TP_SCAN_BLOCK_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/tensor.h"
#include "stats/blocks.h"

/* How the blocks of block formats lie in the walk of a tensor. */
struct tp_block_grid {
    struct tp_lines lines; /* along which blocks lie                      */
    int64_t block; /* at a multiple of this on a line, one of any format
                      begins                                              */
};

/* The last element of the walk at or before `at` with which a block begins. */
int64_t tp_block_grid_begin(const struct tp_block_grid *grid, int64_t at);

/* Whether a row of blocks is at most so many bytes, of elements of `size`. */
bool tp_block_grid_fits(const struct tp_block_grid *grid, size_t size,
                        uint64_t bytes);

/* Elements of a walk, cut into such matrices. */
struct tp_block_cut {
    const struct tp_block_grid *grid;
    const unsigned char *codes; /* of element `first`                     */
    int64_t first, end;         /* what is left: blocks begin and end there */
    size_t size;                /* of an element                          */
};

/* The next matrix; false: there is none left. */
bool tp_block_cut_next(struct tp_block_cut *cut, struct tp_block_rows *rows);

/* Columns turned to rows together: 32 of them are a cache line of 16-bit
 * codes, and as high as the largest block they fill 8 KiB at most. */
enum { TP_BLOCK_SIDE = 32 };

/* The same for those who know only rows: columns are turned, a tile after the
 * other. */
struct tp_block_turner {
    struct tp_block_cut cut;
    struct tp_block_rows from; /* of which tiles are being turned         */
    size_t row, column;        /* the next tile                           */
    union {
        unsigned char bytes[TP_BLOCK_SIDE * TP_BLOCK_SIDE * sizeof(double)];
        double aligned;
    } turned;
};

/* Begins with what a cut has left. */
void tp_block_turner_begin(struct tp_block_turner *turner,
                           const struct tp_block_cut *cut);

/* The next rows, which stay until the one after them; columns is 0. */
bool tp_block_turner_next(struct tp_block_turner *turner,
                          struct tp_block_rows *rows);

#endif
