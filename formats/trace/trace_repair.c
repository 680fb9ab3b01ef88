/* SPDX-License-Identifier: MIT */
#include "formats/trace/trace_repair.h"

#include <string.h>

#include "formats/trace/trace_cut.h"

/* simdjson's own limit for documents; events of profilers need 5. */
enum { DEPTH_MAX = 1024 };

/* Keys longer than this are none. */
enum { KEY_MAX = 256 };

struct repair {
    const char *text;
    size_t length, at;
    int64_t offset;
    struct tp_text *out;
    struct tp_trace_repairs *repairs;
    size_t depth;
    char open[DEPTH_MAX]; /* '{' or '[' */
};

/* What may come next. */
enum expect { EXPECT_VALUE, EXPECT_KEY, EXPECT_COMMA, EXPECT_NOTHING, BROKEN };

static void count(struct repair *repair, enum tp_repair kind)
{
    struct tp_trace_repairs *repairs = repair->repairs;
    if (repairs->count[kind]++ == 0)
        repairs->first[kind] = repair->offset + (int64_t)repair->at;
}

static void emit(struct repair *repair, const char *bytes, size_t length)
{
    tp_text_bytes(repair->out, bytes, length);
}

/* The byte behind white space from `at` on; 0 at or beyond the end. */
static char peek(const struct repair *repair, size_t *at)
{
    *at = tp_trace_skip(repair->text, *at, repair->length);
    return *at < repair->length ? repair->text[*at] : '\0';
}

static bool in_object(const struct repair *repair)
{
    return repair->depth > 0 && repair->open[repair->depth - 1] == '{';
}

/* --- strings ------------------------------------------------------------ */

/* Whether text[at] begins  "key" :  */
static bool is_key(const struct repair *repair, size_t at)
{
    const char *text = repair->text;
    size_t limit = repair->length;
    if (at >= limit || text[at] != '"')
        return false;
    if (limit - at > KEY_MAX)
        limit = at + KEY_MAX;
    for (at++; at < limit && text[at] != '"'; at++) {
    }
    at++;
    return peek(repair, &at) == ':';
}

/* Whether a quote at `at` can end the string; `is_value`: else a key. */
static bool can_close(const struct repair *repair, size_t at, bool is_value)
{
    at++;
    char c = peek(repair, &at);
    if (!is_value)
        return c == ':';
    if (c == '}' || c == ']') {
        at++;
        char behind = peek(repair, &at);
        return in_object(repair) == (c == '}') &&
               (behind == ',' || behind == '}' || behind == ']' ||
                at == repair->length);
    }
    if (c != ',')
        return false;
    at++;
    c = peek(repair, &at);
    if (c == ',' || c == '}' || c == ']')
        return true; /* a comma too many */
    if (in_object(repair))
        return c && is_key(repair, at);
    return c && strchr("\"-0123456789[{tfnNiI", c);
}

/* As can_close, for a quote with a backslash before it: it must be certain
 * that a string cannot go on, since it says that it does. */
