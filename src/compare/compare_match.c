/* SPDX-License-Identifier: MIT */
/*
 * Names of both sides become numbers (compare_group.c), and matching is then a
 * matter of lists: the rows of B under each number, in their order, from which
 * rows of A with that number take the first. Fuzzy matching leaves the number
 * of the call out of the name and goes through both sides side by side: the
 * row that came last is matched with the first one waiting on the other side,
 * and what was waiting before either is passed over, so that a call more on one
 * side shifts nothing behind it. msprobe searches the waiting rows one by one;
 * here each name has a list of its own. Cost: an index of the names.
 */
#include "compare/compare_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "compare/compare_group.h"
#include "compare/compare_modules.h"

const char *const tp_compare_by_words[] = {"name", "content", NULL};

/* Rows that wait for a partner: of each name a list, in their order. */
struct waiting {
    size_t *first, *last; /* [names] rows; TP_COMPARE_NONE: none            */
    size_t *next;         /* [rows] behind each one                         */
    size_t start, end;    /* rows that wait                                 */
};

struct matcher {
    const struct tp_compare_entries *a, *b;
    const struct tp_compare_match_options *options;
    struct tp_compare_partner *partners;
    struct tp_arena arena; /* owns the names                                */
    struct tp_compare_modules layers; /* of a map with classes               */
    const char **names; /* of A, then of B                               */
    size_t *groups;     /* of the same                                   */
    size_t group_count;
    bool *whole; /* of A: the map gives its whole name                      */
};

/* --- names ---------------------------------------------------------------- */

/* A name without the number of its call. NULL: no memory. */
static const char *fuzzy_name(struct tp_arena *arena, const char *name)
{
    struct tp_msprobe_name parsed;
    const size_t length = strlen(name);
    if (!tp_msprobe_name_parse(name, length, &parsed) || parsed.number < 0)
        return name;
    struct tp_text text = {0};
    tp_text_add(&text, "%.*s.%.*s.%.*s.%d.%s", (int)parsed.type.length,
                parsed.type.at, (int)parsed.path.length, parsed.path.at,
                (int)parsed.class_name.length, parsed.class_name.at,
                parsed.direction, name + parsed.call.length);
    return tp_arena_take(arena, &text);
}

static const char *name_in_b(struct matcher *m, size_t row)
{
    const char *name = m->a->rows[row].key;
    if (m->options->map)
        name = tp_compare_map_name(m->options->map, name, &m->arena,
                                   &m->whole[row]);
    if (name && m->layers.map) /* a name that was mapped is one of B */
        name = tp_compare_modules_name(&m->layers, name,
                                       name == m->a->rows[row].key, &m->arena);
    return name && m->options->fuzzy ? fuzzy_name(&m->arena, name) : name;
}

static const char *name_of_b(struct matcher *m, size_t row)
{
    const char *name = m->b->rows[row].key;
    if (m->layers.map)
        name = tp_compare_modules_name(&m->layers, name, false, &m->arena);
    return name && m->options->fuzzy ? fuzzy_name(&m->arena, name) : name;
}

static enum tp_status make_names(struct matcher *m, struct tp_error *err)
{
    const struct tp_compare_map *map = m->options->map;
    const size_t all = m->a->count + m->b->count;
    enum tp_status status = TP_OK;
    if (map && map->count > map->flat)
        status = tp_compare_modules_init(map, m->a, &m->layers, err);
    if (status != TP_OK)
        return status;
    m->names = calloc(all + 1, sizeof *m->names);
    m->groups = calloc(all + 1, sizeof *m->groups);
    m->whole = calloc(m->a->count + 1, sizeof *m->whole);
    bool complete = m->names && m->groups && m->whole;
    for (size_t i = 0; i < all && complete; i++) {
        const size_t row = i - m->a->count;
        m->names[i] = i < m->a->count ? name_in_b(m, i) : name_of_b(m, row);
        complete = m->names[i] != NULL;
    }
    return complete ? tp_compare_group(m->names, all, m->groups,
                                       &m->group_count, err)
                    : tp_fail_memory(err);
}

/* --- lists of waiting rows ------------------------------------------------ */

static bool waiting_init(struct waiting *list, size_t names, size_t rows)
{
    *list = (struct waiting){.first = malloc((names + 1) * sizeof(size_t)),
                             .last = malloc((names + 1) * sizeof(size_t)),
                             .next = malloc((rows + 1) * sizeof(size_t))};
    for (size_t i = 0; list->first && i < names; i++)
        list->first[i] = TP_COMPARE_NONE;
    return list->first && list->last && list->next;
}

static void waiting_clear(struct waiting *list)
{
    free(list->first);
    free(list->last);
    free(list->next);
}

