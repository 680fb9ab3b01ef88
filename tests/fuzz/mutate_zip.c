/* SPDX-License-Identifier: MIT */
/*
 * Archives by records. One record that is stored is changed, as a pickle, as
 * JSON or as bytes, whichever its name says; then sizes, CRC-32, the central
 * directory and its end are written anew, so that what is behind them is
 * reached. Or a record is left out, doubled or renamed; every fourth time the
 * archive is left to libFuzzer as bytes. Records that are deflated are taken as
 * they are. Cost: a pass over the archive.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "mutate.h"

enum {
    LOCAL = 30,   /* bytes of a local header without its name              */
    CENTRAL = 46, /* of one of the directory                               */
    END = 22,
    MOST_RECORDS = 64,
    MOST_NAME = 256
};

struct record {
    const uint8_t *name, *bytes;
    size_t name_size, size;
    uint32_t crc, unpacked;
    uint16_t method;
};

static uint32_t get(const uint8_t *at, unsigned bytes)
{
    uint32_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint32_t)at[i] << 8 * i;
    return number;
}

static void put(uint8_t *at, unsigned bytes, uint64_t number)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

/* The directory's end, looked for from behind; NULL: there is none. */
static const uint8_t *find_end(const uint8_t *data, size_t size)
{
    for (size_t i = END; i <= size; i++)
        if (memcmp(data + size - i, "PK\5\6", 4) == 0)
            return data + size - i;
    return NULL;
}

/* The record that a row of the directory names; false where it is not whole. */
static bool find_record(const uint8_t *data, size_t size, const uint8_t *row,
                        struct record *record)
{
    const size_t at = get(row + 42, 4);
    if (at > size || size - at < LOCAL || memcmp(data + at, "PK\3\4", 4) != 0)
        return false;
    const size_t start =
        at + LOCAL + get(data + at + 26, 2) + get(data + at + 28, 2);
    *record = (struct record){.name = row + CENTRAL,
                              .name_size = get(row + 28, 2),
                              .bytes = data + start,
                              .size = get(row + 20, 4),
                              .crc = get(row + 16, 4),
                              .unpacked = get(row + 24, 4),
                              .method = (uint16_t)get(row + 10, 2)};
    return start <= size && record->size <= size - start &&
           record->name_size < MOST_NAME;
}

static size_t read_records(const uint8_t *data, size_t size,
                           struct record *records)
{
    const uint8_t *end = find_end(data, size);
    size_t count = 0;
    if (!end || get(end + 16, 4) > size)
        return 0;
    const uint8_t *row = data + get(end + 16, 4);
    while (count < MOST_RECORDS && end - row >= CENTRAL &&
           memcmp(row, "PK\1\2", 4) == 0) {
        const size_t rest =
            (size_t)get(row + 28, 2) + get(row + 30, 2) + get(row + 32, 2);
        if ((size_t)(end - row) < CENTRAL + rest ||
            !find_record(data, size, row, &records[count]))
            return 0;
        count++;
        row += CENTRAL + rest;
    }
    return count;
}

static void write_header(uint8_t *to, bool central, const struct record *record,
                         size_t offset)
{
    uint8_t *at = to + (central ? 6 : 4);
    memset(to, 0, central ? CENTRAL : LOCAL);
    memcpy(to, central ? "PK\1\2" : "PK\3\4", 4);
    put(at + 4, 2, record->method);
    put(at + 10, 4, record->crc);
    put(at + 14, 4, record->size);
    put(at + 18, 4, record->unpacked);
    put(at + 22, 2, record->name_size);
    if (central)
        put(to + 42, 4, offset);
    memcpy(to + (central ? CENTRAL : LOCAL), record->name, record->name_size);
}

/* Writes all anew; returns the size, 0 where it would exceed `most`. */
static size_t write_archive(uint8_t *to, size_t most,
                            const struct record *records, size_t count)
{
    size_t at = 0, offsets[MOST_RECORDS + 1], need = END;
    for (size_t i = 0; i < count; i++)
        need += LOCAL + CENTRAL + 2 * records[i].name_size + records[i].size;
    if (need > most)
        return 0;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = at;
        write_header(to + at, false, &records[i], at);
        at += LOCAL + records[i].name_size;
        memcpy(to + at, records[i].bytes, records[i].size);
        at += records[i].size;
    }
    const size_t directory = at;
    for (size_t i = 0; i < count; i++) {
        write_header(to + at, true, &records[i], offsets[i]);
        at += CENTRAL + records[i].name_size;
    }
    memset(to + at, 0, END);
    memcpy(to + at, "PK\5\6", 4);
    put(to + at + 8, 2, count);
    put(to + at + 10, 2, count);
    put(to + at + 12, 4, at - directory);
    put(to + at + 16, 4, directory);
    return at + END;
}

static bool ends_in(const struct record *record, const char *ending)
{
    const size_t length = strlen(ending);
    return record->name_size >= length &&
           memcmp(record->name + record->name_size - length, ending, length) ==
               0;
}

/* The bytes of a record, changed in `room` of `most` bytes. */
static void change_bytes(struct record *record, uint8_t *room, size_t most,
                         uint64_t *random)
{
    size_t size = record->size < most ? record->size : most;
    memcpy(room, record->bytes, size);
    if (ends_in(record, ".pkl"))
        size = fuzz_mutate_pickle(room, size, most, random);
    else if (ends_in(record, ".json"))
        size = fuzz_mutate_json(room, size, most, random);
    else
        size = fuzz_mutate_bytes(room, size, most);
    record->bytes = room;
    record->size = size;
    record->unpacked = (uint32_t)size;
    record->crc = (uint32_t)crc32(0, room, (uInt)size);
}

static void change_name(struct record *record, uint8_t *room)
{
    memcpy(room, record->name, record->name_size);
    record->name_size =
        fuzz_mutate_bytes(room, record->name_size, MOST_NAME - 1);
    record->name = room;
}

/* What describes others is changed most of the time: pickles and JSON. */
static struct record *choose(struct record *records, size_t count,
                             uint64_t *random)
{
    struct record *one = &records[fuzz_random(random) % count];
    for (size_t i = 0; i < count && fuzz_random(random) % 4 != 0; i++)
        if (records[i].method == 0 &&
            (ends_in(&records[i], ".pkl") || ends_in(&records[i], ".json")))
            one = &records[i];
    return one;
}

size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t most,
                       uint64_t *random)
{
    struct record records[MOST_RECORDS + 1];
    uint8_t name[MOST_NAME];
    size_t count = read_records(data, size, records);
    const unsigned way = (unsigned)(fuzz_random(random) % 16);
    if (count == 0 || way < 4)
        return fuzz_mutate_bytes(data, size, most);
    uint8_t *room = malloc(2 * most + 1);
    if (!room)
        return size;
    struct record *one = choose(records, count, random);
    if (way == 4 && count > 1)
        *one = records[--count];
    else if (way == 5 && count < MOST_RECORDS)
        records[count++] = *one;
    else if (way == 6)
        change_name(one, name);
    else if (one->method == 0)
        change_bytes(one, room, most, random);
    const size_t made = write_archive(room + most, most, records, count);
    if (made)
        memcpy(data, room + most, made);
    free(room);
    return made ? made : fuzz_mutate_bytes(data, size, most);
}
