/* SPDX-License-Identifier: MIT */
/*
 * make_pt FILE MEBIBYTES [ROWS COLUMNS]: writes the file torch.save writes for
 * one bfloat16 vector of that size with normally distributed elements, or for
 * as many whole matrices of ROWS x COLUMNS as fit; by libzip and without
 * torch. Reproducible.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum { BLOCK = 1 << 16 }; /* elements drawn once; see fill() */

struct stream {
    uint64_t size, done; /* bytes */
    uint64_t random;
    uint16_t block[BLOCK];
};

static uint64_t draw(uint64_t *state)
{
    /* xorshift64*: Vigna, ACM Trans. Math. Softw. 42 (2016). */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static uint16_t to_bf16(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A new block of normal variates (Box and Muller). */
static void fill(struct stream *stream)
{
    const double turn = 6.283185307179586;
    for (int i = 0; i < BLOCK; i += 2) {
        double u = ldexp((double)(draw(&stream->random) >> 11) + 0.5, -53);
        double v = ldexp((double)(draw(&stream->random) >> 11), -53);
        double r = sqrt(-2 * log(u));
        stream->block[i] = to_bf16(r * cos(turn * v));
        stream->block[i + 1] = to_bf16(r * sin(turn * v));
    }
}

static zip_int64_t give(void *user, void *data, zip_uint64_t length,
                        zip_source_cmd_t command)
{
    struct stream *stream = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    case ZIP_SOURCE_STAT: {
        zip_stat_t *stat = data;
        zip_stat_init(stat);
        stat->size = stream->size;
        stat->valid |= ZIP_STAT_SIZE;
        return sizeof *stat;
    }
    case ZIP_SOURCE_READ: {
        uint64_t left = stream->size - stream->done;
        size_t at = (size_t)(stream->done % sizeof stream->block);
        if (at == 0 && left)
            fill(stream);
        if (length > sizeof stream->block - at)
            length = sizeof stream->block - at;
        if (length > left)
            length = left;
        memcpy(data, (char *)stream->block + at, (size_t)length);
        stream->done += length;
        return (zip_int64_t)length;
    }
    default:
        return 0;
    }
}

/* A pickle under construction; ours needs less than 300 bytes. */
struct pickle {
    char bytes[512];
    size_t length;
};

static void put(struct pickle *pickle, const char *bytes, size_t length)
{
    memcpy(pickle->bytes + pickle->length, bytes, length);
    pickle->length += length;
}

static void put_text(struct pickle *pickle, const char *text)
{
    char head[5] = { 'X', (char)strlen(text), 0, 0, 0 }; /* BINUNICODE */
    put(pickle, head, sizeof head);
    put(pickle, text, strlen(text));
}

static void put_int(struct pickle *pickle, uint64_t value)
{
    char bytes[10] = { (char)0x8a, 8 }; /* LONG1 of 8 bytes */
    for (int i = 0; i < 8; i++)
        bytes[2 + i] = (char)(value >> 8 * i);
    put(pickle, bytes, sizeof bytes);
}

#define PUT(pickle, literal) put(pickle, literal, sizeof literal - 1)

/* _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict()); the
 * shape has three axes. */
static void describe(struct pickle *pickle, const uint64_t *shape)
{
    uint64_t n = shape[0] * shape[1] * shape[2];
    PUT(pickle, "\x80\x02" "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text(pickle, "storage");
    PUT(pickle, "ctorch\nBFloat16Storage\n");
    put_text(pickle, "0");
    put_text(pickle, "cpu");
    put_int(pickle, n);
    PUT(pickle, "tQK\0");
    if (shape[1] * shape[2] == 1) {
        put_int(pickle, n);
        PUT(pickle, "\x85K\x01\x85");
    } else {
        for (int i = 0; i < 3; i++)
            put_int(pickle, shape[i]);
        PUT(pickle, "\x87");
        put_int(pickle, shape[1] * shape[2]);
        put_int(pickle, shape[2]);
        PUT(pickle, "K\x01\x87");
    }
    PUT(pickle, "\x89" "ccollections\nOrderedDict\n)RtR.");
}

static int add(zip_t *zip, const char *name, zip_source_t *source)
{
    zip_int64_t index = source ? zip_file_add(zip, name, source, 0) : -1;
    return index < 0 || zip_set_file_compression(zip, (zip_uint64_t)index,
                                                 ZIP_CM_STORE, 0) < 0;
}

int main(int argc, char **argv)
{
    static struct stream stream = { .random = 88172645463325252u };
    static struct pickle pickle;
    bool cube = argc == 5;
    long long mebibytes = argc == 3 || cube ? atoll(argv[2]) : 0;
    long long rows = cube ? atoll(argv[3]) : 1;
    long long columns = cube ? atoll(argv[4]) : 1;
    if (mebibytes <= 0 || rows <= 0 || columns <= 0) {
        fprintf(stderr, "usage: make_pt FILE MEBIBYTES [ROWS COLUMNS]\n");
        return 2;
    }
    uint64_t shape[3] = { 0, (uint64_t)rows, (uint64_t)columns };
    shape[0] = ((uint64_t)mebibytes << 19) / shape[1] / shape[2];
    stream.size = 2 * shape[0] * shape[1] * shape[2];
    describe(&pickle, shape);
    zip_t *zip = zip_open(argv[1], ZIP_CREATE | ZIP_TRUNCATE, NULL);
    if (!zip || add(zip, "archive/data.pkl",
                    zip_source_buffer(zip, pickle.bytes, pickle.length, 0)) ||
        add(zip, "archive/byteorder",
            zip_source_buffer(zip, "little", 6, 0)) ||
        add(zip, "archive/data/0", zip_source_function(zip, give, &stream)) ||
        add(zip, "archive/version", zip_source_buffer(zip, "3\n", 2, 0)) ||
        zip_close(zip) < 0) {
        fprintf(stderr, "make_pt: %s\n",
                zip ? zip_strerror(zip) : "cannot create the file");
        return 1;
    }
    return 0;
}