/* The row that is next, of this name, waits from now on. */
static void wait_for(struct waiting *list, size_t name)
{
    const size_t row = list->end++;
    list->next[row] = TP_COMPARE_NONE;
    if (list->first[name] == TP_COMPARE_NONE)
        list->first[name] = row;
    else
        list->next[list->last[name]] = row;
    list->last[name] = row;
}

/* The first row of this name that waits; TP_COMPARE_NONE. */
static size_t first_of(struct waiting *list, size_t name)
{
    size_t *first = &list->first[name];
    while (*first != TP_COMPARE_NONE && *first < list->start)
        *first = list->next[*first];
    return *first;
}

static bool has_waiting(const struct waiting *list)
{
    return list->start < list->end;
}

/* --- matching ------------------------------------------------------------- */

/* Rows of one name, in their order. */
static void match_by_name(struct matcher *m, struct waiting *b)
{
    for (size_t i = 0; i < m->b->count; i++)
        wait_for(b, m->groups[m->a->count + i]);
    for (size_t i = 0; i < m->a->count; i++) {
        size_t *first = &b->first[m->groups[i]];
        m->partners[i].b = *first;
        if (*first != TP_COMPARE_NONE)
            *first = b->next[*first];
    }
}

static void pair_up(struct matcher *m, struct waiting *a, struct waiting *b,
                    size_t row_a, size_t row_b)
{
    m->partners[row_a].b = row_b;
    a->start = row_a + 1;
    b->start = row_b + 1;
}

/* The rows that came last find their partners, A's first. */
static void match_last(struct matcher *m, struct waiting *a, struct waiting *b)
{
    if (!has_waiting(a) || !has_waiting(b))
        return;
    const size_t last_a = a->end - 1, last_b = b->end - 1;
    const size_t in_b = first_of(b, m->groups[last_a]);
    const size_t in_a = first_of(a, m->groups[m->a->count + last_b]);
    if (in_b != TP_COMPARE_NONE)
        pair_up(m, a, b, last_a, in_b);
    else if (in_a != TP_COMPARE_NONE)
        pair_up(m, a, b, in_a, last_b);
}

static void match_fuzzy(struct matcher *m, struct waiting *a, struct waiting *b)
{
    for (size_t i = 0; i < m->a->count || i < m->b->count; i++) {
        if (i < m->a->count)
            wait_for(a, m->groups[i]);
        if (i < m->b->count)
            wait_for(b, m->groups[m->a->count + i]);
        match_last(m, a, b);
    }
}

static bool is_float(const char *dtype)
{
    return !strcmp(dtype, "torch.float16") || !strcmp(dtype, "torch.float32") ||
           !strcmp(dtype, "torch.float64") || !strcmp(dtype, "torch.bfloat16");
}

/* Takes partners away whose dtypes cannot be compared. */
static void check_dtypes(struct matcher *m)
{
    for (size_t i = 0; i < m->a->count; i++) {
        struct tp_compare_partner *partner = &m->partners[i];
        if (partner->b == TP_COMPARE_NONE || m->whole[i])
            continue;
        const char *a = m->a->rows[i].dtype;
        const char *b = m->b->rows[partner->b].dtype;
        partner->dtypes = strcmp(a, b) != 0 && !(is_float(a) && is_float(b));
        if (partner->dtypes)
            partner->b = TP_COMPARE_NONE;
    }
}

enum tp_status tp_compare_match(const struct tp_compare_entries *a,
                                const struct tp_compare_entries *b,
                                const struct tp_compare_match_options *options,
                                struct tp_compare_partner *partners,
                                struct tp_error *err)
{
    struct matcher m = {
        .a = a, .b = b, .options = options, .partners = partners};
    struct waiting of_a = {0}, of_b = {0};
    for (size_t i = 0; i < a->count; i++)
        partners[i] = (struct tp_compare_partner){TP_COMPARE_NONE, false};
    enum tp_status status = make_names(&m, err);
    if (status == TP_OK && (!waiting_init(&of_a, m.group_count, a->count) ||
                            !waiting_init(&of_b, m.group_count, b->count)))
        status = tp_fail_memory(err);
    if (status == TP_OK && options->fuzzy)
        match_fuzzy(&m, &of_a, &of_b);
    else if (status == TP_OK)
        match_by_name(&m, &of_b);
    if (status == TP_OK)
        check_dtypes(&m);
    waiting_clear(&of_a);
    waiting_clear(&of_b);
    free(m.names);
    free(m.groups);
    free(m.whole);
    tp_compare_modules_clear(&m.layers);
    tp_arena_clear(&m.arena);
    return status;
}
