/* SPDX-License-Identifier: MIT */
/*
 * JSON by values. A random value (a text, a number, a word, a whole list or
 * object) is found by its brackets and quotes; it is left out with the comma
 * beside it, doubled, changed for another value of the input or for one that is
 * known to be hard, wrapped in lists, or its text is mutated between its
 * quotes. Every sixth time the input is left to libFuzzer as bytes. One pass
 * for each value that is looked for.
 */
#include <stdbool.h>
#include <string.h>

#include "mutate.h"

enum { MOST_VALUE = 1 << 14 };

struct span {
    size_t at, size;
};

static bool starts_value(uint8_t c)
{
    return c && strchr("\"{[-0123456789tfnNI", c);
}

static size_t end_of_text(const uint8_t *data, size_t size, size_t at)
{
    for (at++; at < size && data[at] != '"'; at++)
        at += data[at] == '\\';
    return at < size ? at + 1 : size;
}

/* Where the value that starts here ends. */
static size_t end_of_value(const uint8_t *data, size_t size, size_t at)
{
    size_t depth = 0;
    if (data[at] != '{' && data[at] != '[' && data[at] != '"') {
        while (at < size && !strchr(",]}: \n\r\t", data[at]))
            at++;
        return at;
    }
    do {
        const uint8_t c = data[at];
        depth += c == '{' || c == '[';
        depth -= depth > 0 && (c == '}' || c == ']');
        at = c == '"' ? end_of_text(data, size, at) : at + 1;
    } while (at < size && depth > 0);
    return at < size ? at : size;
}

/* A value at random: the first that starts at or behind a random byte. */
static struct span pick(const uint8_t *data, size_t size, uint64_t *random)
{
    size_t at = fuzz_random(random) % size;
    while (at < size && !starts_value(data[at]))
        at++;
    if (at == size)
        at = 0;
    return (struct span){at, end_of_value(data, size, at) - at};
}

static size_t leave_out(uint8_t *data, size_t size, size_t most,
                        struct span span)
{
    size_t end = span.at + span.size;
    while (end < size && data[end] == ':')
        end = end_of_value(data, size, end + 1);
    while (end < size && (data[end] == ' ' || data[end] == ','))
        end++;
    return fuzz_splice(data, size, most, span.at, end - span.at, NULL, 0);
}

static size_t put_hard(uint8_t *data, size_t size, size_t most,
                       struct span span, uint64_t *random)
{
    static const char *const hard[] = {
        "0",        "-1",         "9223372036854775807",
        "1e308",    "1e999",      "-9223372036854775808",
        "0.1",      "\"\"",       "18446744073709551616",
        "null",     "true",       "false",
        "NaN",      "Infinity",   "-Infinity",
        "[]",       "{}",         "\"\\ud800\"",
        "[[[[]]]]", "-0.0",       "\"\\u0000\"",
        "1e-320",   "4294967296", "{\"a\":{\"a\":[]}}"};
    const char *value =
        hard[fuzz_random(random) % (sizeof hard / sizeof *hard)];
    return fuzz_splice(data, size, most, span.at, span.size,
                       (const uint8_t *)value, strlen(value));
}

/* Another value of the input instead of this one, or before it. */
static size_t put_other(uint8_t *data, size_t size, size_t most,
                        struct span span, bool before, uint64_t *random)
{
    uint8_t copy[MOST_VALUE + 1];
    const struct span other = before ? span : pick(data, size, random);
    size_t length = other.size;
    if (length > MOST_VALUE)
        return fuzz_mutate_bytes(data, size, most);
    memcpy(copy, data + other.at, length);
    if (before)
        copy[length++] = ',';
    return fuzz_splice(data, size, most, span.at, before ? 0 : span.size, copy,
                       length);
}

static size_t change_text(uint8_t *data, size_t size, size_t most,
                          struct span span)
{
    uint8_t copy[MOST_VALUE];
    const bool quoted = data[span.at] == '"' && span.size >= 2;
    const size_t inside = span.size - 2 * (size_t)quoted;
    if (inside == 0 || inside > MOST_VALUE)
        return fuzz_mutate_bytes(data, size, most);
    memcpy(copy, data + span.at + quoted, inside);
    const size_t length = fuzz_mutate_bytes(copy, inside, MOST_VALUE);
    return fuzz_splice(data, size, most, span.at + quoted, inside, copy,
                       length);
}

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t most,
                        uint64_t *random)
{
    if (size == 0)
        return fuzz_mutate_bytes(data, size, most);
    const struct span span = pick(data, size, random);
    switch (fuzz_random(random) % 6) {
    case 0:
        return leave_out(data, size, most, span);
    case 1:
        return put_hard(data, size, most, span, random);
    case 2:
        return put_other(data, size, most, span, false, random);
    case 3:
        return put_other(data, size, most, span, true, random);
    case 4:
        return change_text(data, size, most, span);
    default:
        return fuzz_mutate_bytes(data, size, most);
    }
}
