/* SPDX-License-Identifier: MIT */
/*
 * trace_rate read|inflate FILE JOBS RUNS: reads a trace, or only its bytes,
 * RUNS times after one to warm up. Prints the seconds of the fastest run, the
 * MB of JSON and the peak of resident memory in MB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "formats/trace.h"
#include "formats/trace_input.h"

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

int main(int argc, char **argv)
{
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    struct rusage usage;
    double best = 1e9;
    uint64_t bytes = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: trace_rate read|inflate FILE JOBS RUNS\n");
        return 2;
    }
    enum tp_status status = tp_pool_new((unsigned)atoi(argv[3]), &pool, &err);
    for (int i = atoi(argv[4]); i >= 0 && status == TP_OK; i--) {
        double start = seconds();
        bytes = 0;
        if (strcmp(argv[1], "inflate") == 0)
            status = inflate_only(argv[2], &bytes, &err);
        else
            status = read_all(argv[2], pool, &bytes, &err);
        if (seconds() - start < best)
            best = seconds() - start;
    }
    tp_pool_free(pool);
    if (status != TP_OK) {
        fprintf(stderr, "trace_rate: %s\n", err.message);
        return 1;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%.4f %.1f %.1f\n", best, (double)bytes / 1e6,
           (double)usage.ru_maxrss * 1024 / 1e6);
    return 0;
}
