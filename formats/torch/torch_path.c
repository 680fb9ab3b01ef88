/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_path.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
    HASH_TEXT = 17,      /* '~' and 16 digits                            */
    HASHED = 4096,       /* bytes of a key that are hashed: a key may be
                            the file, and stand in each of its dicts     */
    TUPLE_DEPTH = 4,     /* of tuples that are keys                      */
    TUPLE_ITEMS = 64
};

/* What tells long keys apart that begin alike: the same in every run. */
static uint64_t mark_of(const char *text, size_t length)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    size_t left = length;
    uint64_t hash = left, word = 0;
    for (; left >= sizeof word; left -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, left);
    hash = (hash ^ word) * odd;
    return hash ^ hash >> 32;
}

static bool add(struct tp_torch_path *path, const char *text, size_t length)
{
    if (length >= TP_TORCH_PATH_ROOM - *path->length)
        return false;
    memcpy(path->text + *path->length, text, length);
    *path->length += (uint32_t)length;
    return true;
}

static bool add_word(struct tp_torch_path *path, const char *word)
{
    return add(path, word, strlen(word));
}

/* The longest beginning of at most `most` bytes that ends between characters */
static size_t whole_characters(const char *text, size_t most)
{
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* Bytes as text; what is not printable UTF-8 becomes \xNN, in quotes also what
 * would end or escape them. */
static bool add_printable(struct tp_torch_path *path, const char *text,
                          size_t length, bool quoted, bool bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        size_t n = bytes ? p[i] < 0x80 : tp_utf8_step(text + i, length - i);
        bool plain = n > 0 && p[i] >= 0x20 && p[i] != 0x7f &&
                     !(quoted && (p[i] == '\'' || p[i] == '\\'));
        char escaped[8];
        if (!plain)
            snprintf(escaped, sizeof escaped, "\\x%02x", p[i]);
        if (!(plain ? add(path, text + i, n) : add_word(path, escaped)))
            return false;
        i += plain ? n : 1;
    }
    return true;
}

/* A text that may be of any length. */
static bool add_text(struct tp_torch_path *path, const char *text,
                     size_t length, bool quoted, bool bytes)
{
    if (length <= TP_TORCH_PATH_MAX)
        return add_printable(path, text, length, quoted, bytes);
    size_t hashed = length < HASHED ? length : HASHED;
    char hash[HASH_TEXT + 1];
    snprintf(hash, sizeof hash, "~%016" PRIx64,
             mark_of(text, hashed) ^ (uint64_t)length);
    size_t kept = whole_characters(text, TP_TORCH_PATH_MAX - HASH_TEXT);
    return add_printable(path, text, kept, quoted, bytes) &&
           add_word(path, hash);
}

/* Whether a text key can stand as it is where others have brackets. */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!text[i] || strchr(".[]'\\", text[i]) || text[i] & 0x80 ||
            !isprint((unsigned char)text[i]))
            return false;
    }
    return length > 0;
}

static bool add_quoted(struct tp_torch_path *path, const char *text,
                       size_t length, bool bytes)
{
    return add_word(path, bytes ? "b'" : "'") &&
           add_text(path, text, length, true, bytes) && add_word(path, "'");
}

static bool add_number(struct tp_torch_path *path,
                       const struct tp_pickle *pickle, tp_ref key)
{
    int64_t integer;
    double real;
    char number[40] = "<key>";
    if (tp_pickle_kind(pickle, key) == TP_VALUE_BOOL)
        snprintf(number, sizeof number, "%s",
                 pickle->values[key].u.integer ? "True" : "False");
    else if (tp_pickle_int(pickle, key, &integer))
        snprintf(number, sizeof number, "%" PRId64, integer);
    else if (tp_pickle_float(pickle, key, &real))
        snprintf(number, sizeof number, "%.17g", real);
    return add_word(path, number);
}

/* A key that is no text. A tuple of tuples is one of its members, each with
 * the members left. */
static bool add_value(struct tp_torch_path *path,
                      const struct tp_pickle *pickle, tp_ref key, int depth);

