/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/pt_maker.h"

#include "compare/content_findings.h"
#include "compare/content_match.h"
#include "data/skipped.h"

/* Two folders, a and b, and what is found in them. */
struct world {
    struct maker maker;
    struct tp_content content;
    struct tp_content_rows rows;
    struct tp_dump_findings findings;
};

enum { MOST = 4096 };

static void fill(float *values, size_t count, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values[i] = (float)(int32_t)(state >> 32) / 0x1p28f;
    }
}

static void put(const struct world *world, const char *name,
                const float *values, uint32_t rows, uint32_t columns)
{
    const int64_t shape[] = {rows, columns};
    const int first = rows == 0; /* one axis only */
    pt_put_shaped(&world->maker, name, &pt_float32, values, shape + first,
                  2 - first);
}

static void match_with(struct world *world, unsigned jobs)
{
    char a[128], b[128];
    const struct tp_number_set all = {0};
    struct tp_error err = {0};
    struct tp_content_options options = {
        .a = a, .b = b, .steps = &all, .ranks = &all};
    maker_path(&world->maker, "a", a, sizeof a);
    maker_path(&world->maker, "b", b, sizeof b);
    cr_assert_eq(tp_pool_new(jobs, &options.reading.pool, &err), TP_OK);
    memset(&world->content, 0, sizeof world->content);
    memset(&world->rows, 0, sizeof world->rows);
    memset(&world->findings, 0, sizeof world->findings);
    cr_assert_eq(tp_content_compare(&options, &world->content, &err), TP_OK,
                 "%s", err.message);
    cr_assert_eq(tp_content_rows_make(&world->content, &world->rows, &err),
                 TP_OK);
    cr_assert_eq(tp_content_findings_make(&world->content, &world->rows,
                                          &world->findings, &err),
                 TP_OK);
    tp_pool_free(options.reading.pool);
}

static void forget(struct world *world)
{
    tp_dump_findings_clear(&world->findings);
    tp_content_rows_clear(&world->rows);
    tp_content_clear(&world->content);
}

/* The only match says so. */
static void expect_words(struct world *world, const char *words)
{
    match_with(world, 2);
    cr_expect_eq(world->rows.count, 1, "%zu for %s", world->rows.count, words);
    if (world->rows.count)
        cr_expect_str_eq(world->rows.rows[0].words, words);
    cr_expect_eq(world->findings.count, 0);
    forget(world);
}

/* Nothing is found, and that is told. */
static void expect_lost(struct world *world)
{
    match_with(world, 2);
    cr_expect_eq(world->rows.count, 0);
    cr_assert_eq(world->findings.count, 1);
    cr_expect_eq(world->findings.rows[0].rule,
                 &tp_compare_rules[TP_FINDS_LOST]);
    cr_expect_eq(world->findings.rows[0].level, TP_SEVERITY_MEDIUM);
    forget(world);
}

Test(content_match, equal_and_its_twin)
{
    struct world world = {.maker = maker_begin()};
    float x[MOST];
    fill(x, MOST, 1);
    put(&world, "a/one.pt", x, 64, 64);
    put(&world, "b/two.pt", x, 64, 64);
    expect_words(&world, "equal");
    put(&world, "b/two.pt", x, 16, 256);
    expect_words(&world, "reshaped");
    x[4095] += 1;
    put(&world, "b/two.pt", x, 64, 64);
    match_with(&world, 2);
    cr_expect_eq(world.rows.count, 0);
    cr_assert_eq(world.rows.alone_count, 2);
    cr_expect_str_eq(world.rows.alone[0].nearest, "two");
    cr_expect_float_eq(world.rows.alone[0].differing_share, 1.0 / 4096, 1e-12);
    forget(&world);
    maker_end(&world.maker);
}

Test(content_match, transposed_and_its_twin)
{
    struct world world = {.maker = maker_begin()};
    float x[48 * 64], y[48 * 64];
    fill(x, 48 * 64, 2);
    for (size_t i = 0; i < 48; i++)
        for (size_t k = 0; k < 64; k++)
            y[k * 48 + i] = x[i * 64 + k];
    put(&world, "a/one.pt", x, 48, 64);
    put(&world, "b/two.pt", y, 64, 48);
    expect_words(&world, "transposed");
    const float kept = y[7]; /* no transposition, though all are there */
    y[7] = y[1000];
    y[1000] = kept;
    put(&world, "b/two.pt", y, 64, 48);
    expect_words(&world, "the same elements in another order");
    y[7] += 1;
    put(&world, "b/two.pt", y, 64, 48);
    expect_lost(&world);
    maker_end(&world.maker);
}

