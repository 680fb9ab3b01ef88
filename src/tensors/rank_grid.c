/* SPDX-License-Identifier: MIT */
#include "tensors/rank_grid.h"

#include <string.h>

#include "formats/saved_place.h"

/* From the fastest to the slowest, as Megatron-LM and DeepSpeed order them. */
static const enum tp_place_number order[] = {TP_PLACE_TENSOR, TP_PLACE_EXPERT,
                                             TP_PLACE_DATA, TP_PLACE_PIPELINE};

enum { AXES = sizeof order / sizeof *order };

/* The ranks a file is named by. */
struct grid_place {
    int64_t at[AXES];
    int64_t stage, expert, data; /* of these                              */
    bool some;                   /* any of at[] is known                  */
    bool own;                    /* it is of a grid                       */
};

static void place_of(const struct tp_row *row, struct grid_place *grid)
{
    struct tp_saved_place place;
    size_t stem;
    int axes = 0;
    tp_saved_place_of(row->file, true, &place, &stem);
    for (int i = 0; i < AXES; i++) {
        grid->at[i] = place.number[order[i]];
        axes += grid->at[i] >= 0;
    }
    grid->stage = place.number[TP_PLACE_PIPELINE];
    grid->expert = place.number[TP_PLACE_EXPERT];
    grid->data = place.number[TP_PLACE_DATA];
    grid->some = axes > 0;
    grid->own = axes > 1 && place.number[TP_PLACE_RANK] < 0;
}

/* What a name stands for on this rank alone, or on some like it; 0: on all. */
static int64_t part_of(const struct tp_row *row, const struct grid_place *grid)
{
    const int64_t share = strstr(row->path, "flat_param") ? row->label.rank
                          : grid->data >= 0               ? grid->data
                          : strstr(row->path, "expert")   ? grid->expert
                                                          : -1;
    return (grid->stage + 1) << 32 | (share + 1);
}

static void widen(int64_t size[AXES], const int64_t at[AXES])
{
    for (int i = 0; i < AXES; i++)
        size[i] = at[i] >= size[i] ? at[i] + 1 : size[i];
}

/* The rank; -1 when numbers of files multiply beyond what can be. */
static int64_t rank_of(const int64_t size[AXES], const int64_t at[AXES])
{
    const int64_t most = INT32_MAX;
    int64_t rank = 0, step = 1;
    for (int i = 0; i < AXES; i++) {
        if (size[i] > most || step > most)
            return -1;
        rank += at[i] > 0 ? at[i] * step : 0;
        step *= size[i];
    }
    return rank;
}

/* Rows of a file are neighbours, and its name is read once. */
void tp_rank_grid(struct tp_run *run)
{
    int64_t size[AXES] = {1, 1, 1, 1};
    struct grid_place grid;
    const char *file = NULL;
    bool any = false, some = false;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        if (row->file == file)
            continue;
        file = row->file;
        place_of(row, &grid);
        any = any || grid.own;
        some = some || grid.some;
        if (grid.own)
            widen(size, grid.at);
    }
    int64_t rank = -1;
    file = NULL;
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        /* where no file has a place, what the last one has is of all */
        if (some && row->file != file) {
            file = row->file;
            place_of(row, &grid);
            rank = grid.own ? rank_of(size, grid.at) : -1;
        }
        if (grid.own && row->label.rank < 0)
            row->label.rank = rank;
        row->label.part = part_of(row, &grid);
    }
    if (any)
        tp_run_note(run, "files named by several ranks are numbered in one: "
                         "ranks of tensors fastest, then of experts, of data "
                         "and of the pipeline");
}
