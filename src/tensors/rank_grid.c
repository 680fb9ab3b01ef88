/* SPDX-License-Identifier: MIT */
#include "tensors/rank_grid.h"

#include "formats/saved_place.h"

/* From the fastest to the slowest, as Megatron-LM and DeepSpeed order them. */
static const enum tp_place_number order[] = {TP_PLACE_TENSOR, TP_PLACE_EXPERT,
                                             TP_PLACE_DATA, TP_PLACE_PIPELINE};

enum { AXES = sizeof order / sizeof *order };

/* The ranks a file is named by; false when it is none of a grid. */
static bool place_of(const struct tp_row *row, int64_t at[AXES])
{
    struct tp_saved_place place;
    size_t stem;
    int axes = 0;
    tp_saved_place_of(row->file, true, &place, &stem);
    for (int i = 0; i < AXES; i++) {
        at[i] = place.number[order[i]];
        axes += at[i] >= 0;
    }
    return axes > 1 && place.number[TP_PLACE_RANK] < 0;
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
    int64_t size[AXES] = {1, 1, 1, 1}, at[AXES];
    const char *file = NULL;
    bool any = false, own = false;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        if (row->file == file)
            continue;
        file = row->file;
        if (!place_of(row, at))
            continue;
        any = true;
        widen(size, at);
    }
    int64_t rank = -1;
    file = NULL;
    for (size_t i = 0; any && i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        if (row->file != file) {
            file = row->file;
            own = place_of(row, at);
            rank = own ? rank_of(size, at) : -1;
        }
        if (own && row->label.rank < 0)
            row->label.rank = rank;
    }
    if (any)
        tp_run_note(run, "files named by several ranks are numbered in one: "
                         "ranks of tensors fastest, then of experts, of data "
                         "and of the pipeline");
}
