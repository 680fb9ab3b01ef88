/* SPDX-License-Identifier: MIT */
/*
 * A name that is on both sides should hold the same on both. Where it does not,
 * what A has under it may be in B under another name that is in A, too; and so
 * on. If that comes back to where it began, names changed places (a cycle, of
 * two mostly): nothing is missing and the shapes fit, so that no loader
 * complains. If it ends with a name of one side only, tensors were renumbered.
 * Constants and copies say nothing about names. Cost: a sort of the names.
 */
#include "compare/content_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "data/skipped.h"
#include "base/order.h"
#include "base/search.h"

enum { TOLD = 8 }; /* cycles that evidence tells                            */

struct finder {
    const struct tp_content *content;
    const struct tp_content_rows *rows;
    struct tp_dump_findings *findings;
    size_t *next; /* of each tensor of A: that of A whose key is the name
                     in B under which its content is; SIZE_MAX            */
    struct tp_error *err;
};

static const struct tp_content_tensor *left(const struct finder *f, size_t i)
{
    return &f->content->sides[0].tensors[i];
}

static const struct tp_content_tensor *right(const struct finder *f, size_t i)
{
    return &f->content->sides[1].tensors[i];
}

/* Whether a tensor's key is its name: no other of its side has it. */
static bool is_alone_of_key(const struct tp_content_tensor *tensor)
{
    return tensor->name == tensor->key;
}

struct keyed {
    const char *key;
    size_t item;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct keyed *)a)->key,
                  ((const struct keyed *)b)->key);
}

static struct keyed *sort_keys(const struct tp_content_side *side)
{
    struct keyed *keys = calloc(side->count + 1, sizeof *keys);
    for (size_t i = 0; keys && i < side->count; i++)
        keys[i] = (struct keyed){side->tensors[i].key, i};
    if (keys && side->count)
        qsort(keys, side->count, sizeof *keys, compare_keys);
    return keys;
}

/* The tensor that alone has a key; SIZE_MAX: none. */
static size_t find_key(const struct keyed *keys,
                       const struct tp_content_side *side, const char *key)
{
    size_t at;
    TP_PARTITION_POINT(at, side->count, strcmp(keys[at].key, key) < 0);
    if (at == side->count || strcmp(keys[at].key, key) != 0 ||
        !is_alone_of_key(&side->tensors[keys[at].item]))
        return SIZE_MAX;
    return keys[at].item;
}

/* The tensor of B that holds what one of A does; SIZE_MAX. */
static size_t content_in_b(const struct finder *f, size_t item)
{
    const size_t at = f->content->match_of[0][item];
    if (at == SIZE_MAX)
        return SIZE_MAX;
    const struct tp_content_match *match = &f->content->matches[at];
    if (match->constant || match->copy ||
        match->counts[0] + match->counts[1] > 2 ||
        match->relation == TP_CONTENT_SAME_ELEMENTS)
        return SIZE_MAX;
    return match->items[1][0];
}

/* Follows each name to where its content went. */
static enum tp_status make_next(struct finder *f)
{
    const struct tp_content_side *a = &f->content->sides[0];
    const struct tp_content_side *b = &f->content->sides[1];
    struct keyed *of_a = sort_keys(a), *of_b = sort_keys(b);
    f->next = calloc(a->count + 1, sizeof *f->next);
    const bool made = of_a && of_b && f->next;
    for (size_t i = 0; i < a->count && made; i++) {
        const size_t held = content_in_b(f, i);
        f->next[i] = SIZE_MAX;
        if (held == SIZE_MAX || !is_alone_of_key(left(f, i)) ||
            !is_alone_of_key(right(f, held)) ||
            !strcmp(left(f, i)->key, right(f, held)->key) ||
            find_key(of_b, b, left(f, i)->key) == SIZE_MAX)
            continue;
        f->next[i] = find_key(of_a, a, right(f, held)->key);
    }
    free(of_a);
    free(of_b);
    return made ? TP_OK : tp_fail_memory(f->err);
}

/* Tensors in the cycle that begins here; 0: it does not come back, or begins
 * before. */
static size_t cycle_from(const struct finder *f, size_t item)
{
    const size_t all = f->content->sides[0].count;
    size_t at = f->next[item], length = 1;
    while (at != SIZE_MAX && at > item && length <= all) {
        at = f->next[at];
        length++;
    }
    return at == item ? length : 0;
}

static struct tp_dump_finding *add(struct finder *f,
                                   enum tp_compare_finding_id id,
                                   enum tp_severity level)
{
    struct tp_dump_finding *finding;
    return tp_dump_finding_new(f->findings, &tp_compare_rules[id], level,
                               &finding, f->err) == TP_OK
               ? finding
               : NULL;
}

static const char *keep(struct finder *f, struct tp_text *text)
{
    return tp_arena_words(&f->findings->arena, text);
}

