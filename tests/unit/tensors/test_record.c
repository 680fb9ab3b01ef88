/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tensors/record.h"

enum { MOST = 8 };

/* Records by their paths, done, as an earlier run left them. */
static struct tp_records made(const char *const *paths, size_t count)
{
    struct tp_records records = {.count = count};
    records.items = calloc(MOST, sizeof *records.items);
    cr_assert(records.items);
    for (size_t i = 0; i < count; i++)
        records.items[i] = (struct tp_record){.path = paths[i],
                                              .size = 10 + i,
                                              .modified = 1000,
                                              .dims_keep = TP_DIM_KEPT,
                                              .done = true,
                                              .borrowed = true};
    return records;
}

/* The same files, found again. */
static struct tp_records found(const char *const *paths, size_t count)
{
    struct tp_records records = made(paths, count);
    for (size_t i = 0; i < count; i++)
        records.items[i].done = records.items[i].borrowed = false;
    return records;
}

static const char *const five[] = {"a", "b", "c", "d", "e"};

Test(record, holds_while_its_file_is_the_same)
{
    const char *const later[] = {"a", "b", "c", "d2", "e"};
    struct tp_records known = made(five, 5), records = found(later, 5);
    struct tp_reused reused = {.known = 0};
    records.items[1].size = 99;
    records.items[2].modified++;
    tp_records_reuse(&known, TP_DIMS_WORST, &records, &reused);
    const bool done[] = {true, false, false, false, true};
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(records.items[i].done, done[i], "%s", later[i]);
    cr_expect_eq(reused.known, 2);
    cr_expect_eq(reused.read, 3);
    cr_expect_eq(reused.bytes, 99 + 12 + 13);
    cr_expect_eq(reused.gone, 1);
    cr_expect_str_eq(reused.first_gone, "d");
    tp_records_clear(&known);
    tp_records_clear(&records);
}

Test(record, of_what_the_system_refused_is_read_again)
{
    const char *ties[] = {"b"};
    struct tp_reused reused = {.known = 0};
    struct tp_records known = made(five, 5), records = found(five, 5);
    known.items[0].ties = ties;
    known.items[0].tie_count = 1;
    known.items[1].refused = true;
    tp_records_reuse(&known, TP_DIMS_WORST, &records, &reused);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(records.items[i].done, i > 1, "%s", five[i]);
    cr_expect_eq(reused.known, 3);
    tp_records_clear(&known);
    tp_records_clear(&records);
}

Test(record, knows_what_the_system_refused)
{
    struct tp_arena arena = {0};
    struct tp_records records = {.arena = &arena};
    struct tp_record damaged = {.path = "a"}, refused = {.path = "b"};
    struct tp_skip skip = {.path = "", .code = TP_E_DAMAGED, .reason = "x"};
    cr_assert_eq(tp_record_skip(&records, &damaged, "a", &skip, NULL), TP_OK);
    skip.code = TP_E_IO;
    cr_assert_eq(tp_record_skip(&records, &refused, "b", &skip, NULL), TP_OK);
    cr_expect_not(damaged.refused);
    cr_expect(refused.refused);
    free(damaged.skipped);
    free(refused.skipped);
    tp_records_clear(&records);
    tp_arena_clear(&arena);
}

Test(record, of_a_unit_goes_with_its_files)
{
    const char *ties[] = {"b", "c"}, *more[] = {"d"};
    struct tp_reused reused = {.known = 0};
    struct tp_records known = made(five, 5), records = found(five, 5);
    known.items[0].ties = ties; /* a describes b and c, c describes d */
    known.items[0].tie_count = 2;
    known.items[2].ties = more;
    known.items[2].tie_count = 1;
    records.items[3].modified++;
    tp_records_reuse(&known, TP_DIMS_WORST, &records, &reused);
    for (size_t i = 0; i < 4; i++)
        cr_expect_not(records.items[i].done, "%s", five[i]);
    cr_expect(records.items[4].done);
    tp_records_clear(&known);
    tp_records_clear(&records);
}

Test(record, of_a_unit_does_not_hold_when_what_was_missing_is_there)
{
    const char *ties[] = {"b", "missing"};
    const char *const later[] = {"a", "b", "c", "missing"};
    for (size_t count = 3; count <= 4; count++) {
        struct tp_reused reused = {.known = 0};
        struct tp_records known = made(five, 3), records = found(later, count);
        known.items[0].ties = ties;
        known.items[0].tie_count = 2;
        tp_records_reuse(&known, TP_DIMS_WORST, &records, &reused);
        cr_expect_eq(records.items[0].done, count == 3);
        cr_expect_eq(records.items[1].done, count == 3);
        cr_expect(records.items[2].done);
        tp_records_clear(&known);
        tp_records_clear(&records);
    }
}

Test(record, keeps_fewer_indices_in_larger_runs)
{
    cr_expect_eq(tp_record_dims_keep(TP_DIMS_WORST, 1000, 1), 64);
    cr_expect_eq(tp_record_dims_keep(TP_DIMS_WORST, 1001, 1), 32);
    cr_expect_eq(tp_record_dims_keep(TP_DIMS_WORST, 10, 401), 8);
    cr_expect_eq(tp_record_dims_keep(TP_DIMS_WORST, 100000, 100), 4);
    cr_expect_eq(tp_record_dims_keep(TP_DIMS_ALL, 100000, 100), 64);
}

Test(record, with_less_indices_than_are_kept_by_now_is_read_again)
{
    struct tp_dim_index worst[4] = {{.index = 3}, {.index = 2}};
    struct tp_dim_axis axis = {.length = 100, .kept = 4, .worst = worst};
    struct tp_dims dims = {&axis, 1};
    struct tp_row row = {.dims = &dims};
    struct tp_record record = {.rows = &row, .row_count = 1, .dims_keep = 4};
    cr_expect_not(tp_record_fit_dims(&record, 8));
    axis.length = 4; /* all it has */
    cr_expect(tp_record_fit_dims(&record, 8));
    cr_expect_eq(record.dims_keep, 8);
}

Test(record, has_a_digest_of_its_numbers)
{
    struct tp_packed packed[2] = {{.counts = {.numel = 4}},
                                  {.counts = {.numel = 5}}};
    struct tp_row row = {.path = "x", .shape = "[4]", .packed = &packed[0]};
    struct tp_record record = {.rows = &row, .row_count = 1, .modified = 5};
    tp_record_seal(&record);
    const struct tp_digest first = record.digest;
    tp_record_seal(&record);
    cr_expect(tp_digest_same(&first, &record.digest));
    row.packed = &packed[1];
    tp_record_seal(&record);
    cr_expect_not(tp_digest_same(&first, &record.digest));
    row.packed = &packed[0];
    record.modified = 6; /* as that of a copy is */
    tp_record_seal(&record);
    cr_expect(tp_digest_same(&first, &record.digest));
}
