/* SPDX-License-Identifier: MIT */
/*
 * A trace that was packed is the same again, and its bytes are those of the
 * trace; what is cut off, or is no number of a text or member of an enum, is
 * refused.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "tests/unit/support/testdata.h"
#include "trace/trace_lists.h"
#include "trace/trace_pack.h"
#include "trace/trace_run.h"
#include "trace/trace_what_if.h"

/* Texts get their numbers in the order in which they come. */
struct texts {
    const char *texts[4096];
    size_t count;
};

static bool number(void *context, const char *text, uint64_t *number)
{
    struct texts *t = context;
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->texts[i], text) == 0) {
            *number = i;
            return true;
        }
    }
    cr_assert_lt(t->count, 4096);
    t->texts[t->count] = text;
    *number = t->count++;
    return true;
}

static void read_by(const char *name, unsigned jobs, bool everything,
                    struct tp_trace_run *run)
{
    char root[3000];
    const char *const roots[] = {root};
    const struct tp_trace_options options = {.roots = roots,
                                             .root_count = 1,
                                             .annotated = everything,
                                             .compared = everything};
    struct tp_pool *pool;
    testdata_path(name, root, sizeof root);
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    cr_assert_eq(tp_trace_collect(pool, &options, run, NULL), TP_OK);
    tp_pool_free(pool);
    cr_assert_gt(run->trace_count, 0);
}

static void read_run(const char *name, struct tp_trace_run *run)
{
    read_by(name, 1, true, run);
}

static void pack(const struct tp_trace *trace, struct texts *texts,
                 struct tp_text *bytes)
{
    cr_assert_eq(tp_trace_pack(trace, number, texts, bytes, NULL), TP_OK);
}

static enum tp_status unpack(const struct tp_text *bytes, size_t size,
                             const struct texts *texts, struct tp_trace *trace)
{
    /* so that a byte behind the end is one too many */
    unsigned char *copy = malloc(size + 1);
    memcpy(copy, bytes->data, size);
    const struct tp_trace_packed packed = {copy, size, texts->texts,
                                           texts->count};
    const enum tp_status status = tp_trace_unpack(&packed, trace, NULL);
    free(copy);
    return status;
}

static void expect_same_lists(const struct tp_trace *a,
                              const struct tp_trace *b)
{
    for (enum tp_trace_list i = 0; i < TP_TRACE_JOINED; i++) {
        const struct tp_table left = tp_trace_list_table(a, i);
        const struct tp_table right = tp_trace_list_table(b, i);
        cr_assert_eq(left.row_count, right.row_count, "%s", left.name);
        for (size_t row = 0; row < left.row_count; row++) {
            for (size_t c = 0; c < left.column_count; c++) {
                const struct tp_column *column = &left.columns[c];
                if (column->type == TP_COLUMN_TEXT)
                    cr_expect_str_eq(tp_cell_text(&left, row, column),
                                     tp_cell_text(&right, row, column));
            }
        }
    }
}

static void expect_kept(const char *name)
{
    struct tp_trace_run run = {.trace_count = 0};
    struct texts *texts = calloc(1, sizeof *texts);
    read_run(name, &run);
    for (size_t i = 0; i < run.trace_count; i++) {
        struct tp_text bytes = {0}, again = {0};
        struct tp_trace trace = {.path = ""};
        pack(&run.traces[i], texts, &bytes);
        cr_assert_eq(unpack(&bytes, bytes.length, texts, &trace), TP_OK);
        expect_same_lists(&run.traces[i], &trace);
        cr_expect_eq(trace.rank, run.traces[i].rank);
        cr_expect_str_eq(trace.facts.window, run.traces[i].facts.window);
        pack(&trace, texts, &again);
        cr_assert_eq(again.length, bytes.length);
        cr_expect_eq(memcmp(again.data, bytes.data, bytes.length), 0);
        tp_trace_clear(&trace);
        tp_text_clear(&bytes);
        tp_text_clear(&again);
    }
    free(texts);
    tp_trace_run_clear(&run);
}

Test(trace_pack, keeps_traces)
{
    expect_kept("traces/own");
    expect_kept("traces/own/ranks");
    expect_kept("traces/cpu-memory");
    expect_kept("traces/cpu-torch2.15.0");
}

Test(trace_pack, gives_equal_bytes_for_equal_traces)
{
    struct tp_trace_run runs[2] = {{.trace_count = 0}, {.trace_count = 0}};
    struct texts *texts = calloc(1, sizeof *texts);
    struct tp_text bytes[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        read_run("traces/own/train.json.gz", &runs[i]);
        pack(&runs[i].traces[0], texts, &bytes[i]);
    }
    cr_assert_eq(bytes[0].length, bytes[1].length);
    cr_expect_eq(memcmp(bytes[0].data, bytes[1].data, bytes[0].length), 0);
    for (int i = 0; i < 2; i++) {
        tp_text_clear(&bytes[i]);
        tp_trace_run_clear(&runs[i]);
    }
    free(texts);
}

/* Lists of a trace are made beside each other. */
Test(trace_pack, gives_equal_bytes_by_any_number_of_threads)
{
    static const char *const names[] = {"traces/own", "traces/own/ranks",
                                        "traces/cpu-memory"};
    static const unsigned jobs[] = {1, 2, 7};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tp_trace_run runs[3] = {{.trace_count = 0}};
        struct texts *texts = calloc(1, sizeof *texts);
        struct tp_text bytes[3] = {{0}};
        for (int k = 0; k < 3; k++) {
            read_by(names[i], jobs[k], false, &runs[k]);
            for (size_t t = 0; t < runs[k].trace_count; t++) {
                struct tp_text one = {0};
                pack(&runs[k].traces[t], texts, &one);
                tp_text_bytes(&bytes[k], one.data, one.length);
                tp_text_clear(&one);
            }
            cr_assert_eq(bytes[k].length, bytes[0].length);
            cr_expect_eq(memcmp(bytes[k].data, bytes[0].data, bytes[0].length),
                         0, "%s, %u threads", names[i], jobs[k]);
        }
        for (int k = 0; k < 3; k++) { /* texts are theirs */
            tp_text_clear(&bytes[k]);
            tp_trace_run_clear(&runs[k]);
        }
        free(texts);
    }
}

/* Every word of it, one by one. */
Test(trace_pack, refuses_what_is_no_trace)
{
    struct tp_trace_run run = {.trace_count = 0};
    struct texts *texts = calloc(1, sizeof *texts);
    struct tp_text bytes = {0};
    size_t refused = 0;
    read_run("traces/own/one_step.json.gz", &run);
    pack(&run.traces[0], texts, &bytes);
    for (size_t size = 0; size < bytes.length; size += 8) {
        struct tp_trace trace = {.path = ""};
        cr_expect_eq(unpack(&bytes, size, texts, &trace), TP_E_DAMAGED);
        tp_trace_clear(&trace);
    }
    for (size_t at = 0; at + 8 <= bytes.length; at += 8) {
        struct tp_trace trace = {.path = ""};
        char before[8];
        memcpy(before, bytes.data + at, 8);
        memset(bytes.data + at, 0xfe, 8);
        refused += unpack(&bytes, bytes.length, texts, &trace) != TP_OK;
        tp_trace_clear(&trace);
        memcpy(bytes.data + at, before, 8);
    }
    cr_expect_gt(refused, texts->count, "each text has a number at least");
    tp_text_clear(&bytes);
    free(texts);
    tp_trace_run_clear(&run);
}
