/* SPDX-License-Identifier: MIT */
#include "tensors/rank_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    AXES = 3,
    CELLS_MAX = 1 << 20, /* of a grid; real ones have some thousand */
    NAMED_MAX = 3        /* ranks named in the sentence             */
};

static const char HEAD[] = "/mp_rank_";

/* One folder of a rank. */
struct rank {
    size_t parent; /* bytes of the path before it */
    int count;     /* of numbers */
    int64_t numbers[AXES];
};

/* The folder of a rank that a path has, the last one. */
static bool parse(const char *path, struct rank *rank)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, HEAD)); at++)
        found = at;
    if (!found)
        return false;
    *rank = (struct rank){.parent = (size_t)(found - path)};
    const char *at = found + strlen(HEAD);
    for (; rank->count < AXES; at++) {
        const size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 6)
            return false;
        rank->numbers[rank->count++] = tp_digits_value(at, digits);
        at += digits;
        if (*at != '_')
            break;
    }
    return *at == '/';
}

/* The name of a cell, as Megatron writes it. */
static void add_name(struct tp_text *text, const int64_t *numbers, int count)
{
    tp_text_add(text, "mp_rank");
    for (int i = 0; i < count; i++)
        tp_text_add(text, "_%0*d", i ? 3 : 2, (int)numbers[i]);
}

/* How many of the cells there are, for each number of each axis, and the most
 * of an axis. */
struct shares {
    size_t *of[AXES], most[AXES];
};

/*
 * Whether a cell that is absent is missed. Experts may be spread over ranks
 * that split the other layers (Megatron folds one grid into the other), so that
 * of three axes only some cells are ever written, each number of an axis in
 * equally many: there only a cell is missed whose numbers have less of them.
 */
static bool is_missed(const struct shares *shares, const int64_t *size,
                      const int64_t *numbers, int axes)
{
    bool missed = true;
    for (int k = 0; axes == AXES && k < AXES; k++)
        missed = missed && (size[k] == 1 ||
                            shares->of[k][numbers[k]] < shares->most[k]);
    return missed;
}

static void count_shares(struct shares *shares, const unsigned char *seen,
                         const int64_t *size)
{
    for (int64_t i = 0; i < size[0] * size[1] * size[2]; i++) {
        const int64_t n[AXES] = {i / size[2] / size[1], i / size[2] % size[1],
                                 i % size[2]};
        for (int k = 0; seen[i] && k < AXES; k++) {
            const size_t share = ++shares->of[k][n[k]];
            if (share > shares->most[k])
                shares->most[k] = share;
        }
    }
}

/* Says which cells of the grid of these ranks are not there. */
static void add_missing(const struct rank *ranks, size_t count,
                        struct tp_text *missing)
{
    int64_t size[AXES] = {1, 1, 1};
    const int axes = ranks[0].count;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < axes; k++) {
            if (ranks[i].numbers[k] >= size[k])
                size[k] = ranks[i].numbers[k] + 1;
        }
    }
    const int64_t cells = size[0] * size[1] * size[2];
    if (cells > CELLS_MAX)
        return;
    unsigned char *seen = calloc((size_t)cells, 1);
    size_t *numbers =
        calloc((size_t)(size[0] + size[1] + size[2]), sizeof *numbers);
    size_t absent = 0;
    const bool room = seen && numbers;
    missing->failed |= !room;
    struct shares shares = {
        .of = {numbers, numbers + size[0], numbers + size[0] + size[1]}};
    for (size_t i = 0; room && i < count; i++) {
        const int64_t *n = ranks[i].numbers;
        seen[(n[0] * size[1] + n[1]) * size[2] + n[2]] = 1;
    }
    if (room)
        count_shares(&shares, seen, size);
    for (int64_t i = 0; room && i < cells; i++) {
        const int64_t n[AXES] = {i / size[2] / size[1], i / size[2] % size[1],
                                 i % size[2]};
        if (seen[i] || !is_missed(&shares, size, n, axes))
            continue;
        if (absent++ < NAMED_MAX) {
            tp_text_add(missing, "%s", missing->length ? ", " : "");
            add_name(missing, n, axes);
        }
    }
    free(seen);
    free(numbers);
    if (absent > NAMED_MAX)
        tp_text_add(missing, " and %zu more", absent - NAMED_MAX);
    if (absent)
        tp_text_add(missing,
                    " %s not there, while other ranks of the same tree are: "
                    "tensors split over the ranks are incomplete",
                    absent == 1 ? "is" : "are");
}

size_t tp_rank_tree_next(const struct tp_found_list *files, size_t *next,
                         struct tp_text *missing)
{
    struct rank first, rank;
    struct rank *ranks = NULL;
    size_t count = 0, room = 0, begin = *next;
    while (begin < files->count && !parse(files->files[begin].path, &first))
        begin++;
    size_t i = begin;
    for (; i < files->count && parse(files->files[i].path, &rank); i++) {
        if (rank.parent != first.parent || rank.count != first.count ||
            memcmp(files->files[i].path, files->files[begin].path,
                   rank.parent) != 0)
            break;
        if (tp_grow(&ranks, &room, count + 1, sizeof *ranks, NULL) != TP_OK) {
            missing->failed = true;
            break;
        }
        ranks[count++] = rank;
    }
    if (count)
        add_missing(ranks, count, missing);
    free(ranks);
    *next = i > begin ? i : begin + 1;
    return begin;
}
