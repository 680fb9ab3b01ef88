/* SPDX-License-Identifier: MIT */
#include "tensors/rank_grid.h"

#include <string.h>

#include "base/file.h"
#include "formats/saved_place.h"

/* From the fastest to the slowest, as Megatron-LM and DeepSpeed order them. */
static const enum tp_place_number order[] = {TP_PLACE_TENSOR, TP_PLACE_EXPERT,
                                             TP_PLACE_DATA, TP_PLACE_PIPELINE};

enum { AXES = sizeof order / sizeof *order };

/* The ranks a file is named by. */
struct grid_place {
    int64_t at[AXES];
    int64_t stage, expert, data; /* of these                              */
    bool own;                    /* it is of a grid                       */
};

/* What the folders of the last file say, which those of the next are mostly. */
struct folders {
    const char *file; /* NULL: none                                        */
    size_t length;    /* of its folders                                    */
    struct tp_saved_place place;
};

/* What the name of a file says, with its folders, about ranks of parts: of
 * thousands of files of a dump nothing, which is seen without going through
 * their names. */
static struct tp_saved_place place_of_file(const char *file,
                                           struct folders *last)
{
    struct tp_saved_place place;
    size_t stem;
    const size_t length = (size_t)(tp_file_base_name(file) - file);
    if (!last->file || last->length != length ||
        memcmp(last->file, file, length) != 0) {
        tp_saved_place_of_folders(file, &last->place);
        last->file = file;
        last->length = length;
    }
    if (!tp_saved_names_part(&last->place) && !tp_saved_may_name_part(file))
        return last->place;
    tp_saved_place_of_name(file, &place, &stem);
    tp_saved_place_add(&place, &last->place);
    return place;
}

static void place_of(const struct tp_row *row, struct folders *last,
                     struct grid_place *grid)
{
    const struct tp_saved_place place = place_of_file(row->file, last);
    int axes = 0;
    for (int i = 0; i < AXES; i++) {
        grid->at[i] = place.number[order[i]];
        axes += grid->at[i] >= 0;
    }
    grid->stage = place.number[TP_PLACE_PIPELINE];
    grid->expert = place.number[TP_PLACE_EXPERT];
    grid->data = place.number[TP_PLACE_DATA];
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

/* Gives rows their ranks, of files that are named by several. */
static void number_ranks(struct tp_run *run, const int64_t size[AXES])
{
    struct folders last = {.file = NULL};
    struct grid_place grid = {.own = false};
    int64_t rank = -1;
    const char *file = NULL;
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        if (row->file != file) {
            file = row->file;
            place_of(row, &last, &grid);
            rank = grid.own ? rank_of(size, grid.at) : -1;
        }
        if (!grid.own || row->label.rank >= 0)
            continue;
        row->label.rank = rank;
        row->label.part = part_of(row, &grid);
    }
    tp_run_note(run, "files named by several ranks are numbered in one: "
                     "ranks of tensors fastest, then of experts, of data "
                     "and of the pipeline");
}

/* Rows of a file are neighbours, and its name is read once; twice where names
 * are numbered. */
void tp_rank_grid(struct tp_run *run)
{
    int64_t size[AXES] = {1, 1, 1, 1};
    struct folders last = {.file = NULL};
    struct grid_place grid = {.own = false};
    const char *file = NULL;
    bool any = false;
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        if (row->file != file) {
            file = row->file;
            place_of(row, &last, &grid);
            any = any || grid.own;
            if (grid.own)
                widen(size, grid.at);
        }
        row->label.part = part_of(row, &grid);
    }
    if (any)
        number_ranks(run, size);
}