static bool must_close(const struct repair *repair, size_t at, bool is_value)
{
    if (!is_value || !in_object(repair))
        return false;
    at++;
    char c = peek(repair, &at);
    at++;
    if (c == '}') { /* "} , { "key": */
        char comma = peek(repair, &at);
        at++;
        char brace = peek(repair, &at);
        at++;
        if (comma != ',' || brace != '{')
            return false;
    } else if (c != ',') {
        return false;
    }
    return peek(repair, &at) == '"' && is_key(repair, at);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The code of \uXXXX at `at`, -1 when it is none. */
static int32_t unicode_escape(const struct repair *repair, size_t at)
{
    const char *text = repair->text;
    int32_t code = 0;
    if (repair->length - at < 6 || text[at] != '\\' || text[at + 1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        if (hex(text[at + (size_t)i]) < 0)
            return -1;
        code = code * 16 + hex(text[at + (size_t)i]);
    }
    return code;
}

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Copies \uXXXX, both halves of a pair; a half alone is replaced. */
static void copy_unicode(struct repair *repair, int32_t code)
{
    size_t length = 6;
    bool half = code >= 0xd800 && code <= 0xdfff;
    if (half && code < 0xdc00 && repair->length - repair->at >= 12) {
        int32_t second = unicode_escape(repair, repair->at + 6);
        half = second < 0xdc00 || second > 0xdfff;
        length = half ? 6 : 12;
    }
    if (half) {
        count(repair, TP_REPAIR_UTF8);
        emit(repair, replacement, 3);
    } else {
        emit(repair, repair->text + repair->at, length);
    }
    repair->at += length;
}

/* At a backslash. True when the string ends here. */
static bool copy_escape(struct repair *repair, bool is_value)
{
    size_t at = repair->at;
    char next = at + 1 < repair->length ? repair->text[at + 1] : '\0';
    int32_t code = unicode_escape(repair, at);
    if (next == '"' && must_close(repair, at + 1, is_value)) {
        count(repair, TP_REPAIR_ESCAPE);
        emit(repair, "\\\\\"", 3);
        repair->at += 2;
        return true;
    }
    if (code >= 0) {
        copy_unicode(repair, code);
    } else if (next && strchr("\"\\/bfnrt", next)) {
        emit(repair, repair->text + at, 2);
        repair->at += 2;
    } else {
        count(repair, TP_REPAIR_ESCAPE);
        emit(repair, "\\\\", 2);
        repair->at++;
    }
    return false;
}

/* One byte, or one sequence, of a string that is no quote or backslash. */
static void copy_character(struct repair *repair)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char)repair->text[repair->at];
    if (c < 0x20) {
        char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        count(repair, TP_REPAIR_CONTROL);
        emit(repair, escape, sizeof escape);
        repair->at++;
        return;
    }
    size_t length =
        tp_utf8_step(repair->text + repair->at, repair->length - repair->at);
    if (length) {
        emit(repair, repair->text + repair->at, length);
        repair->at += length;
    } else {
        count(repair, TP_REPAIR_UTF8);
        emit(repair, replacement, 3);
        repair->at++;
    }
}

/* Copies the string at `at`; false when it does not end. */
static bool copy_string(struct repair *repair, bool is_value)
{
    emit(repair, "\"", 1);
    repair->at++;
    while (repair->at < repair->length && !repair->out->failed) {
        char c = repair->text[repair->at];
        if (c == '\\') {
            if (copy_escape(repair, is_value))
                return true;
        } else if (c != '"') {
            copy_character(repair);
        } else if (can_close(repair, repair->at, is_value)) {
            emit(repair, "\"", 1);
            repair->at++;
            return true;
        } else {
            count(repair, TP_REPAIR_QUOTE);
            emit(repair, "\\\"", 2);
            repair->at++;
        }
    }
    return false;
}

/* --- other values ------------------------------------------------------- */

