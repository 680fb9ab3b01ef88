/* SPDX-License-Identifier: MIT */
/*
 * One table of a TOML 1.0 file. Headers and keys are read everywhere, values
 * only in that table; elsewhere a value is passed over by its quotes and
 * brackets, so that a text that looks like a header is none.
 *
 * Alternative: a library. Those that are packaged are C++ templates (toml++,
 * toml11) that read all of TOML, dates and numbers among it, for one table of
 * texts. Cost: one look at each byte.
 */
#include "check/toml_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/text.h"

enum {
    MOST_KEYS = 8,    /* parts of a dotted key that are looked at         */
    MOST_ENTRIES = 64 /* of the table; it has less than ten               */
};

/* What the header above said. */
enum place { AT_ROOT, IN_TOOL, IN_OURS, ELSEWHERE };

struct reader {
    const char *p, *end;
    uint32_t line;
    const char *name;
    struct tp_arena *arena;
    struct tp_toml_entry *entries;
    size_t count, capacity;
    const char **texts; /* of the list at hand                             */
    size_t text_count, text_capacity;
    bool found;
    enum place place;
    struct tp_error *err;
    enum tp_status status;
};

static bool fail(struct reader *reader, const char *what)
{
    if (reader->status == TP_OK)
        reader->status = tp_fail(reader->err, TP_E_DAMAGED, -1, "line %u: %s",
                                 reader->line, what);
    return false;
}

static bool fail_memory(struct reader *reader)
{
    if (reader->status == TP_OK)
        reader->status = tp_fail_memory(reader->err);
    return false;
}

static bool at(const struct reader *reader, char c)
{
    return reader->p < reader->end && *reader->p == c;
}

static void pass(struct reader *reader)
{
    reader->line += *reader->p++ == '\n';
}

static void pass_blanks(struct reader *reader)
{
    while (at(reader, ' ') || at(reader, '\t') || at(reader, '\r'))
        reader->p++;
}

static void pass_comment(struct reader *reader)
{
    while (reader->p < reader->end && *reader->p != '\n')
        reader->p++;
}

/* Blanks, ends of lines and comments. */
static void pass_lines(struct reader *reader)
{
    for (;;) {
        pass_blanks(reader);
        if (at(reader, '#'))
            pass_comment(reader);
        else if (at(reader, '\n'))
            pass(reader);
        else
            return;
    }
}

/* Nothing but a comment may follow in the line. */
static bool end_line(struct reader *reader)
{
    pass_blanks(reader);
    if (at(reader, '#'))
        pass_comment(reader);
    if (reader->p < reader->end && *reader->p != '\n')
        return fail(reader, "more than one thing in a line");
    return true;
}

