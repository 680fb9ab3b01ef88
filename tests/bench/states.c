/* SPDX-License-Identifier: MIT */
/*
 * How fast states are read and joined: makes COUNT copies of a state, each of
 * another rank with files of its own, as if as many nodes had written it, then
 * merges them.
 *
 *     states COUNT STATE FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "state/state_merge.h"
#include "tensors/join.h"

static void stop(const char *what, const struct tp_error *err)
{
    fprintf(stderr, "states: %s: %s\n", what, err->message);
    exit(1);
}

/* The state as rank `rank` would have written it. */
static void write_copy(const char *path, const struct tp_state *state,
                       struct tp_arena *arena, int rank)
{
    struct tp_error err = {0};
    const struct tp_records *from = &state->records;
    const struct tp_state_header header = {state->options, "node", true};
    for (size_t i = 0; i < from->count; i++) {
        struct tp_record *record = &from->items[i];
        const size_t room = strlen(record->path) + 16;
        char *name = tp_arena_alloc(arena, room);
        const char *tail = record->path;
        if (strncmp(tail, "node", 4) == 0 && strchr(tail, '/'))
            tail = strchr(tail, '/') + 1;
        if (name)
            snprintf(name, room, "node%04d/%s", rank, tail);
        record->path = name ? name : tail;
        for (size_t k = 0; k < record->row_count; k++)
            record->rows[k].label.rank = rank;
    }
    if (tp_state_write(path, &header, from, NULL, &err) != TP_OK)
        stop(path, &err);
}

static void make_states(const char *source, const char *folder, int count)
{
    struct tp_error err = {0};
    struct tp_arena arena = {0};
    struct tp_state state = {.records = {.arena = &arena}};
    if (tp_state_read(source, &state, NULL, &err) != TP_OK)
        stop(source, &err);
    mkdir(folder, 0777);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%04d.state", folder, i);
        write_copy(path, &state, &arena, i);
    }
    tp_state_clear(&state);
    tp_arena_clear(&arena);
}

/* Seconds on the processor: how busy the machine is does not matter. */
static double spent(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
    struct tp_error err = {0};
    struct tp_run run = {.row_count = 0};
    struct tp_state_merge merge = {.arena = &run.arena};
    uint64_t bytes = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: states COUNT STATE FOLDER\n");
        return 2;
    }
    const int count = atoi(argv[1]);
    make_states(argv[2], argv[3], count);
    const double start = spent();
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%04d.state", argv[3], i);
        if (tp_state_merge_add(&merge, path, NULL, &err) != TP_OK)
            stop(path, &err);
        if (stat(path, &info) == 0)
            bytes += (uint64_t)info.st_size;
    }
    const double read = spent();
    if (tp_state_merge_records(&merge, TP_DIMS_WORST, &err) != TP_OK ||
        tp_state_merge_files(&merge, &run.files, &err) != TP_OK)
        stop("merging", &err);
    const double merged = spent();
    if (tp_records_join(&merge.records, true, &run, &err) != TP_OK)
        stop("joining", &err);
    const double end = spent();
    const double rows = (double)(run.row_count + run.aside_count);
    printf("%.0f rows of %d states, %.0f bytes a row: read %.2f s, merged %.2f "
           "s (%.2g rows/s), joined %.2f s\n",
           rows, count, (double)bytes / rows, read - start, merged - read,
           rows / (merged - start), end - merged);
    tp_state_merge_clear(&merge);
    tp_run_clear(&run);
    return 0;
}
