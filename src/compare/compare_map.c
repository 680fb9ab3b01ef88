/* SPDX-License-Identifier: MIT */
/*
 * A reader of lines. YAML would be a library for a form that is two names and
 * a colon, and a heading above indented lines; what else YAML has is refused
 * with the line, as is what would have to be guessed. Rules are tried from the
 * longest on, so that a name that is mapped whole is not changed by a rule for
 * a part of it. Cost: a search of each name for each rule; there are some
 * dozens of them.
 */
#include "compare/compare_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/order.h"

/* A part of a line. */
struct part {
    const char *at;
    size_t length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct part trim(struct part part)
{
    while (part.length && is_blank(part.at[0])) {
        part.at++;
        part.length--;
    }
    while (part.length && is_blank(part.at[part.length - 1]))
        part.length--;
    return part;
}

/* Without a comment: '#' at the beginning or behind a blank. */
static struct part without_comment(struct part line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.at[i] == '#' && (i == 0 || is_blank(line.at[i - 1])))
            line.length = i;
    return line;
}

/* The same without its quotes, if it has some around it. */
static struct part without_quotes(struct part part)
{
    const char quote = part.length >= 2 ? part.at[0] : '\0';
    if ((quote == '"' || quote == '\'') && part.at[part.length - 1] == quote)
        part = (struct part){part.at + 1, part.length - 2};
    return part;
}

/* Where the colon is that ends the left side; the length: there is none. */
static size_t find_colon(struct part line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.at[i] == ':' &&
            (i + 1 == line.length || is_blank(line.at[i + 1])))
            return i;
    return line.length;
}

/* A text on the way through. */
struct reader {
    struct tp_compare_map *map;
    const char *layer; /* whose lines follow; NULL: none                   */
    size_t heading;    /* its line                                         */
    size_t outer;      /* blanks before it                                 */
    size_t inner;      /* blanks before its lines; 0: there was none yet   */
    struct tp_error *err;
};

static enum tp_status add_rule(struct reader *reader, struct part left,
                               struct part right, size_t line)
{
    struct tp_compare_map *map = reader->map;
    enum tp_status status = tp_grow(&map->rules, &map->capacity, map->count + 1,
                                    sizeof *map->rules, reader->err);
    if (status != TP_OK)
        return status;
    struct tp_compare_rule rule = {
        reader->layer, tp_arena_text(&map->arena, left.at, left.length),
        tp_arena_text(&map->arena, right.at, right.length), line};
    if (!rule.left || !rule.right)
        return tp_fail_memory(reader->err);
    map->rules[map->count++] = rule;
    map->flat += !rule.layer;
    return TP_OK;
}

/* A heading without lines maps nothing, and is a slip. */
static enum tp_status end_layer(struct reader *reader)
{
    if (reader->layer && reader->inner == 0)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: there is no name behind the colon, and no "
                       "indented line below it",
                       reader->heading);
    reader->layer = NULL;
    return TP_OK;
}

/* CLASS: what follows is indented further. */
static enum tp_status begin_layer(struct reader *reader, struct part name,
                                  size_t blanks, size_t line)
{
    if (reader->layer)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: there is no name behind the colon; below a "
                       "class are names only, no further class",
                       line);
    if (name.length == 4 && !memcmp(name.at, "Cell", 4))
        name = (struct part){TP_COMPARE_TOP_LAYER,
                             sizeof TP_COMPARE_TOP_LAYER - 1};
    reader->layer = tp_arena_text(&reader->map->arena, name.at, name.length);
    reader->heading = line;
    reader->outer = blanks;
    reader->inner = 0;
    return reader->layer ? TP_OK : tp_fail_memory(reader->err);
}

/* Whether a line is still below the heading; ends that if not. */
static enum tp_status place_line(struct reader *reader, struct part whole,
                                 size_t blanks, size_t number)
{
    if (!reader->layer)
        return TP_OK;
    if (blanks && memchr(whole.at, '\t', blanks))
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: a tab before a name; only blanks indent",
                       number);
    if (blanks <= reader->outer)
        return end_layer(reader);
    if (reader->inner == 0)
        reader->inner = blanks;
    if (blanks != reader->inner)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: indented by %zu, the lines above by %zu",
                       number, blanks, reader->inner);
    return TP_OK;
}

/* Whether a right side is another form of YAML: a map, a list, a text of
 * several lines, a reference. */
static bool is_other_form(struct part right)
{
    return memchr("{[&*|>!", right.at[0], 7) != NULL;
}

/* Without what is behind a '(', the class in B. */
static struct part without_class(struct part right)
{
    const char *paren = memchr(right.at, '(', right.length);
    return paren ? trim((struct part){right.at, (size_t)(paren - right.at)})
                 : right;
}

