/* SPDX-License-Identifier: MIT */
#include "scan/block_grid.h"

#include <string.h>

/*
 * From a run of elements in storage order to matrices of whole blocks. Where
 * blocks lie along the fastest axis these are rows, as many at a time as are
 * whole (a single long one, where lines are a whole number of blocks, so that
 * the counting loops see no ends). Where they lie along another axis, a run is
 * a matrix whose columns are lines: what can count down columns takes it as it
 * is; for the rest tiles of 32 x 32 are turned, in the first level cache.
 * Turning the whole piece instead would pass it through memory once more.
 * Cutting costs a few operations a matrix, turning about one load and store a
 * code.
 */

int64_t tp_block_grid_begin(const struct tp_block_grid *grid, int64_t at)
{
    const struct tp_lines *lines = &grid->lines;
    int64_t block = grid->block, plane = lines->length * lines->inner;
    int64_t row = at % plane / lines->inner;
    return at - at % plane + row / block * block * lines->inner;
}

bool tp_block_grid_fits(const struct tp_block_grid *grid, size_t size,
                        uint64_t bytes)
{
    uint64_t row = (uint64_t)grid->lines.inner * size;
    return row <= bytes / (uint64_t)grid->block;
}

/* Lines lie along the walk: inner is 1. */
static void cut_along(const struct tp_block_cut *cut,
                      struct tp_block_rows *rows)
{
    const struct tp_lines *lines = &cut->grid->lines;
    int64_t all = cut->end - cut->first, count = 1;
    int64_t left = lines->length - cut->first % lines->length;
    if (lines->length % cut->grid->block == 0 && lines->constant == 1)
        left = all;
    else if (left > all)
        left = all;
    else if (left == lines->length)
        count = all / left;
    rows->rows = (size_t)count;
    rows->row_length = (size_t)left;
    rows->columns = 0;
}

/* They lie across: inner is above 1. */
static void cut_across(const struct tp_block_cut *cut,
                       struct tp_block_rows *rows)
{
    const struct tp_lines *lines = &cut->grid->lines;
    int64_t high = lines->length - cut->first / lines->inner % lines->length;
    int64_t all = (cut->end - cut->first) / lines->inner;
    rows->rows = 1;
    rows->row_length = (size_t)(high < all ? high : all);
    rows->columns = (size_t)lines->inner;
}

bool tp_block_cut_next(struct tp_block_cut *cut, struct tp_block_rows *rows)
{
    if (cut->first >= cut->end)
        return false;
    if (cut->grid->lines.inner == 1)
        cut_along(cut, rows);
    else
        cut_across(cut, rows);
    rows->codes = cut->codes;
    size_t n = rows->rows * rows->row_length;
    n *= rows->columns ? rows->columns : 1;
    cut->codes += n * cut->size;
    cut->first += (int64_t)n;
    return true;
}

/* Codes of a matrix, `pitch` codes from row to row. */
struct tile {
    const unsigned char *codes;
    size_t size, pitch, rows, columns;
};

static void turn(const struct tile *tile, unsigned char *turned)
{
    const size_t size = tile->size;
    if (size == 2) {
        const uint16_t *from = (const uint16_t *)(const void *)tile->codes;
        uint16_t *to = (uint16_t *)(void *)turned;
        for (size_t j = 0; j < tile->columns; j++)
            for (size_t i = 0; i < tile->rows; i++)
                *to++ = from[i * tile->pitch + j];
        return;
    }
    for (size_t j = 0; j < tile->columns; j++)
        for (size_t i = 0; i < tile->rows; i++, turned += size)
            memcpy(turned, tile->codes + (i * tile->pitch + j) * size, size);
}

static size_t side(size_t left)
{
    return left < TP_BLOCK_SIDE ? left : TP_BLOCK_SIDE;
}

void tp_block_turner_begin(struct tp_block_turner *turner,
                           const struct tp_block_cut *cut)
{
    turner->cut = *cut;
    turner->from.columns = 0;
}

bool tp_block_turner_next(struct tp_block_turner *turner,
                          struct tp_block_rows *rows)
{
    struct tp_block_rows *from = &turner->from;
    if (from->columns == 0 || turner->row >= from->row_length) {
        if (!tp_block_cut_next(&turner->cut, from))
            return false;
        turner->row = turner->column = 0;
        if (from->columns == 0) {
            *rows = *from;
            return true;
        }
    }
    const size_t i = turner->row, j = turner->column, size = turner->cut.size;
    const unsigned char *codes = from->codes;
    const struct tile tile = {codes + (i * from->columns + j) * size, size,
                              from->columns, side(from->row_length - i),
                              side(from->columns - j)};
    turn(&tile, turner->turned.bytes);
    *rows = (struct tp_block_rows){turner->turned.bytes, tile.columns,
                                   tile.rows, 0};
    turner->column += TP_BLOCK_SIDE;
    if (turner->column >= from->columns) {
        turner->column = 0;
        turner->row += TP_BLOCK_SIDE;
    }
    return true;
}
