/* SPDX-License-Identifier: MIT */
/*
 * RLIMIT_DATA: what a process has of pages that are its own and can be written,
 * whether heap, large blocks, stacks of threads or what a library takes, as of
 * Linux 4.7. Address space that is only reserved, mapped files and what devices
 * map for all are left out, so that CUDA works.
 *
 * Alternatives: counting in tp_grow and tp_arena sees nothing of simdjson, HDF5
 * and zlib; RLIMIT_AS counts reservations (CUDA takes some 10 GB of them);
 * RLIMIT_RSS does nothing on Linux. Cost: none while it is not met. Pages that
 * were taken and never touched count, so the limit is met a little early.
 */
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config.h"

static const uint64_t UNLIMITED = UINT64_MAX;

enum { LINE = 4096 };

/* The number in a file of one; UNLIMITED: there is none, or "max". */
static uint64_t number_in(const char *root, const char *path, const char *name)
{
    char full[2 * LINE], line[64] = "";
    snprintf(full, sizeof full, "%s%s/%s", root, path, name);
    FILE *file = fopen(full, "re");
    const char *got = file ? fgets(line, sizeof line, file) : NULL;
    if (file)
        fclose(file);
    return got && line[0] >= '0' && line[0] <= '9' ? strtoull(line, NULL, 10)
                                                   : UNLIMITED;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The least limit of a group and those it is in, which `path` names. */
static uint64_t limit_of_group(const char *root, const char *mount,
                               const char *group, const char *name)
{
    char path[LINE];
    uint64_t limit = UNLIMITED;
    snprintf(path, sizeof path, "%s%s", mount, group);
    for (;;) {
        limit = least(limit, number_in(root, path, name));
        char *slash = strrchr(path, '/');
        if (strlen(path) <= strlen(mount) || !slash)
            return limit;
        *slash = '\0';
    }
}

/* What the control groups of this process allow: version 2 has one line,
 * "0::/GROUP", version 1 one for each kind, "9:memory:/GROUP". */
static uint64_t limit_of_groups(const char *root)
{
    char line[LINE];
    uint64_t limit = UNLIMITED;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *kind = strchr(line, ':');
        const char *group = kind ? strchr(kind + 1, ':') : NULL;
        if (group && group == kind + 1)
            limit = least(limit, limit_of_group(root, "/sys/fs/cgroup",
                                                group + 1, "memory.max"));
        else if (group && strncmp(kind, ":memory:", 8) == 0)
            limit = least(limit,
                          limit_of_group(root, "/sys/fs/cgroup/memory",
                                         group + 1, "memory.limit_in_bytes"));
    }
    if (file)
        fclose(file);
    return limit;
}

/* MemAvailable of the system, in bytes; UNLIMITED: not said. */
static uint64_t available_of_system(const char *root)
{
    char line[LINE];
    uint64_t available = UNLIMITED, kilobytes;
    snprintf(line, sizeof line, "%s/proc/meminfo", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kilobytes) == 1)
            available = kilobytes << 10;
    }
    if (file)
        fclose(file);
    return available;
}

uint64_t tp_memory_available_in(const char *root)
{
    const uint64_t available =
        least(available_of_system(root), limit_of_groups(root));
    return available == UNLIMITED ? 0 : available;
}

uint64_t tp_memory_available(void)
{
    return tp_memory_available_in("");
}

enum tp_status tp_memory_limit(uint64_t bytes, struct tp_error *err)
{
#if defined(TP_SANITIZED)
    (void)bytes;
    (void)err;
    return TP_OK;
#else
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0)
        return tp_fail_errno(err, "cannot ask for the limit of memory");
    /* who started us may have set one that is less */
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= bytes)
        return TP_OK;
    limit.rlim_cur = limit.rlim_max = (rlim_t)bytes;
    return setrlimit(RLIMIT_DATA, &limit) == 0
               ? TP_OK
               : tp_fail_errno(err, "cannot set the limit of memory");
#endif
}