static bool add_tuple(struct tp_torch_path *path,
                      const struct tp_pickle *pickle, tp_ref key, int depth)
{
    size_t count = tp_pickle_length(pickle, key);
    bool fits = add_word(path, "(");
    for (size_t i = 0; i < count && i < TUPLE_ITEMS && fits; i++) {
        tp_ref item = tp_pickle_item(pickle, key, i);
        const char *text;
        size_t length;
        fits = i == 0 || add_word(path, ", ");
        if (tp_pickle_text(pickle, item, &text, &length))
            fits = fits && add_quoted(path, text, length, false);
        else
            fits = fits && add_value(path, pickle, item, depth + 1);
    }
    return fits && add_word(path, count > TUPLE_ITEMS ? ", ...)"
                                  : count == 1        ? ",)"
                                                      : ")");
}

/* Bytes, as protocols before 3 have them: _codecs.encode(text, 'latin1'), a
 * character a byte. Other calls are numbers, of numpy, or not known. */
static bool add_call(struct tp_torch_path *path,
                     const struct tp_pickle *pickle, tp_ref key)
{
    const char *name = tp_pickle_callable(pickle, key), *text;
    size_t length;
    tp_ref args = pickle->values[key].u.call.args;
    if (!name || strcmp(name, "_codecs.encode") != 0 ||
        !tp_pickle_text(pickle, tp_pickle_item(pickle, args, 0), &text,
                        &length))
        return add_number(path, pickle, key);
    char bytes[HASHED];
    size_t count = 0;
    for (size_t i = 0; i < length && count < sizeof bytes; i++) {
        const unsigned char *p = (const unsigned char *)text + i;
        bool two = (*p & 0xfe) == 0xc2 && i + 1 < length;
        bytes[count++] = (char)(two ? *p << 6 | (p[1] & 0x3f) : *p);
        i += two;
    }
    return add_quoted(path, bytes, count, true);
}

static bool add_value(struct tp_torch_path *path,
                      const struct tp_pickle *pickle, tp_ref key, int depth)
{
    enum tp_value_kind kind = tp_pickle_kind(pickle, key);
    const struct tp_value *value = tp_pickle_value(pickle, key);
    if (kind == TP_VALUE_NONE)
        return add_word(path, "None");
    if (kind == TP_VALUE_TUPLE && depth < TUPLE_DEPTH)
        return add_tuple(path, pickle, key, depth);
    if (kind == TP_VALUE_BYTES && value->u.text.data)
        return add_quoted(path, value->u.text.data,
                          (size_t)value->u.text.length, true);
    if (kind == TP_VALUE_GLOBAL)
        return add_word(path, tp_pickle_callable(pickle, key));
    if (kind == TP_VALUE_CALL)
        return add_call(path, pickle, key);
    return add_number(path, pickle, key);
}

bool tp_torch_path_item(struct tp_torch_path *path, size_t index)
{
    char text[32];
    snprintf(text, sizeof text, "[%zu]", index);
    return add_word(path, text);
}

bool tp_torch_path_key(struct tp_torch_path *path,
                       const struct tp_pickle *pickle, tp_ref key)
{
    const char *text;
    size_t length;
    bool is_text = tp_pickle_text(pickle, key, &text, &length);
    if (path->brackets && (!is_text || !is_plain(text, length)))
        return add_word(path, "[") &&
               (is_text ? add_quoted(path, text, length, false)
                        : add_value(path, pickle, key, 0)) &&
               add_word(path, "]");
    if (*path->length && !add_word(path, "."))
        return false;
    return is_text ? add_text(path, text, length, false, false)
                   : add_value(path, pickle, key, 0);
}

char *tp_torch_path_text(const struct tp_torch_path *path, size_t length,
                         struct tp_arena *arena)
{
    if (length <= TP_TORCH_PATH_MAX)
        return tp_arena_text(arena, path->text, length);
    char cut[TP_TORCH_PATH_MAX + 1];
    size_t kept =
        whole_characters(path->text, TP_TORCH_PATH_MAX - HASH_TEXT);
    memcpy(cut, path->text, kept);
    snprintf(cut + kept, sizeof cut - kept, "~%016" PRIx64,
             mark_of(path->text, length));
    return tp_arena_text(arena, cut, strlen(cut));
}