static enum tp_status find_swapped(struct finder *f)
{
    struct tp_text text = {0};
    struct tp_dump_finding *finding = NULL;
    size_t cycles = 0, tensors = 0;
    for (size_t i = 0; i < f->content->sides[0].count; i++) {
        const size_t length = cycle_from(f, i);
        if (length < 2)
            continue;
        if (!finding)
            finding = add(f, TP_FINDS_SWAPPED, TP_SEVERITY_HIGH);
        if (!finding)
            return TP_E_MEMORY;
        tensors += length;
        if (cycles == 0) {
            finding->name = finding->found = left(f, i)->name;
            finding->expected = left(f, f->next[i])->name;
        }
        if (cycles++ >= TOLD)
            continue;
        tp_text_add(&text, "%s", left(f, i)->name);
        for (size_t k = f->next[i]; k != i; k = f->next[k])
            tp_text_add(&text, " and %s", left(f, k)->name);
        tp_text_add(&text, " changed places. ");
    }
    if (!finding)
        return TP_OK;
    tp_text_add(&text,
                "%zu tensors hold in B what another of them holds in A, "
                "element by element.",
                tensors);
    finding->count = tensors;
    finding->evidence = keep(f, &text);
    finding->suggestion =
        "Shapes fit, so that no loader complains: look at what renames or "
        "converts these names.";
    return TP_OK;
}

/* Names whose content is elsewhere and that are in no cycle. */
static enum tp_status find_moved(struct finder *f)
{
    const size_t all = f->content->sides[0].count;
    bool *cyclic = calloc(all + 1, sizeof *cyclic);
    struct tp_dump_finding *finding = NULL;
    if (!cyclic)
        return tp_fail_memory(f->err);
    for (size_t i = 0; i < all; i++)
        if (cycle_from(f, i))
            for (size_t k = f->next[i], n = 0; n <= all && !cyclic[k];
                 k = f->next[k], n++)
                cyclic[k] = true;
    for (size_t i = 0; i < all; i++) {
        if (f->next[i] == SIZE_MAX || cyclic[i])
            continue;
        if (!finding) {
            finding = add(f, TP_FINDS_MOVED, TP_SEVERITY_MEDIUM);
            if (!finding)
                break;
            finding->count = 0;
            finding->name = finding->found = left(f, i)->name;
            finding->expected = left(f, f->next[i])->name;
        }
        finding->count++;
    }
    free(cyclic);
    if (!finding || finding->count == 0)
        return f->err->code;
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "%" PRIu64 " names are in A and in B, but what A has under them is in "
        "B under another name of A; the first: %s of A is %s of B.",
        finding->count, finding->found, finding->expected);
    finding->suggestion =
        "Layers were left out or counted from another number: what is "
        "compared by name compares different layers; --map FILE tells which "
        "is which.";
    return TP_OK;
}

static const char *first_lost(const struct finder *f, const char *side,
                              const struct tp_content_lone_row **row)
{
    for (size_t i = 0; i < f->rows->alone_count; i++)
        if (!strcmp(f->rows->alone[i].side, side) && !*f->rows->alone[i].kind) {
            *row = *row ? *row : &f->rows->alone[i];
            return f->rows->alone[i].name;
        }
    return "none";
}

static enum tp_status find_lost(struct finder *f)
{
    const struct tp_content_rows *rows = f->rows;
    const struct tp_content_lone_row *row = NULL;
    struct tp_text text = {0};
    if (rows->lost[0] + rows->lost[1] == 0)
        return TP_OK;
    struct tp_dump_finding *finding = add(f, TP_FINDS_LOST, TP_SEVERITY_MEDIUM);
    if (!finding)
        return TP_E_MEMORY;
    finding->found = first_lost(f, "A", &row);
    finding->expected = first_lost(f, "B", &row);
    finding->name = row ? row->name : "";
    finding->count = rows->lost[0] + rows->lost[1];
    tp_text_add(&text,
                "%zu of %zu tensors of A are not in B (first: %s), %zu of "
                "%zu of B not in A (first: %s).",
                rows->lost[0], rows->all[0], finding->found, rows->lost[1],
                rows->all[1], finding->expected);
    if (row && *row->nearest)
        tp_text_add(&text,
                    " Nearest to %s is %s: %.3g %% of the elements differ, "
                    "relative error %.3g.",
                    row->name, row->nearest, 100 * row->differing_share,
                    row->relative_l2);
    finding->evidence = keep(f, &text);
    finding->suggestion =
        "Where few elements differ or all differ a little, it is the same "
        "tensor with other values: compare by name. Else it was trained, "
        "left out, or put together in a way that is not known here.";
    return TP_OK;
}

static enum tp_status find_unread(struct finder *f)
{
    size_t a, b = 0;
    enum tp_status status =
        tp_skipped_damage(&f->content->sides[0].found, &a, f->err);
    if (status == TP_OK)
        status = tp_skipped_damage(&f->content->sides[1].found, &b, f->err);
    if (status != TP_OK || a + b == 0)
        return status;
    struct tp_dump_finding *finding =
        add(f, TP_FINDS_UNREAD, TP_SEVERITY_MEDIUM);
    if (!finding)
        return TP_E_MEMORY;
    finding->count = a + b;
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "Files and tensors that were not read: %zu of A, %zu of B; the table "
        "skipped names them.",
        a, b);
    finding->suggestion = "Copy or save them again.";
    return TP_OK;
}

enum tp_status tp_content_findings_make(const struct tp_content *content,
                                        const struct tp_content_rows *rows,
                                        struct tp_dump_findings *findings,
                                        struct tp_error *err)
{
    struct finder f = {
        .content = content, .rows = rows, .findings = findings, .err = err};
    enum tp_status status = make_next(&f);
    if (status == TP_OK)
        status = find_swapped(&f);
    if (status == TP_OK)
        status = find_moved(&f);
    if (status == TP_OK)
        status = find_lost(&f);
    if (status == TP_OK)
        status = find_unread(&f);
    tp_dump_findings_sort(findings);
    free(f.next);
    return status;
}
