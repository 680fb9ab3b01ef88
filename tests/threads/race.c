/* SPDX-License-Identifier: MIT */
/*
 * What threads of every command share, all at once: nested loops of a pool, and
 * what is wrong with a file. Exit status 0: all was done, once. With RACE one
 * thread writes what another does.
 */
#include <string.h>

#include "base/file.h"
#include "base/pool.h"

enum { OUTER = 40, INNER = 50, FILES = 3, REASONS = 5 };

struct work {
    struct tp_pool *pool;
    struct tp_found files[FILES];
    unsigned done[OUTER][INNER];
#ifdef RACE
    unsigned all;
#endif
};

struct row {
    struct work *work;
    size_t outer;
};

static void inner(void *context, size_t index, unsigned worker)
{
    const struct row *row = context;
    struct work *work = row->work;
    struct tp_error why = {.code = TP_OK};
    (void)worker;
    work->done[row->outer][index]++;
#ifdef RACE
    work->all++;
#endif
    tp_fail(&why, TP_E_DAMAGED, -1, "reason %zu", index % REASONS);
    if (tp_found_meet(&work->files[index % FILES], 7, 8, NULL) != TP_OK ||
        tp_found_fail(&work->files[index % FILES], "", &why, NULL) != TP_OK)
        work->done[row->outer][index] += OUTER;
}

static void outer(void *context, size_t index, unsigned worker)
{
    struct row row = {context, index};
    (void)worker;
    tp_pool_for(row.work->pool, INNER, inner, &row);
}

/* How many there are, each counted once. */
static unsigned reasons_of(const struct tp_found *file)
{
    unsigned seen = 0;
    for (const struct tp_found_problem *at = file->problems; at; at = at->next)
        seen |= 1u << (at->reason[strlen("reason ")] - '0');
    return (unsigned)__builtin_popcount(seen);
}

int main(void)
{
    static struct work work;
    int bad = tp_pool_new(4, &work.pool, NULL) != TP_OK;
    tp_pool_for(work.pool, OUTER, outer, &work);
    for (size_t i = 0; i < OUTER; i++)
        for (size_t k = 0; k < INNER; k++)
            bad |= work.done[i][k] != 1;
    for (size_t i = 0; i < FILES; i++)
        bad |= reasons_of(&work.files[i]) != REASONS;
    tp_pool_free(work.pool);
    return bad;
}