/* What bfloat16 drops is random, so that each value rounds up or down. */
Test(content_match, cast_and_its_twin)
{
    struct world world = {.maker = maker_begin()};
    float x[MOST];
    uint16_t y[MOST];
    fill(x, MOST, 3);
    for (size_t i = 0; i < MOST; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        const uint32_t low = bits & 0xffff;
        y[i] = (uint16_t)((bits >> 16) +
                          (low > 0x8000 || (low == 0x8000 && bits >> 16 & 1)));
    }
    put(&world, "a/one.pt", x, 64, 64);
    pt_put_shaped(&world.maker, "b/two.pt", &pt_bfloat16, y,
                  (const int64_t[]){64, 64}, 2);
    expect_words(&world, "equal, rounded to bfloat16");
    y[9] ^= 1;
    pt_put_shaped(&world.maker, "b/two.pt", &pt_bfloat16, y,
                  (const int64_t[]){64, 64}, 2);
    expect_lost(&world);
    maker_end(&world.maker);
}

/* Shards in folders of ranks; ten come behind two. */
Test(content_match, split_along_both_axes)
{
    enum { SHARDS = 11 };
    struct world world = {.maker = maker_begin()};
    float x[SHARDS * 64], shard[64];
    fill(x, SHARDS * 64, 4);
    put(&world, "a/whole.pt", x, 8, SHARDS * 8);
    for (int rank = 0; rank < SHARDS; rank++) {
        char name[64];
        snprintf(name, sizeof name, "b/rank%d/w.pt", rank);
        for (int i = 0; i < 8; i++)
            memcpy(shard + 8 * i, x + SHARDS * 8 * i + 8 * rank, 8 * sizeof *x);
        put(&world, name, shard, 8, 8);
    }
    expect_words(&world, "split in 11 in B along axis 1");
    put(&world, "a/whole.pt", x, SHARDS * 8, 8);
    for (int rank = 0; rank < SHARDS; rank++) {
        char name[64];
        snprintf(name, sizeof name, "b/rank%d/w.pt", rank);
        put(&world, name, x + 64 * rank, 8, 8);
    }
    expect_words(&world, "split in 11 in B along axis 0");
    shard[0] += 1;
    put(&world, "b/rank5/w.pt", shard, 8, 8);
    expect_lost(&world);
    maker_end(&world.maker);
}

/* q, k and v behind each other, and by heads of four rows. */
Test(content_match, fused_and_its_twin)
{
    enum { HEAD = 4 * 16 };
    struct world world = {.maker = maker_begin()};
    float x[8 * HEAD], y[8 * HEAD];
    fill(x, 8 * HEAD, 5);
    put(&world, "a/q.pt", x, 16, 16);
    put(&world, "a/k.pt", x + 4 * HEAD, 8, 16);
    put(&world, "a/v.pt", x + 6 * HEAD, 8, 16);
    put(&world, "b/all.pt", x, 32, 16);
    expect_words(&world, "fused of 3 in B along axis 0");
    static const int order[] = {0, 1, 4, 6, 2, 3, 5, 7};
    for (int i = 0; i < 8; i++)
        memcpy(y + i * HEAD, x + order[i] * HEAD, HEAD * sizeof *y);
    put(&world, "b/all.pt", y, 32, 16);
    expect_words(&world, "fused of 3 in B, rows in another order, in blocks "
                         "of 4");
    y[100] += 1;
    put(&world, "b/all.pt", y, 32, 16);
    expect_lost(&world);
    maker_end(&world.maker);
}

/* One constant is like the other: names say which, and nothing is swapped. */
Test(content_match, constants)
{
    struct world world = {.maker = maker_begin()};
    float ones[64];
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    put(&world, "a/x.1.norm.pt", ones, 0, 64);
    put(&world, "a/x.2.norm.pt", ones, 0, 64);
    put(&world, "b/y.2.norm.pt", ones, 0, 64);
    put(&world, "b/y.1.norm.pt", ones, 0, 64);
    put(&world, "a/bias.pt", ones, 0, 32); /* 32 + 32 ones are no fusion */
    match_with(&world, 2);
    cr_assert_eq(world.rows.count, 2);
    cr_expect_str_eq(world.rows.rows[0].left, "x.1.norm");
    cr_expect_str_eq(world.rows.rows[0].right, "y.1.norm");
    cr_expect_str_eq(world.rows.rows[1].right, "y.2.norm");
    cr_expect_str_eq(world.rows.rows[0].words, "equal, constant");
    cr_expect_eq(world.findings.count, 0);
    cr_assert_eq(world.rows.alone_count, 1);
    cr_expect_str_eq(world.rows.alone[0].kind, "constant");
    forget(&world);
    maker_end(&world.maker);
}

