/* SPDX-License-Identifier: MIT */
/*
 * How fast states are read and joined: makes COUNT copies of a state, each of
 * another rank with files of its own, as if as many nodes had written it, then
 * merges them. STATE "-": the copies that an earlier call made.
 *
 *     states COUNT STATE FOLDER JOBS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
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

/* Seconds on all processors: how busy the machine is matters less. */
static double spent(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
    struct tp_error err = {0};
    struct tp_run run = {.row_count = 0};
    struct tp_state_merge merge = {.count = 0};
    uint64_t bytes = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: states COUNT STATE FOLDER JOBS\n");
        return 2;
    }
    const int count = atoi(argv[1]);
    if (strcmp(argv[2], "-") != 0)
        make_states(argv[2], argv[3], count);
    char **paths = calloc((size_t)count + 1, sizeof *paths);
    for (int i = 0; i < count && paths; i++) {
        struct stat info;
        paths[i] = malloc(4096);
        snprintf(paths[i], 4096, "%s/%04d.state", argv[3], i);
        if (stat(paths[i], &info) == 0)
            bytes += (uint64_t)info.st_size;
    }
    struct tp_pool *pool;
    if (tp_pool_new((unsigned)atoi(argv[4]), &pool, &err) != TP_OK)
        stop("threads", &err);
    const struct tp_state_merge_from from = {(const char *const *)paths,
                                             (size_t)count, NULL, NULL};
    const double start = tp_now(), began = spent();
    if (tp_state_merge_read(&merge, &from, pool, &err) != TP_OK)
        stop(err.file, &err);
    const double read = tp_now(), read_by = spent();
    if (tp_state_merge_records(&merge, TP_DIMS_WORST, &run.arena, &err) !=
            TP_OK ||
        tp_state_merge_files(&merge, &run.files, &err) != TP_OK)
        stop("merging", &err);
    const double merged = tp_now(), worked = spent();
    if (tp_records_join(&merge.records, true, &run, &err) != TP_OK)
        stop("joining", &err);
    const double end = tp_now(), joined = spent();
    const double rows = (double)(run.row_count + run.aside_count);
    printf("%.0f rows of %d states, %.0f bytes a row\n"
           "by the clock: read %.2f s, merged %.2f s (%.2g rows/s), joined "
           "%.2f s\n"
           "of processors: read %.2f s, merged %.2f s (%.2g rows/s), joined "
           "%.2f s\n",
           rows, count, (double)bytes / rows, read - start, merged - read,
           rows / (merged - start), end - merged, read_by - began,
           worked - read_by, rows / (worked - began), joined - worked);
    tp_state_merge_clear(&merge);
    tp_run_clear(&run);
    tp_pool_free(pool);
    for (int i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return 0;
}
