/* SPDX-License-Identifier: MIT */
/*
 * A world of processes reads testdata, and has the rows of one that reads all.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "state/state_gather.h"
#include "tensors/collect.h"
#include "tests/unit/support/forked_world.h"
#include "tests/unit/support/testdata.h"

/* A folder of testdata, and the least of a part of a file; 0: as it is. */
struct data {
    const char *name;
    uint64_t part_bytes;
};

/* Reads it, together with a world where there is one. */
static enum tp_status read_data(const struct data *data,
                                const struct tp_world *world,
                                struct tp_state_gather *gather,
                                struct tp_run *run)
{
    char root[3000];
    struct tp_pool *pool;
    struct tp_quant_plan plan;
    const struct tp_quant_options casts = {.min_sqnr = 20};
    const struct tp_collect_team team = {.world = world,
                                         .part_bytes = data->part_bytes,
                                         .gather = tp_state_gather,
                                         .context = gather};
    const char *const roots[] = {root};
    testdata_path(data->name, root, sizeof root);
    if (tp_quant_plan_make(&casts, &plan, NULL) != TP_OK ||
        tp_pool_new(2, &pool, NULL) != TP_OK)
        return TP_E_MEMORY;
    const struct tp_collect_options options = {.roots = roots,
                                               .root_count = 1,
                                               .quant = &plan,
                                               .dims = TP_DIMS_ALL,
                                               .team = world ? &team : NULL};
    enum tp_status status = tp_collect(pool, &options, run, NULL);
    tp_pool_free(pool);
    return status;
}

static bool is_same_row(const struct tp_row *a, const struct tp_row *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->path, b->path) == 0 &&
           strcmp(a->shape, b->shape) == 0 && a->source == b->source &&
           a->place == b->place && a->dtype == b->dtype &&
           a->ordinal == b->ordinal && a->target == b->target &&
           memcmp(&a->counts, &b->counts, sizeof a->counts) == 0 &&
           memcmp(&a->numbers, &b->numbers, sizeof a->numbers) == 0 &&
           !a->quant == !b->quant && !a->dims == !b->dims;
}

static bool is_same(const struct tp_run *a, const struct tp_run *b)
{
    bool same = a->row_count == b->row_count && a->row_count > 0 &&
                a->aside_count == b->aside_count &&
                a->skipped_count == b->skipped_count &&
                a->files_read == b->files_read &&
                a->files_ignored == b->files_ignored &&
                a->bytes_read == b->bytes_read;
    for (size_t i = 0; i < a->row_count + a->aside_count && same; i++)
        same = is_same_row(&a->rows[i], &b->rows[i]);
    for (size_t i = 0; i < a->skipped_count && same; i++)
        same = strcmp(a->skipped[i].file, b->skipped[i].file) == 0 &&
               strcmp(a->skipped[i].reason, b->skipped[i].reason) == 0;
    return same;
}

static bool read_together(const struct tp_world *world, void *context)
{
    const struct data *data = context;
    struct tp_state_gather gather = {.world = world};
    struct tp_run run = {.row_count = 0}, alone = {.row_count = 0};
    bool good = read_data(data, world, &gather, &run) == TP_OK;
    if (world->rank > 0)
        good = good && run.row_count == 0;
    else
        good = good && read_data(data, NULL, NULL, &alone) == TP_OK &&
               is_same(&run, &alone);
    tp_state_gather_clear(&gather);
    tp_run_clear(&run);
    tp_run_clear(&alone);
    return good;
}

Test(state_gather, has_the_rows_of_one_process)
{
    static const char *const names[] = {"logs", "checkpoints", "quantised",
                                        "checkpoint_faults", "torch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct data data = {names[i], 0};
        for (unsigned size = 2; size <= 4; size++)
            cr_expect(run_world(size, read_together, &data), "%s by %u",
                      names[i], size);
    }
}

/* Every file of more than a byte is read in parts, by whom it happens to be. */
Test(state_gather, has_them_where_files_are_read_in_parts)
{
    static const char *const names[] = {"logs", "checkpoints", "quantised",
                                        "checkpoint_faults", "torch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct data data = {names[i], 1};
        for (unsigned size = 2; size <= 3; size++)
            cr_expect(run_world(size, read_together, &data), "%s by %u",
                      names[i], size);
    }
}

/* One process goes away instead of sending. */
static bool leave(const struct tp_world *world, void *data)
{
    struct tp_state_gather gather = {.world = world};
    struct tp_run run = {.row_count = 0};
    if (world->rank == 2)
        return true;
    const enum tp_status status = read_data(data, world, &gather, &run);
    tp_state_gather_clear(&gather);
    tp_run_clear(&run);
    /* who is left may be told so at any point, or be done before */
    return world->rank == 0 ? status == TP_E_INTERRUPTED || status == TP_E_IO
                            : true;
}

Test(state_gather, fails_where_one_is_gone)
{
    struct data data = {"steps", 0};
    cr_expect(run_world(3, leave, &data));
}
