/* SPDX-License-Identifier: MIT */
/*
 * Traces that several processes read together are those that one reads, and so
 * are those of a state, which is told from one that is cut off or changed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/state_image.h"
#include "state/trace_gather.h"
#include "state/trace_state.h"
#include "tests/unit/support/forked_world.h"
#include "tests/unit/support/testdata.h"
#include "trace/trace_run.h"

static enum tp_status gather(void *world, struct tp_trace_records *records,
                             struct tp_error *err)
{
    return tp_trace_gather(world, records, err);
}

/* Reads testdata/NAME, with `world` unless that is NULL. */
static enum tp_status read_data(const char *name, const struct tp_world *world,
                                const struct tp_trace_keeper *keeper,
                                struct tp_trace_run *run)
{
    char root[3000];
    const char *const roots[] = {root};
    const struct tp_trace_team team = {world, NULL, gather, (void *)world};
    const struct tp_trace_options options = {.roots = roots,
                                             .root_count = 1,
                                             .keeper = keeper,
                                             .team = world ? &team : NULL};
    struct tp_pool *pool;
    testdata_path(name, root, sizeof root);
    cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
    const enum tp_status status = tp_trace_collect(pool, &options, run, NULL);
    tp_pool_free(pool);
    return status;
}

/* The traces of a run in one number, by their content. */
static struct tp_digest digest_of(struct tp_trace_run *run)
{
    struct tp_digest all = {{0, 0}};
    for (size_t i = 0; i < run->trace_count; i++) {
        struct tp_trace_record record = {.reason = "", .trace = run->traces[i]};
        cr_assert_eq(tp_trace_record_seal(&record, NULL), TP_OK);
        tp_digest_text(&all, run->traces[i].path);
        tp_digest_add(&all, &record.digest, sizeof record.digest);
    }
    for (size_t i = 0; i < run->skipped.count; i++)
        tp_digest_text(&all, run->skipped.rows[i].reason);
    tp_digest_number(&all, run->bytes_read);
    return all;
}

static struct tp_digest read_alone(const char *name)
{
    struct tp_trace_run run = {.trace_count = 0};
    cr_assert_eq(read_data(name, NULL, NULL, &run), TP_OK);
    cr_assert_gt(run.trace_count, 1);
    const struct tp_digest digest = digest_of(&run);
    tp_trace_run_clear(&run);
    return digest;
}

struct expected {
    const char *name;
    struct tp_digest digest;
};

static bool read_together(const struct tp_world *world, void *context)
{
    const struct expected *expected = context;
    struct tp_trace_run run = {.trace_count = 0};
    bool good = read_data(expected->name, world, NULL, &run) == TP_OK;
    if (good && world->rank == 0) {
        const struct tp_digest digest = digest_of(&run);
        good = tp_digest_same(&digest, &expected->digest);
    }
    tp_trace_run_clear(&run);
    return good;
}

Test(trace_gather, has_the_traces_of_one_process)
{
    static const char *const names[] = {"traces/own", "traces/cpu-torch2.15.0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct expected expected = {names[i], read_alone(names[i])};
        for (unsigned size = 1; size <= 5; size += size < 3 ? 1 : 2)
            cr_expect(run_world(size, read_together, &expected), "%s by %u",
                      names[i], size);
    }
}

/* One process goes away instead of sending. */
static bool leave(const struct tp_world *world, void *name)
{
    struct tp_trace_run run = {.trace_count = 0};
    if (world->rank == 2)
        return true;
    const enum tp_status status = read_data(name, world, NULL, &run);
    tp_trace_run_clear(&run);
    return world->rank == 0 ? status == TP_E_INTERRUPTED || status == TP_E_IO
                            : true;
}

Test(trace_gather, fails_where_one_is_gone)
{
    cr_expect(run_world(3, leave, (void *)"traces/own"));
}

/* --- states --------------------------------------------------------------- */

static char state_path[] = "/tmp/tp-trace-state.XXXXXX";

static enum tp_status keep(void *context,
                           const struct tp_trace_records *records, bool whole,
                           struct tp_error *err)
{
    const struct tp_state_header header = {"gpu=\n", "traces\n", whole};
    (void)context;
    return tp_trace_state_write(state_path, &header, records, err);
}

/* Reads a folder, with what a state knows of it, and keeps it there. */
static struct tp_digest read_kept(const char *name, struct tp_reused *reused)
{
    struct tp_trace_run run = {.trace_count = 0};
    struct tp_trace_state known = {.records = {.arena = &run.arena}};
    const struct tp_trace_keeper keeper = {&known.records, reused, 1000, keep,
                                           NULL};
    tp_trace_state_read(state_path, &known, NULL);
    cr_assert_eq(read_data(name, NULL, &keeper, &run), TP_OK);
    const struct tp_digest digest = digest_of(&run);
    tp_trace_state_clear(&known);
    tp_trace_run_clear(&run);
    return digest;
}

Test(trace_gather, goes_on_from_a_state)
{
    static const char name[] = "traces/own";
    const struct tp_digest expected = read_alone(name);
    struct tp_reused reused;
    close(mkstemp(state_path));
    for (int i = 0; i < 2; i++) {
        const struct tp_digest digest = read_kept(name, &reused);
        cr_expect(tp_digest_same(&digest, &expected));
        cr_expect_eq(reused.known == 0, i == 0);
        cr_expect_eq(reused.read == 0, i == 1);
    }
    unlink(state_path);
}
