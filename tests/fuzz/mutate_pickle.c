/* SPDX-License-Identifier: MIT */
/*
 * Pickles by opcodes. The input is cut into opcodes with their arguments; then
 * one is left out, doubled, moved, changed for another, or its argument is
 * mutated, with the length in front of it mended. What cannot be cut is left to
 * libFuzzer. One pass over the input for each mutation.
 */
#include <stdbool.h>
#include <string.h>

#include "mutate.h"

enum {
    MOST_OPCODES = 1 << 13,
    MOST_TEXT = 1 << 12 /* bytes of an argument that is mutated            */
};

/* An opcode: where it starts, and where its text, if it has one, does. */
struct opcode {
    uint32_t at, size;
    uint8_t prefix; /* bytes of the length in front of the text; 0: none   */
};

static uint64_t number_at(const uint8_t *data, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)data[i] << 8 * i;
    return number;
}

/* Bytes of the length of a counted argument; 0 where it has none. */
static unsigned prefix_of(uint8_t opcode)
{
    static const struct {
        const char *opcodes;
        unsigned bytes;
    } kinds[] = {{"U\x8c"
                  "C\x8a",
                  1},
                 {"XTB\x8b", 4},
                 {"\x8d\x8e\x96", 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (opcode && strchr(kinds[i].opcodes, opcode))
            return kinds[i].bytes;
    return 0;
}

/* Bytes of an argument of fixed size. */
static size_t fixed_of(uint8_t opcode)
{
    static const char one[] = "Kqh\x80\x82", two[] = "M\x83",
                      four[] = "Jjr\x84", eight[] = "G\x95";
    return !opcode                 ? 0
           : strchr(one, opcode)   ? 1
           : strchr(two, opcode)   ? 2
           : strchr(four, opcode)  ? 4
           : strchr(eight, opcode) ? 8
                                   : 0;
}

/* How many lines follow an opcode. */
static int lines_of(uint8_t opcode)
{
    return opcode && strchr("ci", opcode)         ? 2
           : opcode && strchr("FILPSVgp", opcode) ? 1
                                                  : 0;
}

static size_t end_of_lines(const uint8_t *data, size_t size, size_t at,
                           int lines)
{
    for (; lines > 0 && at < size; lines--) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        at = end ? (size_t)(end - data) + 1 : size;
    }
    return at;
}

static size_t cut(const uint8_t *data, size_t size, struct opcode *opcodes)
{
    size_t at = 0, count = 0;
    while (at < size && count < MOST_OPCODES) {
        const unsigned prefix = prefix_of(data[at]);
        size_t end = at + 1;
        if (prefix && end + prefix <= size) {
            const uint64_t length = number_at(data + end, prefix);
            end += prefix;
            end = length > size - end ? size : end + (size_t)length;
        } else {
            end = end_of_lines(data, size, end + fixed_of(data[at]),
                               lines_of(data[at]));
        }
        if (end > size)
            end = size;
        opcodes[count++] = (struct opcode){(uint32_t)at, (uint32_t)(end - at),
                                           (uint8_t)prefix};
        at = end;
    }
    return count;
}

/* The text of a counted argument, mutated, and its length mended. */
static size_t change_text(uint8_t *data, size_t size, size_t most,
                          const struct opcode *one)
{
    uint8_t text[MOST_TEXT + 9];
    const size_t head = 1 + (size_t)one->prefix;
    if (one->size < head || one->size > MOST_TEXT)
        return fuzz_mutate_bytes(data, size, most);
    memcpy(text, data + one->at, one->size);
    size_t limit = one->prefix == 1 ? 255 : MOST_TEXT;
    size_t length = one->size - head;
    length =
        fuzz_mutate_bytes(text + head, length < limit ? length : limit, limit);
    for (unsigned i = 0; i < one->prefix; i++)
        text[1 + i] = (uint8_t)((uint64_t)length >> 8 * i);
    return fuzz_splice(data, size, most, one->at, one->size, text,
                       head + length);
}

/* An argument of fixed size or a line, mutated; the opcode stays. */
static size_t change_argument(uint8_t *data, size_t size, size_t most,
                              const struct opcode *one)
{
    uint8_t copy[MOST_TEXT];
    if (one->size < 2 || one->size > MOST_TEXT)
        return size;
    memcpy(copy, data + one->at, one->size);
    const bool line = copy[one->size - 1] == '\n' && lines_of(copy[0]);
    size_t length = one->size - 1U - line;
    const size_t room = line ? MOST_TEXT - 2 : length;
    if (length)
        length = fuzz_mutate_bytes(copy + 1, length, room);
    if (line)
        copy[1 + length] = '\n';
    return fuzz_splice(data, size, most, one->at, one->size, copy,
                       1 + length + line);
}

static size_t add_opcode(uint8_t *data, size_t size, size_t most, size_t at,
                         uint64_t *random)
{
    static const struct {
        const char *bytes;
        size_t size;
    } opcodes[] = {
        {"(", 1},
        {")", 1},
        {"]", 1},
        {"}", 1},
        {"t", 1},
        {"\x85", 1},
        {"\x86", 1},
        {"\x87", 1},
        {"l", 1},
        {"d", 1},
        {"e", 1},
        {"a", 1},
        {"s", 1},
        {"u", 1},
        {"b", 1},
        {"R", 1},
        {"Q", 1},
        {"o", 1},
        {"\x81", 1},
        {"\x92", 1},
        {"\x93", 1},
        {"\x94", 1},
        {"\x8f", 1},
        {"\x90", 1},
        {"\x91", 1},
        {"0", 1},
        {"1", 1},
        {"2", 1},
        {"N", 1},
        {"\x88", 1},
        {"\x89", 1},
        {"q\x00", 2},
        {"h\x00", 2},
        {"h\x01", 2},
        {"K\x00", 2},
        {"K\x02", 2},
        {"J\xff\xff\xff\x7f", 5},
        {"J\xff\xff\xff\xff", 5},
        {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
        {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10},
        {"G\x7f\xf0\x00\x00\x00\x00\x00\x00", 9},
        {"X\x01\x00\x00\x00"
         "a",
         6},
        {"ctorch\nFloatStorage\n", 20},
        {"ctorch\nbfloat16\n", 16},
        {"ctorch\nSize\n", 12},
        {"ctorch._utils\n_rebuild_tensor_v2\n", 33},
        {"ccollections\nOrderedDict\n", 25},
        {".", 1},
    };
    const size_t which =
        fuzz_random(random) % (sizeof opcodes / sizeof *opcodes);
    return fuzz_splice(data, size, most, at, 0,
                       (const uint8_t *)opcodes[which].bytes,
                       opcodes[which].size);
}

/* A run of up to eight opcodes, copied to the place of another one. */
static size_t copy_run(uint8_t *data, size_t size, size_t most,
                       const struct opcode *opcodes, size_t count,
                       uint64_t *random)
{
    uint8_t copy[MOST_TEXT];
    const size_t first = fuzz_random(random) % count;
    size_t last = first + 1 + fuzz_random(random) % 8;
    if (last > count)
        last = count;
    const size_t length =
        opcodes[last - 1].at + opcodes[last - 1].size - opcodes[first].at;
    if (length > sizeof copy)
        return size;
    memcpy(copy, data + opcodes[first].at, length);
    return fuzz_splice(data, size, most,
                       opcodes[fuzz_random(random) % count].at, 0, copy,
                       length);
}

size_t fuzz_mutate_pickle(uint8_t *data, size_t size, size_t most,
                          uint64_t *random)
{
    static struct opcode opcodes[MOST_OPCODES];
    const size_t count = cut(data, size, opcodes);
    if (count == 0)
        return fuzz_mutate_bytes(data, size, most);
    const struct opcode *one = &opcodes[fuzz_random(random) % count];
    switch (fuzz_random(random) % 8) {
    case 0:
        return fuzz_splice(data, size, most, one->at, one->size, NULL, 0);
    case 1:
    case 2:
        return copy_run(data, size, most, opcodes, count, random);
    case 3:
    case 4:
        return add_opcode(data, size, most, one->at, random);
    case 5:
        return fuzz_mutate_bytes(data, size, most);
    default:
        return one->prefix ? change_text(data, size, most, one)
                           : change_argument(data, size, most, one);
    }
}
