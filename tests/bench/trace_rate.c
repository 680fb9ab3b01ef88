/* SPDX-License-Identifier: MIT */
/*
 * trace_rate read FILE JOBS RUNS: reads a trace RUNS times after one to warm
 * up. Prints the seconds of the fastest run, the MB of JSON and the peak of
 * resident memory in MB.
 *
 * trace_rate gzip FILE JSON JOBS RUNS: the same, and in turn with it inflates
 * FILE and does nothing else, and reads JSON, what FILE inflates to, with one
 * job. Prints the seconds of the fastest run of these two as well.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "formats/trace/trace_input.h"
#include "formats/trace/trace_reader.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum tp_status inflate_only(const char *path, uint64_t *bytes,
                                   struct tp_error *err)
{
    static char buffer[1 << 18];
    struct tp_trace_input input;
    enum tp_status status = tp_trace_input_open(&input, path, err);
    while (status == TP_OK && !input.ended) {
        size_t got = 0;
        status = tp_trace_input_read(&input, buffer, sizeof buffer, &got, err);
        *bytes += got;
    }
    tp_trace_input_close(&input);
    return status;
}

static enum tp_status read_all(const char *path, struct tp_pool *pool,
                               uint64_t *bytes, struct tp_error *err)
{
    struct tp_events events = {0};
    enum tp_status status = tp_trace_read(path, pool, NULL, &events, err);
    *bytes = events.bytes;
    tp_events_clear(&events);
    return status;
}

/* One way to take a trace, and how fast it was so far. */
struct way {
    const char *path;
    struct tp_pool *pool; /* NULL: only inflate */
    double best;
    uint64_t bytes;
};

static enum tp_status run(struct way *way, struct tp_error *err)
{
    double start = seconds();
    way->bytes = 0;
    enum tp_status status =
        way->pool ? read_all(way->path, way->pool, &way->bytes, err)
                  : inflate_only(way->path, &way->bytes, err);
    double taken = seconds() - start;
    if (taken < way->best)
        way->best = taken;
    return status;
}

int main(int argc, char **argv)
{
    struct tp_error err = {0};
    struct tp_pool *one = NULL, *several = NULL;
    struct rusage usage;
    bool gzip = argc == 6 && strcmp(argv[1], "gzip") == 0;
    if (!gzip && (argc != 5 || strcmp(argv[1], "read") != 0)) {
        fprintf(stderr, "usage: trace_rate read FILE JOBS RUNS\n"
                        "       trace_rate gzip FILE JSON JOBS RUNS\n");
        return 2;
    }
    enum tp_status status = tp_pool_new(1, &one, &err);
    if (status == TP_OK)
        status = tp_pool_new((unsigned)atoi(argv[argc - 2]), &several, &err);
    struct way ways[] = {{argv[2], several, 1e9, 0},
                         {argv[2], NULL, 1e9, 0},
                         {argv[3], one, 1e9, 0}};
    for (int i = atoi(argv[argc - 1]); i >= 0; i--)
        for (int k = 0; k < (gzip ? 3 : 1) && status == TP_OK; k++)
            status = run(&ways[k], &err);
    tp_pool_free(several);
    tp_pool_free(one);
    if (status != TP_OK) {
        fprintf(stderr, "trace_rate: %s\n", err.message);
        return 1;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%.4f %.1f %.1f", ways[0].best, (double)ways[0].bytes / 1e6,
           (double)usage.ru_maxrss * 1024 / 1e6);
    if (gzip)
        printf(" %.4f %.4f", ways[1].best, ways[2].best);
    printf("\n");
    return 0;
}
