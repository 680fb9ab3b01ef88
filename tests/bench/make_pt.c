/* SPDX-License-Identifier: MIT */
/*
 * make_pt FILE MEBIBYTES [ROWS COLUMNS [DTYPE [turned]]]: writes the file
 * torch.save writes for one vector of that size with normally distributed
 * elements, or for as many whole matrices of ROWS x COLUMNS as fit; turned,
 * they are seen as COLUMNS x ROWS. DTYPE is bfloat16, float16, float32, float64
 * or float8_e4m3fn. By libzip and without torch. Reproducible.
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
    size_t code_size;
    uint64_t size, done; /* bytes */
    uint64_t random;
    void (*encode)(double value, unsigned char *code);
    unsigned char block[BLOCK * sizeof(double)];
};

static uint64_t draw(uint64_t *state)
{
    /* xorshift64*: Vigna, ACM Trans. Math. Softw. 42 (2016). */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void to_float32(double value, unsigned char *code)
{
    float f = (float)value;
    memcpy(code, &f, sizeof f);
}

static void to_float64(double value, unsigned char *code)
{
    memcpy(code, &value, sizeof value);
}

/* Of magnitudes from 2^-14 on to below 65520, as all but a few are. */
static void to_float16(double value, unsigned char *code)
{
    const double size = fmax(fabs(value), 0x1p-14);
    const int e = ilogb(size);
    const int steps = (int)nearbyint(ldexp(size, 10 - e));
    const int bits = (e + 14) * 1024 + steps + (signbit(value) ? 1 << 15 : 0);
    memcpy(code, &(uint16_t){(uint16_t)bits}, sizeof(uint16_t));
}

static void to_bfloat16(double value, unsigned char *code)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    memcpy(code, &(uint16_t){(uint16_t)bits}, sizeof(uint16_t));
}

/* Steps of 2^(e - 3) in the binade of 2^e, e >= -6; up to 448. */
static void to_float8_e4m3fn(double value, unsigned char *code)
{
    double size = fmin(fabs(value), 448);
    int e = size < 0x1p-6 ? -6 : ilogb(size);
    int steps = (int)nearbyint(ldexp(size, 3 - e));
    *code = (unsigned char)((e + 6) * 8 + steps + (signbit(value) ? 128 : 0));
}

