/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "tensors/claims.h"
#include "tests/unit/support/forked_world.h"

enum { FILES = 4 };

/* Of two processes each claim is known to both, the largest file first, and has
 * at most four parts for each. */
static bool claims_are(const struct tp_world *world, void *context)
{
    static const struct tp_claim want[] = {
        {2, 0, 8}, {2, 1, 8}, {2, 2, 8}, {2, 3, 8}, {2, 4, 8}, {2, 5, 8},
        {2, 6, 8}, {2, 7, 8}, {1, 0, 2}, {1, 1, 2}, {0, 0, 1}, {3, 0, 1}};
    const size_t count = sizeof want / sizeof *want;
    uint64_t weights[FILES] = {199, 250, 1000000, 0};
    struct tp_claims claims = {.items = NULL};
    (void)context;
    if (world->rank > 0) /* what it believes does not count */
        weights[0] = weights[3] = 1000000;
    bool good =
        tp_claims_make(world, weights, FILES, 100, &claims, NULL) == TP_OK &&
        claims.count == count && weights[3] == 0;
    for (size_t i = 0; i < count && good; i++)
        good = claims.items[i].file == want[i].file &&
               claims.items[i].part == want[i].part &&
               claims.items[i].parts == want[i].parts;
    tp_claims_clear(&claims);
    return good;
}

Test(claims, are_the_same_everywhere)
{
    cr_expect(run_world(2, claims_are, NULL));
}

Test(claims, each_tensor_is_of_one_part)
{
    enum { MOST = 40 };
    struct tp_tensor tensors[MOST] = {{.path = NULL}};
    for (int i = 0; i < MOST; i++)
        tensors[i] = (struct tp_tensor){.dtype = TP_FLOAT32,
                                        .numel = i % 7 == 3 ? INT64_C(1) << 50
                                                            : i % 5 * 1000};
    for (size_t count = 0; count <= MOST; count++) {
        for (size_t parts = 2; parts <= 64; parts *= 2) {
            size_t next = 0;
            for (size_t part = 0; part < parts; part++) {
                const struct tp_claim claim = {0, part, parts};
                size_t first, end;
                tp_claim_range(&claim, tensors, count, &first, &end);
                cr_assert(first == next && end >= first && end <= count);
                next = end;
            }
            cr_assert_eq(next, count);
        }
    }
}

/* Tensors of one size are halved. */
Test(claims, parts_have_equal_bytes)
{
    struct tp_tensor tensors[10];
    for (int i = 0; i < 10; i++)
        tensors[i] = (struct tp_tensor){.dtype = TP_BFLOAT16, .numel = 1000};
    const struct tp_claim claim = {0, 1, 2};
    size_t first, end;
    tp_claim_range(&claim, tensors, 10, &first, &end);
    cr_expect_eq(first, 5);
    cr_expect_eq(end, 10);
}

/* A record for each of two files, and parts of the second. */
static void make_parts(struct tp_records *records, size_t first, size_t second)
{
    struct tp_record *parts = calloc(2, sizeof *parts);
    records->items = calloc(2, sizeof *records->items);
    records->count = records->part_count = 2;
    records->items[0].path = "a";
    records->items[1].path = "b";
    for (size_t i = 0; i < 2; i++) {
        parts[i].path = "b";
        parts[i].part = i ? second : first;
        parts[i].parts = 2;
        parts[i].rows = calloc(1, sizeof *parts[i].rows);
        parts[i].row_count = 1;
        parts[i].rows[0].place = parts[i].part;
        parts[i].skipped = calloc(1, sizeof *parts[i].skipped);
        parts[i].skipped_count = 1;
        parts[i].skipped[0].offset = (int64_t)parts[i].part;
    }
    records->parts = parts;
}

Test(claims, parts_are_joined_in_order)
{
    struct tp_records records = {.arena = NULL};
    make_parts(&records, 1, 0);
    cr_assert_eq(tp_claims_join(&records, NULL), TP_OK);
    const struct tp_record *joined = &records.items[1];
    cr_expect(joined->done && joined->parts == 0 && !records.items[0].done);
    cr_assert_eq(joined->row_count, 2);
    cr_assert_eq(joined->skipped_count, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(joined->rows[i].place, i);
        cr_expect_eq(joined->skipped[i].offset, i);
    }
    tp_records_clear(&records);
}

/* Rows of a file that changed may be of two files; it is said once. */
Test(claims, a_changed_file_has_no_rows)
{
    struct tp_records records = {.arena = NULL};
    make_parts(&records, 0, 1);
    records.parts[0].changed = records.parts[1].changed = true;
    cr_assert_eq(tp_claims_join(&records, NULL), TP_OK);
    cr_expect_eq(records.items[1].row_count, 0);
    cr_expect_eq(records.items[1].skipped_count, 1);
    tp_records_clear(&records);
}

Test(claims, a_missing_part_is_an_error)
{
    struct tp_records records = {.arena = NULL};
    struct tp_error err = {0};
    make_parts(&records, 1, 1);
    cr_expect_eq(tp_claims_join(&records, &err), TP_E_IO);
    cr_expect_str_eq(err.message, "a part of b was read by no process");
    tp_records_clear(&records);
}