/* Tied: one of A is two of B. */
Test(content_match, copies)
{
    struct world world = {.maker = maker_begin()};
    float x[MOST];
    fill(x, MOST, 6);
    put(&world, "a/embedding.pt", x, 64, 64);
    put(&world, "b/embedding.pt", x, 64, 64);
    put(&world, "b/output.pt", x, 64, 64);
    match_with(&world, 2);
    cr_assert_eq(world.rows.count, 2);
    cr_expect_str_eq(world.rows.rows[0].right, "embedding");
    cr_expect_eq(world.rows.rows[0].copy, 0);
    cr_expect_str_eq(world.rows.rows[1].right, "output");
    cr_expect_eq(world.rows.rows[1].copy, 1);
    cr_expect_eq(world.rows.found[1], 2);
    cr_expect_eq(world.findings.count, 0);
    forget(&world);
    maker_end(&world.maker);
}

Test(content_match, swapped_names_and_their_twin)
{
    struct world world = {.maker = maker_begin()};
    float x[3 * 64];
    fill(x, 3 * 64, 7);
    put(&world, "a/gate.pt", x, 8, 8);
    put(&world, "a/up.pt", x + 64, 8, 8);
    put(&world, "b/gate.pt", x + 64, 8, 8);
    put(&world, "b/up.pt", x, 8, 8);
    match_with(&world, 2);
    cr_assert_eq(world.findings.count, 1);
    cr_expect_eq(world.findings.rows[0].rule,
                 &tp_compare_rules[TP_FINDS_SWAPPED]);
    cr_expect_eq(world.findings.rows[0].level, TP_SEVERITY_HIGH);
    cr_expect_eq(world.findings.rows[0].count, 2);
    forget(&world);
    put(&world, "b/gate.pt", x, 8, 8);
    put(&world, "b/up.pt", x + 64, 8, 8);
    match_with(&world, 2);
    cr_expect_eq(world.findings.count, 0);
    forget(&world);
    maker_end(&world.maker);
}

/* A layer was left out: what is behind it moved up, nothing was swapped. */
Test(content_match, moved_names)
{
    struct world world = {.maker = maker_begin()};
    float x[4 * 64];
    fill(x, 4 * 64, 8);
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "a/w.%d.pt", i);
        put(&world, name, x + 64 * i, 8, 8);
        snprintf(name, sizeof name, "b/w.%d.pt", i < 2 ? i : i - 1);
        put(&world, name, x + 64 * i, 8, 8); /* the third replaces the second */
    }
    match_with(&world, 1);
    cr_assert_eq(world.findings.count, 2);
    cr_expect_eq(world.findings.rows[0].rule,
                 &tp_compare_rules[TP_FINDS_MOVED]);
    cr_expect_eq(world.findings.rows[0].count, 1);
    cr_expect_eq(world.findings.rows[1].rule, &tp_compare_rules[TP_FINDS_LOST]);
    forget(&world);
    maker_end(&world.maker);
}

/* A file that is no tensor is told, and the rest is matched all the same, by
 * one thread as by four. */
Test(content_match, damage_and_threads)
{
    struct world world = {.maker = maker_begin()};
    float x[MOST];
    fill(x, MOST, 9);
    put(&world, "a/one.pt", x, 64, 64);
    put(&world, "b/two.pt", x, 64, 64);
    maker_put(&world.maker, "b/broken.pt", "PK\3\4 and no more");
    maker_put(&world.maker, "b/README", "no tensor");
    for (unsigned jobs = 1; jobs <= 4; jobs += 3) {
        match_with(&world, jobs);
        cr_expect_eq(world.rows.count, 1);
        size_t damage;
        struct tp_error err = {0};
        cr_assert_eq(tp_skipped_damage(&world.content.sides[1].found, &damage,
                                       &err),
                     TP_OK);
        cr_expect_eq(damage, 1);
        cr_assert_eq(world.findings.count, 1);
        cr_expect_eq(world.findings.rows[0].rule,
                     &tp_compare_rules[TP_FINDS_UNREAD]);
        forget(&world);
    }
    maker_end(&world.maker);
}