static size_t digits_end(const char *text, size_t at, size_t end)
{
    while (at < end && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Whether text[at, end) is a number as JSON has it. */
static bool is_number(const char *text, size_t at, size_t end)
{
    at += at < end && text[at] == '-';
    size_t first = at;
    at = digits_end(text, at, end);
    if (at == first || (text[first] == '0' && at > first + 1))
        return false;
    if (at < end && text[at] == '.') {
        first = ++at;
        at = digits_end(text, at, end);
        if (at == first)
            return false;
    }
    if (at < end && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < end && (text[at] == '+' || text[at] == '-');
        first = at;
        at = digits_end(text, at, end);
        if (at == first)
            return false;
    }
    return at == end;
}

/* A number or a word. What is no JSON, such as N/A or inf, becomes null. */
static bool copy_word(struct repair *repair)
{
    size_t end = tp_trace_value_end(repair->text, repair->at, repair->length);
    size_t length = end - repair->at;
    const char *word = repair->text + repair->at;
    if (end == 0)
        return false;
    if (is_number(repair->text, repair->at, end) ||
        (length == 4 && memcmp(word, "true", 4) == 0) ||
        (length == 4 && memcmp(word, "null", 4) == 0) ||
        (length == 5 && memcmp(word, "false", 5) == 0)) {
        emit(repair, word, length);
    } else {
        count(repair, TP_REPAIR_NUMBER);
        emit(repair, "null", 4);
    }
    repair->at = end;
    return true;
}

/* --- structure ---------------------------------------------------------- */

static enum expect open_container(struct repair *repair, char c)
{
    if (repair->depth == DEPTH_MAX)
        return BROKEN;
    repair->open[repair->depth++] = c;
    emit(repair, &c, 1);
    repair->at++;
    if (c == '{')
        return EXPECT_KEY;
    return peek(repair, &repair->at) == ']' ? EXPECT_COMMA : EXPECT_VALUE;
}

static enum expect close_container(struct repair *repair, char c)
{
    if (repair->depth == 0 || in_object(repair) != (c == '}'))
        return BROKEN;
    repair->depth--;
    emit(repair, &c, 1);
    repair->at++;
    return repair->depth ? EXPECT_COMMA : EXPECT_NOTHING;
}

static enum expect read_value(struct repair *repair, char c)
{
    if (c == '{' || c == '[')
        return open_container(repair, c);
    if (c == '"')
        return copy_string(repair, true) ? EXPECT_COMMA : BROKEN;
    if (c == ',' || c == '}' || c == ']') { /* nothing there */
        count(repair, TP_REPAIR_COMMA);
        emit(repair, "null", 4);
        return EXPECT_COMMA;
    }
    return copy_word(repair) ? EXPECT_COMMA : BROKEN;
}

static enum expect read_key(struct repair *repair, char c)
{
    if (c == '}')
        return close_container(repair, c);
    if (c == ',') { /* one too many */
        count(repair, TP_REPAIR_COMMA);
        repair->at++;
        return EXPECT_KEY;
    }
    if (c != '"' || !copy_string(repair, false) ||
        peek(repair, &repair->at) != ':')
        return BROKEN;
    emit(repair, ":", 1);
    repair->at++;
    return EXPECT_VALUE;
}

static enum expect read_comma(struct repair *repair, char c)
{
    if (c == '}' || c == ']')
        return close_container(repair, c);
    if (c != ',')
        return BROKEN;
    size_t behind = repair->at + 1;
    char next = peek(repair, &behind);
    if (next == ',' || next == '}' || next == ']') {
        count(repair, TP_REPAIR_COMMA);
        repair->at++;
        return EXPECT_COMMA;
    }
    emit(repair, ",", 1);
    repair->at++;
    return in_object(repair) ? EXPECT_KEY : EXPECT_VALUE;
}

size_t tp_trace_repair(const char *text, size_t length, int64_t offset,
                       struct tp_text *out, struct tp_trace_repairs *repairs)
{
    struct repair repair = {.text = text,
                            .length = length,
                            .offset = offset,
                            .out = out,
                            .repairs = repairs};
    enum expect expect = EXPECT_VALUE;
    memset(repairs, 0, sizeof *repairs);
    out->length = 0;
    if (length == 0 || text[0] != '{')
        return 0;
    while (expect != BROKEN && expect != EXPECT_NOTHING && !out->failed) {
        char c = peek(&repair, &repair.at);
        if (repair.at == length)
            return 0;
        if (expect == EXPECT_VALUE)
            expect = read_value(&repair, c);
        else if (expect == EXPECT_KEY)
            expect = read_key(&repair, c);
        else
            expect = read_comma(&repair, c);
    }
    return expect == EXPECT_NOTHING && !out->failed ? repair.at : 0;
}

void tp_trace_repairs_count(const struct tp_trace_repairs *repairs,
                            struct tp_events *events)
{
    for (int i = 0; i < TP_REPAIRS; i++) {
        if (repairs->count[i] == 0)
            continue;
        tp_events_repaired(events, (enum tp_repair)i, repairs->first[i]);
        events->repairs[i] += repairs->count[i] - 1;
    }
}