/* A new block of normal variates (Box and Muller). */
static void fill(struct stream *stream)
{
    const double turn = 6.283185307179586;
    unsigned char *to = stream->block;
    for (int i = 0; i < BLOCK; i += 2) {
        double u = ldexp((double)(draw(&stream->random) >> 11) + 0.5, -53);
        double v = ldexp((double)(draw(&stream->random) >> 11), -53);
        double r = sqrt(-2 * log(u));
        stream->encode(r * cos(turn * v), to);
        stream->encode(r * sin(turn * v), to + stream->code_size);
        to += 2 * stream->code_size;
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
        size_t whole = BLOCK * stream->code_size;
        size_t at = (size_t)(stream->done % whole);
        if (at == 0 && left)
            fill(stream);
        if (length > whole - at)
            length = whole - at;
        if (length > left)
            length = left;
        memcpy(data, stream->block + at, (size_t)length);
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

/* What is to be written. */
struct tensor {
    const struct dtype *dtype;
    uint64_t shape[3];
    bool turned;
};

static const struct dtype {
    const char *name, *storage;
    size_t size;
    void (*encode)(double value, unsigned char *code);
} dtypes[] = {
    {"bfloat16", "ctorch\nBFloat16Storage\n", 2, to_bfloat16},
    {"float16", "ctorch\nHalfStorage\n", 2, to_float16},
    {"float32", "ctorch\nFloatStorage\n", 4, to_float32},
    {"float64", "ctorch\nDoubleStorage\n", 8, to_float64},
    {"float8_e4m3fn", NULL, 1, to_float8_e4m3fn},
};

static void put_shape(struct pickle *pickle, const struct tensor *tensor)
{
    const uint64_t *shape = tensor->shape;
    int rows = tensor->turned ? 2 : 1;
    if (shape[1] * shape[2] == 1) {
        put_int(pickle, shape[0]);
        PUT(pickle, "\x85K\x01\x85");
        return;
    }
    put_int(pickle, shape[0]);
    put_int(pickle, shape[rows]);
    put_int(pickle, shape[3 - rows]);
    PUT(pickle, "\x87");
    put_int(pickle, shape[1] * shape[2]);
    put_int(pickle, tensor->turned ? 1 : shape[2]);
    put_int(pickle, tensor->turned ? shape[2] : 1);
    PUT(pickle, "\x87");
}

/* _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict()); v3,
 * which has the dtype behind it, where storages have no class of their own. */
static void describe(struct pickle *pickle, const struct tensor *tensor)
{
    const struct dtype *dtype = tensor->dtype;
    const uint64_t *shape = tensor->shape;
    const char *storage =
        dtype->storage ? dtype->storage : "ctorch.storage\nUntypedStorage\n";
    PUT(pickle, "\x80\x02" "ctorch._utils\n_rebuild_tensor_v");
    put(pickle, dtype->storage ? "2" : "3", 1);
    PUT(pickle, "\n((");
    put_text(pickle, "storage");
    put(pickle, storage, strlen(storage));
    put_text(pickle, "0");
    put_text(pickle, "cpu");
    put_int(pickle, shape[0] * shape[1] * shape[2] *
                        (dtype->storage ? 1 : dtype->size));
    PUT(pickle, "tQK\0");
    put_shape(pickle, tensor);
    PUT(pickle, "\x89" "ccollections\nOrderedDict\n)R");
    if (!dtype->storage) {
        PUT(pickle, "ctorch\n");
        put(pickle, dtype->name, strlen(dtype->name));
        PUT(pickle, "\n");
    }
    PUT(pickle, "tR.");
}

static int add(zip_t *zip, const char *name, zip_source_t *source)
{
    zip_int64_t index = source ? zip_file_add(zip, name, source, 0) : -1;
    return index < 0 || zip_set_file_compression(zip, (zip_uint64_t)index,
                                                 ZIP_CM_STORE, 0) < 0;
}

/* False when the words do not say a tensor. */
static bool parse(int argc, char **argv, struct tensor *tensor)
{
    bool cube = argc >= 5;
    double mebibytes = argc >= 3 ? atof(argv[2]) : 0;
    long long rows = cube ? atoll(argv[3]) : 1;
    long long columns = cube ? atoll(argv[4]) : 1;
    tensor->turned = argc == 7 && strcmp(argv[6], "turned") == 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, argc >= 6 ? argv[5] : "bfloat16") == 0)
            tensor->dtype = &dtypes[i];
    if (argc == 4 || argc > 6 + tensor->turned || !(mebibytes > 0) ||
        mebibytes > 0x1p30 || rows <= 0 || columns <= 0 || !tensor->dtype)
        return false;
    tensor->shape[1] = (uint64_t)rows;
    tensor->shape[2] = (uint64_t)columns;
    tensor->shape[0] = (uint64_t)(mebibytes * 0x1p20) / tensor->dtype->size /
                       tensor->shape[1] / tensor->shape[2];
    return true;
}

int main(int argc, char **argv)
{
    static struct stream stream = { .random = 88172645463325252u };
    static struct pickle pickle;
    struct tensor tensor = { .dtype = NULL };
    if (!parse(argc, argv, &tensor)) {
        fprintf(stderr, "usage: make_pt FILE MEBIBYTES "
                        "[ROWS COLUMNS [DTYPE [turned]]]\n");
        return 2;
    }
    stream.code_size = tensor.dtype->size;
    stream.encode = tensor.dtype->encode;
    stream.size = stream.code_size * tensor.shape[0] * tensor.shape[1] *
                  tensor.shape[2];
    describe(&pickle, &tensor);
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