static enum tp_status read_pair(struct reader *reader, struct part line,
                                size_t colon, size_t blanks, size_t number)
{
    const struct part left =
        without_quotes(trim((struct part){line.at, colon}));
    const struct part behind =
        trim((struct part){line.at + colon + 1, line.length - colon - 1});
    struct part right = without_quotes(behind);
    if (left.length == 0)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: there is no name before the colon", number);
    if (behind.length == 0)
        return begin_layer(reader, left, blanks, number);
    if (is_other_form(behind))
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: a name was expected behind the colon, "
                       "without '%c'; names of a class stand below it, "
                       "indented",
                       number, behind.at[0]);
    if (reader->layer)
        right = without_class(right);
    if (right.length == 0)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: the name behind the colon is empty", number);
    return add_rule(reader, left, right, number);
}

static enum tp_status read_line(struct reader *reader, struct part whole,
                                size_t number)
{
    const struct part line = trim(without_comment(whole));
    const size_t blanks = (size_t)(line.at - whole.at);
    if (line.length == 0)
        return TP_OK;
    if (memchr(line.at, '\0', line.length))
        return tp_fail(reader->err, TP_E_USAGE, -1, "line %zu: this is no text",
                       number);
    const size_t colon = find_colon(line);
    if (colon == line.length)
        return tp_fail(reader->err, TP_E_USAGE, -1,
                       "line %zu: 'LEFT: RIGHT' was expected, a colon and a "
                       "blank between two names",
                       number);
    enum tp_status status = place_line(reader, whole, blanks, number);
    return status == TP_OK ? read_pair(reader, line, colon, blanks, number)
                           : status;
}

/* NULL is before all classes. */
static int compare_layers(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_rules(const void *left, const void *right)
{
    const struct tp_compare_rule *a = left, *b = right;
    int result = compare_layers(a->layer, b->layer);
    if (result == 0)
        result = tp_order_size(strlen(b->left), strlen(a->left));
    if (result == 0)
        result = strcmp(a->left, b->left);
    return result ? result : tp_order_size(a->line, b->line);
}

static enum tp_status check_rules(const struct tp_compare_map *map,
                                  struct tp_error *err)
{
    for (size_t i = 1; i < map->count; i++) {
        const struct tp_compare_rule *a = &map->rules[i - 1], *b = a + 1;
        if (!compare_layers(a->layer, b->layer) && !strcmp(a->left, b->left))
            return tp_fail(err, TP_E_USAGE, -1,
                           "line %zu: '%s' was mapped in line %zu already",
                           b->line, b->left, a->line);
    }
    return TP_OK;
}

enum tp_status tp_compare_map_parse(const char *text, size_t length,
                                    struct tp_compare_map *map,
                                    struct tp_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
    struct reader reader = {.map = map, .err = err};
    enum tp_status status = TP_OK;
    size_t number = 0, at = 0;
    if (length >= 3 && !memcmp(text, mark, 3))
        at = 3;
    while (at < length && status == TP_OK) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - text) - at : length - at;
        status = read_line(&reader, (struct part){text + at, size}, ++number);
        at += size + 1;
    }
    if (status == TP_OK)
        status = end_layer(&reader);
    if (status == TP_OK && map->count)
        qsort(map->rules, map->count, sizeof *map->rules, compare_rules);
    return status == TP_OK ? check_rules(map, err) : status;
}

enum tp_status tp_compare_map_read(const char *path, struct tp_compare_map *map,
                                   struct tp_error *err)
{
    char *text;
    size_t length;
    enum tp_status status = tp_bytes_load(
        path, "a file of names", TP_LIMIT_MAP_BYTES, &text, &length, err);
    if (status == TP_OK)
        status = tp_compare_map_parse(text, length, map, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    free(text);
    return status;
}

/* Where some components of a name are these; NULL: nowhere. */
static const char *find_components(const char *name, const char *components)
{
    const size_t length = strlen(components);
    const char *at = strstr(name, components);
    while (at && !((at == name || at[-1] == '.') &&
                   (at[length] == '.' || at[length] == '\0')))
        at = strstr(at + 1, components);
    return at;
}

const char *tp_compare_map_name(const struct tp_compare_map *map,
                                const char *name, struct tp_arena *arena,
                                bool *whole)
{
    *whole = false;
    for (size_t i = 0; i < map->flat; i++) {
        const struct tp_compare_rule *rule = &map->rules[i];
        const char *at = find_components(name, rule->left);
        if (!at)
            continue;
        const size_t head = (size_t)(at - name), left = strlen(rule->left);
        const size_t right = strlen(rule->right), tail = strlen(at + left);
        char *made = tp_arena_alloc(arena, head + right + tail + 1);
        if (!made)
            return NULL;
        memcpy(made, name, head);
        memcpy(made + head, rule->right, right);
        memcpy(made + head + right, at + left, tail + 1);
        *whole = head == 0 && tail == 0;
        return made;
    }
    return name;
}

void tp_compare_map_clear(struct tp_compare_map *map)
{
    free(map->rules);
    tp_arena_clear(&map->arena);
    memset(map, 0, sizeof *map);
}