/* A character by its number, "\u00e9". */
static bool add_code(struct reader *reader, int digits, struct tp_text *text)
{
    char bytes[4];
    uint32_t code = 0;
    for (; digits > 0; digits--, reader->p++) {
        const char *hex = "0123456789abcdef";
        char c = reader->p < reader->end ? *reader->p : 0;
        const char *digit =
            c ? strchr(hex, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
        if (!digit)
            return fail(reader, "an escape without its digits");
        code = code << 4 | (uint32_t)(digit - hex);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(reader, "an escape that is no character");
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(size == 1 ? code : (0xf00u >> size & 0xff) | code);
    tp_text_bytes(text, bytes, size);
    return true;
}

static bool add_escape(struct reader *reader, struct tp_text *text)
{
    static const char names[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";
    char c = reader->p < reader->end ? *reader->p++ : 0;
    const char *which = c ? strchr(names, c) : NULL;
    if (c == 'u' || c == 'U')
        return add_code(reader, c == 'u' ? 4 : 8, text);
    if (!which)
        return fail(reader, "an unknown escape");
    tp_text_bytes(text, &means[which - names], 1);
    return true;
}

/* A text in one line, into `text`. */
static bool read_string(struct reader *reader, struct tp_text *text)
{
    char quote = *reader->p++;
    if (reader->end - reader->p >= 2 && reader->p[0] == quote &&
        reader->p[1] == quote)
        return fail(reader, "a text of several lines");
    while (!at(reader, quote)) {
        if (reader->p == reader->end || *reader->p == '\n')
            return fail(reader, "a text that is never closed");
        char c = *reader->p++;
        if (c == '\0')
            return fail(reader, "a NUL byte");
        if (c == '\\' && quote == '"') {
            if (!add_escape(reader, text))
                return false;
        } else {
            tp_text_bytes(text, &c, 1);
        }
    }
    reader->p++;
    return text->failed ? fail_memory(reader) : true;
}

/* Passes a text of any kind. */
static bool pass_string(struct reader *reader)
{
    char quote = *reader->p;
    bool many = reader->end - reader->p >= 3 && reader->p[1] == quote &&
                reader->p[2] == quote;
    reader->p += many ? 3 : 1;
    while (reader->p < reader->end) {
        char c = *reader->p;
        if (c == '\n' && !many)
            break;
        pass(reader);
        if (c == '\\' && quote == '"' && reader->p < reader->end)
            pass(reader);
        if (c == quote && (!many || (reader->end - reader->p >= 2 &&
                                     reader->p[0] == c && reader->p[1] == c))) {
            for (int i = 0; i < 2 + 2 && many && at(reader, c); i++)
                reader->p++; /* up to two quotes may end the text itself */
            return true;
        }
    }
    return fail(reader, "a text that is never closed");
}

/* A value that is not ours, to the end of its line. */
static bool pass_value(struct reader *reader)
{
    size_t deep = 0;
    while (reader->p < reader->end && (deep > 0 || *reader->p != '\n')) {
        char c = *reader->p;
        if (c == '"' || c == '\'') {
            if (!pass_string(reader))
                return false;
            continue;
        }
        if (c == '#') {
            pass_comment(reader);
            continue;
        }
        deep += c == '[' || c == '{';
        deep -= deep > 0 && (c == ']' || c == '}');
        pass(reader);
    }
    return deep == 0 || fail(reader, "a bracket that is never closed");
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* "a", "a.b", "a . 'b'": the parts that are looked at, and how many there
 * are. */
static bool read_key(struct reader *reader, const char *parts[MOST_KEYS],
                     size_t *count)
{
    for (*count = 0;; reader->p++) {
        struct tp_text text = {0};
        pass_blanks(reader);
        const char *begin = reader->p;
        bool quoted = at(reader, '"') || at(reader, '\'');
        if (quoted && !read_string(reader, &text)) {
            tp_text_clear(&text);
            return false;
        }
        while (!quoted && reader->p < reader->end && is_bare(*reader->p))
            reader->p++;
        if (!quoted && reader->p == begin)
            return fail(reader, "a key is missing");
        if (*count < MOST_KEYS)
            parts[*count] = quoted
                                ? tp_arena_text(reader->arena,
                                                tp_text_get(&text), text.length)
                                : tp_arena_text(reader->arena, begin,
                                                (size_t)(reader->p - begin));
        tp_text_clear(&text);
        if (*count < MOST_KEYS && !parts[*count])
            return fail_memory(reader);
        ++*count;
        pass_blanks(reader);
        if (!at(reader, '.'))
            return true;
    }
}

/* Whether a key begins as our table does, from part `from` of its name on. */
static bool is_ours(const struct reader *reader, const char *const *parts,
                    size_t count, size_t from)
{
    const char *name[] = {"tool", reader->name};
    size_t i = from;
    for (; i < 2 && i - from < count; i++) {
        if (strcmp(parts[i - from], name[i]) != 0)
            return false;
    }
    return i == 2;
}

static bool read_header(struct reader *reader)
{
    const char *parts[MOST_KEYS];
    size_t count;
    reader->p++;
    bool many = at(reader, '[');
    reader->p += many;
    if (!read_key(reader, parts, &count))
        return false;
    for (int i = 0; i <= many; i++) {
        if (!at(reader, ']'))
            return fail(reader, "a header that is never closed");
        reader->p++;
    }
    bool ours = is_ours(reader, parts, count, 0);
    reader->place = ours                                      ? IN_OURS
                    : count == 1 && !strcmp(parts[0], "tool") ? IN_TOOL
                                                              : ELSEWHERE;
    if (ours && (many || count > 2 || reader->found))
        return fail(reader, many        ? "more than one such table"
                            : count > 2 ? "a table in the table"
                                        : "the table comes twice");
    reader->found |= ours;
    return end_line(reader);
}

static bool add_text(struct reader *reader)
{
    struct tp_text text = {0};
    if (!at(reader, '"') && !at(reader, '\''))
        return fail(reader, "a list holds what is no text");
    bool read = read_string(reader, &text);
    const char *copy = read ? tp_arena_take(reader->arena, &text) : NULL;
    tp_text_clear(&text);
    if (!read)
        return false;
    if (!copy ||
        tp_grow(&reader->texts, &reader->text_capacity, reader->text_count + 1,
                sizeof *reader->texts, NULL) != TP_OK)
        return fail_memory(reader);
    reader->texts[reader->text_count++] = copy;
    return true;
}

static bool read_list(struct reader *reader)
{
    reader->p++;
    for (pass_lines(reader); !at(reader, ']'); pass_lines(reader)) {
        if (reader->p == reader->end)
            return fail(reader, "a list that is never closed");
        if (!add_text(reader))
            return false;
        pass_lines(reader);
        if (at(reader, ','))
            reader->p++;
        else if (!at(reader, ']') && reader->p < reader->end)
            return fail(reader, "a comma is missing");
    }
    reader->p++;
    return true;
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->p) < size ||
        memcmp(reader->p, word, size) != 0)
        return false;
    reader->p += size;
    return true;
}

static bool read_value(struct reader *reader, struct tp_toml_entry *entry)
{
    bool read = true;
    reader->text_count = 0;
    if (at(reader, '[')) {
        entry->kind = TP_TOML_LIST;
        read = read_list(reader);
    } else if (at(reader, '"') || at(reader, '\'')) {
        entry->kind = TP_TOML_TEXT;
        read = add_text(reader);
    } else {
        entry->kind = TP_TOML_BOOL;
        entry->truth = take_word(reader, "true");
        if (!entry->truth && !take_word(reader, "false"))
            return fail(reader, "a value that is no text, list or bool");
    }
    const char **texts =
        tp_arena_alloc(reader->arena, (reader->text_count + 1) * sizeof *texts);
    if (!read || !texts)
        return read ? fail_memory(reader) : false;
    if (reader->text_count > 0)
        memcpy(texts, reader->texts, reader->text_count * sizeof *texts);
    entry->texts = texts;
    entry->count = reader->text_count;
    return end_line(reader);
}

static bool read_pair(struct reader *reader)
{
    const char *parts[MOST_KEYS];
    size_t count;
    struct tp_toml_entry entry = {.line = reader->line};
    if (!read_key(reader, parts, &count))
        return false;
    if (!at(reader, '='))
        return fail(reader, "a key without a value");
    reader->p++;
    pass_blanks(reader);
    if (reader->place != IN_OURS) {
        if ((reader->place == AT_ROOT && is_ours(reader, parts, count, 0)) ||
            (reader->place == IN_TOOL && is_ours(reader, parts, count, 1)))
            return fail(reader, "write such keys below a header of their own");
        return pass_value(reader);
    }
    entry.key = parts[0];
    if (count > 1)
        return fail(reader, "a key with a point");
    if (reader->count == MOST_ENTRIES)
        return fail(reader, "too many keys");
    for (size_t i = 0; i < reader->count; i++) {
        if (!strcmp(reader->entries[i].key, entry.key))
            return fail(reader, "a key comes twice");
    }
    if (!read_value(reader, &entry))
        return false;
    if (tp_grow(&reader->entries, &reader->capacity, reader->count + 1,
                sizeof *reader->entries, NULL) != TP_OK)
        return fail_memory(reader);
    reader->entries[reader->count++] = entry;
    return true;
}

enum tp_status tp_toml_read(const struct tp_toml_source *source,
                            struct tp_arena *arena, struct tp_toml_table *table,
                            struct tp_error *err)
{
    struct reader reader = {.p = source->text,
                            .end = source->text + source->length,
                            .line = 1,
                            .name = source->name,
                            .arena = arena,
                            .err = err};
    if (source->length >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3))
        reader.p += 3;
    for (pass_lines(&reader); reader.p < reader.end; pass_lines(&reader)) {
        if (!(at(&reader, '[') ? read_header(&reader) : read_pair(&reader)))
            break;
    }
    free(reader.texts);
    *table = (struct tp_toml_table){reader.entries, reader.count, reader.found};
    return reader.status;
}
