/* SPDX-License-Identifier: MIT */
#include "compare/content_digest.h"

#include <string.h>

#include <criterion/criterion.h>

enum { NAN_HALF = 0x7c01, NAN_BFLOAT = 0x7f81 };

/* What torch 2 gives for .bfloat16() and .half() of these float32; where it
 * gives a NaN (several codes), ours is the one of all NaN. -0 is 0. */
static const struct {
    uint32_t code;
    uint64_t bfloat, half;
} singles[] = {
    {0x3f808000, 0x3f80, 0x3c04},       {0x3f818000, 0x3f82, 0x3c0c},
    {0x3f808001, 0x3f81, 0x3c04},       {0xbf807fff, 0xbf80, 0xbc04},
    {0x7f7fffff, 0x7f80, 0x7c00},       {0x7f800000, 0x7f80, 0x7c00},
    {0x7fc00001, NAN_BFLOAT, NAN_HALF}, {0xffc12345, NAN_BFLOAT, NAN_HALF},
    {0x7f800001, NAN_BFLOAT, NAN_HALF}, {0x80000000, 0x0000, 0x0000},
    {0x00000001, 0x0000, 0x0000},       {0x33000000, 0x3300, 0x0000},
    {0x33000001, 0x3300, 0x0001},       {0x33800000, 0x3380, 0x0001},
    {0x477fefff, 0x4780, 0x7bff},       {0x477ff000, 0x4780, 0x7c00},
    {0x38800000, 0x3880, 0x0400},       {0x387fffff, 0x3880, 0x0400},
    {0x3f801000, 0x3f80, 0x3c00},       {0x3f803000, 0x3f80, 0x3c02},
    {0x0000ffff, 0x0001, 0x0000},       {0xff7f8000, 0xff80, 0xfc00},
};

/* Of these float64: .float(), .bfloat16(), .half(). */
static const struct {
    double value;
    uint64_t single, bfloat, half;
} doubles[] = {
    {0x1.0100000001p+0, 0x3f808000, 0x3f80, 0x3c04},
    {0x1.0000010000p+0, 0x3f800000, 0x3f80, 0x3c00},
    {0x1.0000010000004p+0, 0x3f800001, 0x3f80, 0x3c00},
    {0x1.ffdfffffffff2p+15, 0x477ff000, 0x4780, 0x7c00},
    {1e300, 0x7f800000, 0x7f80, 0x7c00},
    {0x1p-150, 0, 0, 0},
};

Test(content_digest, casts_are_those_of_torch)
{
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        uint64_t code;
        tp_content_codes(TP_FLOAT32, TP_BFLOAT16, &singles[i].code, 1, &code);
        cr_expect_eq(code, singles[i].bfloat, "%08x", singles[i].code);
        tp_content_codes(TP_FLOAT32, TP_FLOAT16, &singles[i].code, 1, &code);
        cr_expect_eq(code, singles[i].half, "%08x", singles[i].code);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        uint64_t code;
        tp_content_codes(TP_FLOAT64, TP_FLOAT32, &doubles[i].value, 1, &code);
        cr_expect_eq(code, doubles[i].single, "%a", doubles[i].value);
        tp_content_codes(TP_FLOAT64, TP_BFLOAT16, &doubles[i].value, 1, &code);
        cr_expect_eq(code, doubles[i].bfloat, "%a", doubles[i].value);
        tp_content_codes(TP_FLOAT64, TP_FLOAT16, &doubles[i].value, 1, &code);
        cr_expect_eq(code, doubles[i].half, "%a", doubles[i].value);
    }
}

Test(content_digest, codes_of_integers_are_left_alone)
{
    const int16_t values[] = {-1, 0, INT16_MIN};
    const uint16_t expected[] = {0xffff, 0, 0x8000};
    uint64_t codes[3];
    tp_content_codes(TP_INT16, TP_INT16, values, 3, codes);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(codes[i], expected[i]);
    cr_expect_not(tp_content_casts(TP_INT64, TP_INT32));
    cr_expect_not(tp_content_casts(TP_BFLOAT16, TP_FLOAT16));
    cr_expect(tp_content_casts(TP_FLOAT64, TP_FLOAT16));
}

static struct tp_content_digest digest_of(const uint64_t *codes, size_t n)
{
    struct tp_content_digest digest = {0};
    tp_content_digest_add(codes, n, 0, &digest);
    return digest;
}

enum { N = 3000 };

static void fill(uint64_t *codes)
{
    for (int i = 0; i < N; i++)
        codes[i] = (uint64_t)i % 77;
}

/* In pieces, in any order of them: the same. */
Test(content_digest, sums_do_not_depend_on_the_grid)
{
    uint64_t codes[N];
    struct tp_content_digest pieces = {0}, more = {0};
    fill(codes);
    const struct tp_content_digest all = digest_of(codes, N);
    tp_content_digest_add(codes + 1001, N - 1001, 1001, &pieces);
    tp_content_digest_add(codes, 1001, 0, &more);
    tp_content_digest_merge(&pieces, &more);
    cr_expect_eq(memcmp(&all, &pieces, sizeof all), 0);
}

/* Of parts each counted from its own first element the bags sum up. */
Test(content_digest, the_bag_of_a_whole_is_that_of_its_parts)
{
    uint64_t codes[N];
    fill(codes);
    const struct tp_content_digest all = digest_of(codes, N);
    struct tp_content_digest parts = digest_of(codes, 700);
    const struct tp_content_digest rest = digest_of(codes + 700, N - 700);
    tp_content_digest_merge(&parts, &rest);
    cr_expect_eq(memcmp(all.bag, parts.bag, sizeof all.bag), 0);
    cr_expect_neq(all.order, parts.order);
}

/* Two elements change places: the order tells, the bag does not; at distances
 * that are powers of two, too. One element changes: both tell. */
Test(content_digest, twins)
{
    uint64_t codes[N];
    fill(codes);
    const struct tp_content_digest all = digest_of(codes, N);
    for (int distance = 1; distance < N; distance *= 2) {
        uint64_t turned[N];
        memcpy(turned, codes, sizeof codes);
        turned[0] = codes[distance];
        turned[distance] = codes[0];
        const struct tp_content_digest other = digest_of(turned, N);
        cr_expect_eq(memcmp(all.bag, other.bag, sizeof all.bag), 0);
        cr_expect_eq(all.order == other.order, codes[0] == codes[distance],
                     "%d", distance);
        turned[distance]++;
        const struct tp_content_digest changed = digest_of(turned, N);
        cr_expect_neq(changed.bag[0], all.bag[0]);
        cr_expect_neq(changed.bag[1], all.bag[1]);
        cr_expect_neq(changed.order, other.order);
    }
}
