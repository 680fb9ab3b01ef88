/* SPDX-License-Identifier: MIT */
/*
 * A name without one of its numbers is the name of a family: "w.3.up" is of
 * "w.#.up", and so a tensor is of as many families as its name has numbers,
 * besides that of its key. Which of them means shards is not decided here: the
 * sum of digests says so. Cost: a sort of some names a tensor.
 */
#include "compare/content_unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"

/* --- names ---------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int tp_content_natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            const size_t x = strspn(a, "0123456789");
            const size_t y = strspn(b, "0123456789");
            const int result = x == y ? strncmp(a, b, x) : tp_order_size(x, y);
            if (result)
                return result;
            a += x;
            b += y;
        } else if (*a != *b) {
            return (unsigned char)*a - (unsigned char)*b;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* Words are runs of letters and runs of digits; those of a name beyond these
 * count as not there. */
enum { WORDS = 48 };

struct words {
    struct {
        const char *at;
        size_t length;
    } words[WORDS];
    size_t count;
};

static struct words words_of(const char *text)
{
    struct words words = {.count = 0};
    while (*text && words.count < WORDS) {
        const char *from = text;
        if (is_digit(*text))
            while (is_digit(*text))
                text++;
        else
            while (isalpha((unsigned char)*text))
                text++;
        if (text == from) {
            text++;
            continue;
        }
        words.words[words.count].at = from;
        words.words[words.count++].length = (size_t)(text - from);
    }
    return words;
}

double tp_content_alike(const char *a, const char *b)
{
    if (!strcmp(a, b))
        return 2;
    const struct words x = words_of(a), y = words_of(b);
    bool taken[WORDS] = {false};
    size_t common = 0;
    for (size_t i = 0; i < x.count; i++)
        for (size_t k = 0; k < y.count; k++) {
            if (taken[k] || x.words[i].length != y.words[k].length ||
                memcmp(x.words[i].at, y.words[k].at, x.words[i].length) != 0)
                continue;
            taken[k] = true;
            common++;
            break;
        }
    const size_t all = x.count + y.count;
    return all ? 2 * (double)common / (double)all : 0;
}

/* --- families ------------------------------------------------------------- */

/* A tensor under the name of a family. */
struct member {
    const char *family;
    const struct tp_content_tensor *tensor;
};

struct maker {
    const struct tp_content_side *side;
    struct tp_content_units *units;
    struct member *members;
    size_t count, capacity;
};

static enum tp_status add_member(struct maker *m, const char *family,
                                 const struct tp_content_tensor *tensor,
                                 struct tp_error *err)
{
    enum tp_status status = tp_grow(&m->members, &m->capacity, m->count + 1,
                                    sizeof *m->members, err);
    if (status != TP_OK)
        return status;
    if (!family)
        return tp_fail_memory(err);
    m->members[m->count++] = (struct member){family, tensor};
    return TP_OK;
}

/* Adds the families that leave a number out. */
static enum tp_status add_numbered(struct maker *m,
                                   const struct tp_content_tensor *tensor,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    const char *full = tensor->full;
    for (const char *at = full; *at && status == TP_OK;) {
        const size_t digits = strspn(at, "0123456789");
        struct tp_text text = {0};
        if (digits == 0) {
            at++;
            continue;
        }
        tp_text_bytes(&text, full, (size_t)(at - full));
        tp_text_add(&text, "#%s %s", at + digits, tensor->shape_text);
        status = add_member(m,
                            text.failed ? NULL
                                        : tp_arena_text(&m->units->arena,
                                                        text.data, text.length),
                            tensor, err);
        tp_text_clear(&text);
        at += digits;
    }
    return status;
}

static enum tp_status list_members(struct maker *m, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < m->side->count && status == TP_OK; i++) {
        const struct tp_content_tensor *tensor = &m->side->tensors[i];
        if (tensor->name != tensor->key) /* that key is there several times */
            status = add_member(m, tensor->key, tensor, err);
        if (status == TP_OK)
            status = add_numbered(m, tensor, err);
    }
    return status;
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int result = strcmp(a->family, b->family);
    if (result == 0)
        result = tp_order_int64(a->tensor->dtype, b->tensor->dtype);
    if (result == 0)
        result = tp_content_natural(a->tensor->full, b->tensor->full);
    return result ? result : tp_order_place(a->tensor, b->tensor);
}

static enum tp_status add_unit(struct tp_content_units *units,
                               const size_t *items, size_t count, int64_t numel,
                               struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&units->units, &units->capacity, units->count + 1,
                sizeof *units->units, err);
    if (status == TP_OK)
        units->units[units->count++] =
            (struct tp_content_unit){items, count, numel};
    return status;
}

/* Whether two neighbours are of one family. */
static bool are_kin(const struct member *a, const struct member *b)
{
    return !strcmp(a->family, b->family) &&
           a->tensor->dtype == b->tensor->dtype;
}

static enum tp_status add_families(struct maker *m, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < m->count && status == TP_OK; i = end) {
        for (end = i + 1; end < m->count;)
            if (are_kin(&m->members[i], &m->members[end]))
                end++;
            else
                break;
        if (end - i < 2)
            continue;
        size_t *items =
            tp_arena_alloc(&m->units->arena, (end - i) * sizeof *items);
        int64_t numel = 0;
        if (!items)
            return tp_fail_memory(err);
        for (size_t k = i; k < end; k++) {
            items[k - i] = (size_t)(m->members[k].tensor - m->side->tensors);
            numel += m->members[k].tensor->numel;
        }
        status = add_unit(m->units, items, end - i, numel, err);
    }
    return status;
}

enum tp_status tp_content_units_make(const struct tp_content_side *side,
                                     struct tp_content_units *units,
                                     struct tp_error *err)
{
    struct maker m = {.side = side, .units = units};
    size_t *own = tp_arena_alloc(&units->arena, side->count * sizeof *own);
    enum tp_status status = own ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < side->count && status == TP_OK; i++) {
        own[i] = i;
        status = add_unit(units, &own[i], 1, side->tensors[i].numel, err);
    }
    if (status == TP_OK)
        status = list_members(&m, err);
    if (status == TP_OK && m.count) {
        qsort(m.members, m.count, sizeof *m.members, compare_members);
        status = add_families(&m, err);
    }
    free(m.members);
    return status;
}

void tp_content_units_clear(struct tp_content_units *units)
{
    free(units->units);
    tp_arena_clear(&units->arena);
    memset(units, 0, sizeof *units);
}

bool tp_content_unit_digest(const struct tp_content_side *side,
                            const struct tp_content_unit *unit,
                            enum tp_dtype dtype,
                            struct tp_content_digest *digest, bool *own)
{
    *digest = (struct tp_content_digest){0};
    *own = true;
    for (size_t i = 0; i < unit->count; i++) {
        const struct tp_content_tensor *its = &side->tensors[unit->items[i]];
        int at = 0;
        while (at < its->view_count && its->views[at].dtype != dtype)
            at++;
        if (at == its->view_count || !its->read)
            return false;
        tp_content_digest_merge(digest, &its->views[at].digest);
        *own = *own && at == 0;
    }
    return true;
}
