/* SPDX-License-Identifier: MIT */
/*
 * floor FILE THREADS [read]: reads the file with pread in chunks of 1 MiB and
 * counts its 16-bit codes into four interleaved tables, and nothing else: what
 * any program must pay that looks at every element once; with `read`, counts
 * but eight bytes of a chunk. Prints a checksum, so that no compiler can leave
 * the work out.
 *
 * floor FOLDER: opens, reads and closes each file below it, by pieces of 1 MiB.
 */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, CODES = 1 << 16, THREADS_MAX = 256 };

struct part {
    pthread_t thread;
    int fd;
    off_t begin, end;
    bool counts;              /* all, not eight bytes of a chunk */
    uint32_t (*table)[CODES]; /* [4] */
};

static void count(const unsigned char *bytes, size_t length,
                  uint32_t (*table)[CODES])
{
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t four;
        memcpy(&four, bytes + i, 8);
        table[0][four & 0xffff]++;
        table[1][four >> 16 & 0xffff]++;
        table[2][four >> 32 & 0xffff]++;
        table[3][four >> 48]++;
    }
}

static void *work(void *context)
{
    struct part *part = context;
    unsigned char *buffer = malloc(CHUNK);
    part->table = calloc(4, sizeof *part->table);
    if (!buffer || !part->table)
        abort();
    off_t at = part->begin;
    while (at < part->end) {
        size_t want = CHUNK;
        if (part->end - at < CHUNK)
            want = (size_t)(part->end - at);
        ssize_t got = pread(part->fd, buffer, want, at);
        if (got <= 0)
            abort();
        count(buffer, part->counts || got < 8 ? (size_t)got : 8, part->table);
        at += got;
    }
    free(buffer);
    return NULL;
}

static unsigned char chunk[CHUNK];
static uint64_t bytes_read;

static int read_one(const char *path, const struct stat *info, int type,
                    struct FTW *where)
{
    ssize_t got = 1;
    (void)info, (void)where;
    if (type != FTW_F)
        return 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        abort();
    for (; got > 0; bytes_read += (uint64_t)got)
        if ((got = read(fd, chunk, sizeof chunk)) < 0)
            abort();
    return close(fd);
}

static int read_folder(const char *folder)
{
    const int failed = nftw(folder, read_one, 16, FTW_PHYS);
    printf("%" PRIu64 "\n", bytes_read);
    return failed != 0;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return read_folder(argv[1]);
    static struct part parts[THREADS_MAX];
    struct stat info;
    bool only_read = argc == 4 && strcmp(argv[3], "read") == 0;
    int threads = argc == 3 || only_read ? atoi(argv[2]) : 0;
    int fd = threads > 0 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &info) < 0 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: floor FILE THREADS [read], floor FOLDER\n");
        return 2;
    }
    off_t chunks = (info.st_size + CHUNK - 1) / CHUNK;
    for (int i = 0; i < threads; i++) {
        struct part *part = &parts[i];
        part->fd = fd;
        part->counts = !only_read;
        part->begin = chunks * i / threads * CHUNK;
        part->end = chunks * (i + 1) / threads * CHUNK;
        if (part->end > info.st_size)
            part->end = info.st_size;
        if (pthread_create(&part->thread, NULL, work, part) != 0)
            abort();
    }
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(parts[i].thread, NULL);
        for (uint32_t code = 0; code < CODES; code++)
            for (int t = 0; t < 4; t++)
                sum += (uint64_t)code * parts[i].table[t][code];
        free(parts[i].table);
    }
    printf("%" PRIu64 "\n", sum);
    return close(fd) < 0;
}
