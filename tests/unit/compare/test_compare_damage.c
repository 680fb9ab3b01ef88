/* SPDX-License-Identifier: MIT */
/*
 * Damage planted in one tensor of a dump, and what a comparison with the
 * healthy one says: the call, the tensor and the pattern, each with its place
 * at the beginning, in the middle or at the end, in results, arguments, weights
 * and gradients of all layers. A dump compared with itself says nothing.
 */
#include "tests/unit/support/planted_dump.h"

#include "compare/compare_damage.h"

#define NORM(layer) "Functional.layer_norm." #layer ".forward.output.0"
#define LINEAR(layer) "Functional.linear." #layer ".forward.output.0"
#define WEIGHT(layer) "Functional.linear." #layer ".forward.input.1"
#define QUERY(layer) \
    "Functional.scaled_dot_product_attention." #layer ".forward.input.0"
#define HEADS(layer) \
    "Functional.scaled_dot_product_attention." #layer ".forward.output.0"
#define EXPERTS(layer) \
    "Module.layers." #layer ".experts.Experts.forward.0.parameters.weight"
#define GRADIENT(layer) "Functional.linear." #layer ".backward.output.0"
#define IN(first, end)   \
    {                    \
        first, end, 0, 0 \
    }
#define EACH(step, width, first)    \
    {                               \
        first, 1 << 30, step, width \
    }
#define ALL \
    {       \
        0   \
    }

static const struct planted plants[] = {
    /* everything */
    {LINEAR(0), .id = "everything", .words = "all elements"},
    {QUERY(3), .id = "everything", .words = "all elements"},
    {EXPERTS(2), .what = PLANTED_NAN, .id = "everything",
     .words = "Of A all of its elements are NaN."},
    {GRADIENT(1), .what = PLANTED_ZERO, .id = "everything",
     .words = "all of them zero"},
    /* one element */
    {LINEAR(0), {IN(0, 1), IN(0, 1)}, .id = "element", .words = "[0,0]"},
    {HEADS(1),
     {ALL, IN(7, 8), IN(50, 51), IN(9, 10)},
     .id = "element",
     .words = "element [0,7,50,9]"},
    {EXPERTS(3),
     {IN(3, 4), IN(255, 256), IN(255, 256)},
     .what = PLANTED_NAN,
     .id = "element",
     .words = "element [3,255,255]: 1 element, NaN"},
    /* the last, partial tile */
    {NORM(0), {IN(96, 100)}, .id = "tail", .words = "96 to 99 of 100"},
    {LINEAR(2), {IN(96, 100)}, .id = "tail", .words = "a multiple of 32"},
    {HEADS(3),
     {ALL, ALL, IN(96, 100)},
     .what = PLANTED_ZERO,
     .id = "tail",
     .words = "96 to 99 of 100 along axis 2"},
    {WEIGHT(1), {IN(192, 256)}, .id = "tail", .words = "rows 192 to 255"},
    /* heads */
    {QUERY(0), {ALL, IN(0, 1)}, .id = "head", .words = "head 0 of 16"},
    {QUERY(1), {ALL, IN(6, 9)}, .id = "head", .words = "heads 6 to 8 of 16"},
    {HEADS(2),
     {ALL, IN(15, 16)},
     .what = PLANTED_NAN,
     .id = "head",
     .words = "head 15 of 16 along axis 1: 6400 elements, all of them NaN"},
    {HEADS(3), {ALL, IN(4, 8)}, .id = "head", .words = "heads 4 to 7 of 16"},
    /* experts */
    {EXPERTS(0), {IN(0, 1)}, .id = "expert", .words = "expert 0 of 4"},
    {EXPERTS(1), {IN(2, 3)}, .id = "expert", .words = "expert 2 of 4"},
    {EXPERTS(3),
     {IN(3, 4)},
     .what = PLANTED_ZERO,
     .id = "expert",
     .words = "expert 3 of 4"},
    /* positions of the sequence */
    {NORM(1), {IN(0, 5)}, .id = "tokens", .words = "positions 0 to 4 of 100"},
    {LINEAR(3), {IN(40, 50)}, .id = "tokens", .words = "positions 40 to 49"},
    {GRADIENT(2), {IN(90, 100)}, .id = "tokens", .words = "90 to 99 of 100"},
    {HEADS(0), {ALL, ALL, IN(33, 40)}, .id = "tokens", .words = "33 to 39"},
    /* channels */
    {NORM(2), {ALL, IN(0, 1)}, .id = "channel", .words = "channel 0 of 1024"},
    {LINEAR(1),
     {ALL, IN(100, 101)},
     .what = PLANTED_NAN,
     .id = "channel",
     .words = "channel 100 of 256"},
    {GRADIENT(3),
     {ALL, IN(1023, 1024)},
     .id = "channel",
     .words = "channel 1023 of 1024"},
    /* strides */
    {NORM(3),
     {ALL, EACH(16, 1, 3)},
     .id = "stride",
     .words = "one column in 16, from 3 on"},
    {LINEAR(0),
     {ALL, EACH(32, 4, 0)},
     .id = "stride",
     .words = "4 columns in 32, from 0 on"},
    {WEIGHT(2), {EACH(8, 1, 7)}, .id = "stride", .words = "one row in 8"},
    /* rows */
    {WEIGHT(0), {IN(0, 1)}, .id = "rows", .words = "row 0 of 256"},
    {WEIGHT(1), {IN(100, 103)}, .id = "rows", .words = "rows 100 to 102"},
    {WEIGHT(3), {IN(255, 256)}, .id = "rows", .words = "row 255 of 256"},
    {EXPERTS(2),
     {IN(1, 2), IN(77, 79)},
     .what = PLANTED_NAN,
     .id = "rows",
     .words = "2 lines along axis 2 from [1,77,0] on"},
    /* columns */
    {WEIGHT(0), {ALL, IN(0, 2)}, .id = "columns", .words = "columns 0 and 1"},
    {WEIGHT(2),
     {ALL, IN(500, 503)},
     .id = "columns",
     .words = "columns 500 to 502 of 1024 along axis 1"},
    {EXPERTS(1),
     {ALL, ALL, IN(250, 253)},
     .id = "columns",
     .words = "columns 250 to 252 of 256 along axis 2"},
    /* checkerboard */
    {LINEAR(1), .checkerboard = true, .id = "checkerboard", .words = "second"},
    {EXPERTS(0), .checkerboard = true, .id = "checkerboard", .words = "second"},
    /* memory */
    {WEIGHT(3), .memory = IN(0, 2048), .id = "rows",
     .words = "rows 0 and 1 of 256"},
    {WEIGHT(0), .memory = IN(10240 + 512, 12288 + 512), .id = "band",
     .words = "elements 10752 to 12799 of 262144 in memory, 4096 bytes or 1 "
              "page of 4096"},
    {QUERY(2), .memory = IN(20480, 21504), .id = "rows",
     .words = "16 lines along axis 3 from [0,3,20,0] on, 4096 bytes or 1 page "
              "of 4096 from a multiple of 4096 on"},
    {HEADS(0), .memory = IN(102400 - 300, 102400), .what = PLANTED_NAN,
     .id = "band",
     .words = "elements 102100 to 102399 of 102400 in memory: 300 elements"},
    {NORM(3), .memory = IN(5000, 5777), .more = IN(70000, 70999), .id = "band",
     .words = "2 stretches in memory"},
    /* blocks */
    {WEIGHT(1),
     {IN(0, 16), IN(0, 16)},
     .id = "block",
     .words = "a block: rows 0 to 15 of 256 along axis 0, columns 0 to 15"},
    {WEIGHT(2), {IN(64, 128), IN(128, 256)}, .id = "block", .words = "64 to"},
    {GRADIENT(0),
     {IN(50, 100), IN(512, 1024)},
     .id = "block",
     .words = "columns 512 to 1023 of 1024"},
    /* no pattern */
    {LINEAR(3), .in_thousand = 50, .id = "scattered", .words = "scattered"},
    {QUERY(0), .in_thousand = 300, .what = PLANTED_NAN, .id = "scattered",
     .words = "Of A its NaN are scattered"},
    /* bits */
    {LINEAR(2),
     {IN(5, 6), IN(6, 7)},
     .what = PLANTED_BIT,
     .id = "bit",
     .words = "bit 13, of the exponent, flipped"},
    {WEIGHT(0), .in_thousand = 1, .what = PLANTED_BIT, .id = "bit",
     .words = "bit 13, of the exponent, flipped"},
    {QUERY(3),
     {ALL, ALL, ALL, IN(63, 64)},
     .what = PLANTED_BIT,
     .id = "bit",
     .words = "bit 29, of the exponent, flipped"},
    {EXPERTS(1), .in_thousand = 1, .what = PLANTED_BITS, .id = "bits",
     .words = "one bit flipped in each"},
    /* rounding */
    {LINEAR(0), .what = PLANTED_ULP, .id = "rounding",
     .words = "at most 1 ULP apart; rounding in the last place; likely "
              "another kernel"},
    {QUERY(1), .what = PLANTED_ULP, .id = "rounding",
     .words = "rounding in the last place"},
    {GRADIENT(3),
     {ALL, IN(40, 60)},
     .what = PLANTED_ULP,
     .id = "rounding",
     .words = "columns 40 to 59 of 1024 along axis 1"},
    {HEADS(2), .in_thousand = 20, .what = PLANTED_ULP, .id = "rounding",
     .words = "rounding in the last place"},
};

enum { PLANTS = sizeof plants / sizeof *plants };

/* --- comparisons ---------------------------------------------------------- */

struct made {
    struct tp_pool *pool;
    struct tp_comparison comparison;
    struct tp_compare_calls calls;
    struct tp_compare_records records;
    struct tp_dump_findings findings;
};

static void make(const struct planted_dump *dump, struct made *made)
{
    char a[512], b[512];
    maker_path(&dump->maker, "a", a, sizeof a);
    maker_path(&dump->maker, "b", b, sizeof b);
    memset(made, 0, sizeof *made);
    cr_assert_eq(tp_pool_new(2, &made->pool, NULL), TP_OK);
    const struct tp_compare_options options = {.a = a,
                                               .b = b,
                                               .mode = TP_COMPARE_TENSOR,
                                               .read = {.pool = made->pool}};
    cr_assert_eq(tp_compare(&options, &made->comparison, NULL), TP_OK);
    cr_assert_eq(tp_compare_calls_make(&made->comparison, &made->calls, NULL),
                 TP_OK);
    cr_assert_eq(
        tp_compare_records_make(&made->comparison, &made->records, NULL),
        TP_OK);
    cr_assert_eq(tp_compare_findings_make(&made->comparison, &made->calls,
                                          &made->findings, NULL),
                 TP_OK);
    cr_assert_eq(tp_compare_damage_find(&made->comparison, &made->records,
                                        &made->findings, made->pool, NULL,
                                        NULL),
                 TP_OK);
}

static void clear(struct made *made)
{
    tp_dump_findings_clear(&made->findings);
    tp_compare_records_clear(&made->records);
    tp_compare_calls_clear(&made->calls);
    tp_comparison_clear(&made->comparison);
    tp_pool_free(made->pool);
}

static const struct tp_dump_finding *finding_of(const struct made *made,
                                                enum tp_compare_finding_id id)
{
    for (size_t i = 0; i < made->findings.count; i++)
        if (made->findings.rows[i].rule == &tp_compare_rules[id])
            return &made->findings.rows[i];
    return NULL;
}

static const struct tp_compare_record *record_of(const struct made *made,
                                                 const char *name)
{
    for (size_t i = 0; i < made->records.count; i++)
        if (!strcmp(made->records.rows[i].name_a, name))
            return &made->records.rows[i];
    cr_assert_fail("no row %s", name);
    return NULL;
}

/* --- plants --------------------------------------------------------------- */

/* Damages a tensor and the argument that it becomes; the latter, or NULL. */
static struct planted_tensor *damage_both(struct planted_dump *dump,
                                          const struct planted *plant,
                                          struct planted_tensor *tensor)
{
    struct planted_tensor *next = NULL;
    for (size_t i = 0; i < dump->count; i++)
        if (&dump->tensors[i] > tensor && !next &&
            dump->tensors[i].numel == tensor->numel &&
            dump->tensors[i].dtype == tensor->dtype &&
            !memcmp(dump->tensors[i].codes, tensor->codes,
                    (size_t)tensor->numel * tensor->dtype->size))
            next = &dump->tensors[i];
    cr_assert_gt(planted_damage(plant, tensor), 0);
    if (next)
        memcpy(next->codes, tensor->codes,
               (size_t)tensor->numel * tensor->dtype->size);
    return next;
}

static void expect_named(const struct planted *plant,
                         const struct planted_tensor *tensor,
                         const struct made *made)
{
    const struct tp_dump_finding *parting = finding_of(made, TP_FINDS_PARTING);
    const struct tp_compare_record *record = record_of(made, plant->tensor);
    cr_assert_not_null(parting, "%s", plant->tensor);
    cr_expect_str_eq(parting->name, tensor->call);
    cr_expect(strstr(parting->evidence, plant->tensor), "%s: %s", plant->tensor,
              parting->evidence);
    cr_expect(strstr(parting->evidence, plant->words), "%s %s: %s",
              plant->tensor, plant->words, parting->evidence);
    cr_expect_str_eq(record->damage, plant->id, "%s %s: %s", plant->tensor,
                     plant->id, record->damage_words);
}

Test(compare_damage, plants)
{
    static struct planted_dump dump;
    planted_begin(&dump);
    planted_put_all(&dump, "a");
    planted_put_all(&dump, "b");
    for (size_t i = 0; i < PLANTS; i++) {
        struct made made;
        struct planted_tensor *tensor = planted_of(&dump, plants[i].tensor);
        const size_t bytes = (size_t)tensor->numel * tensor->dtype->size;
        unsigned char *healthy = malloc(bytes);
        cr_assert_not_null(healthy);
        memcpy(healthy, tensor->codes, bytes);
        struct planted_tensor *next = damage_both(&dump, &plants[i], tensor);
        planted_put(&dump, "a", tensor);
        if (next)
            planted_put(&dump, "a", next);
        make(&dump, &made);
        expect_named(&plants[i], tensor, &made);
        clear(&made);
        memcpy(tensor->codes, healthy, bytes);
        planted_put(&dump, "a", tensor);
        if (next) {
            memcpy(next->codes, healthy, bytes);
            planted_put(&dump, "a", next);
        }
        free(healthy);
    }
    /* the twin of all of them */
    struct made made;
    make(&dump, &made);
    cr_expect_eq(made.findings.count, 0);
    cr_expect_eq(made.records.worst_count, 0);
    for (size_t i = 0; i < made.records.count; i++)
        cr_expect_str_eq(made.records.rows[i].damage, "");
    clear(&made);
    planted_end(&dump);
}

/* --- runs that differ everywhere ------------------------------------------ */

enum { ROWS = 100, COLUMNS = 1024 };

static uint32_t bits_of(double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

/* B: numbers of -1 to 1, zero included; A: these times `scale`, each off by at
 * most `error`, as float32 or rounded to bfloat16, with NaN in a column. */
struct run {
    double scale, error;
    const struct pt_dtype *dtype;
    int64_t nan; /* -1: none */
};

static void put_run(struct planted_dump *dump, const char *folder,
                    const struct run *run)
{
    static const int64_t shape[4] = {ROWS, COLUMNS};
    uint64_t values = 1, errors = 2;
    struct planted_tensor *tensor =
        planted_add(dump, "Functional.linear.0.forward", "output.0", run->dtype,
                    shape, NULL);
    for (int64_t i = 0; i < tensor->numel; i++) {
        const double value = (double)(int64_t)planted_noise(&values) * 0x1p-63;
        const double off = (double)(int64_t)planted_noise(&errors) * 0x1p-63;
        const uint32_t code = bits_of(value * run->scale + off * run->error);
        const uint32_t up = 0x7fff + (code >> 16 & 1); /* to even */
        planted_set(tensor, i,
                    run->dtype->size == 2 ? (code + up) >> 16 : code);
        if (i % COLUMNS == run->nan)
            planted_set(tensor, i, run->dtype->size == 2 ? 0x7fc0 : 0x7fc00000);
    }
    tensor->nan = run->nan >= 0;
    planted_put_all(dump, folder);
    free(tensor->codes);
    memset(tensor, 0, sizeof *tensor);
    dump->count = 0;
}

static const struct {
    struct run a, b;
    const char *id, *words;
} runs[] = {
    /* another order of summation: elements near zero are far off in ULP */
    {{1, 1e-6, &pt_float32, -1},
     {1, 0, &pt_float32, -1},
     "rounding",
     "other values; rounding in the last place"},
    {{1, 1e-3, &pt_float32, -1},
     {1, 0, &pt_float32, -1},
     "everything",
     "other values."},
    {{1.001, 0, &pt_float32, -1},
     {1, 0, &pt_float32, -1},
     "everything",
     "other values."},
    /* two dtypes */
    {{1, 0, &pt_bfloat16, -1},
     {1, 0, &pt_float32, -1},
     "rounding",
     "Rounding between bfloat16 and float32."},
    {{1, 0, &pt_float32, -1},
     {1, 0, &pt_bfloat16, -1},
     "rounding",
     "Rounding between float32 and bfloat16."},
    {{1.5, 0, &pt_bfloat16, -1},
     {1, 0, &pt_float32, -1},
     "",
     "Values of bfloat16 and float32 that differ by more than rounding"},
    {{1, 0, &pt_bfloat16, 7},
     {1, 0, &pt_float32, -1},
     "channel",
     "Of A its NaN are in channel 7 of 1024 along axis 1"},
    /* NaN in one of two runs that differ by rounding */
    {{1, 1e-6, &pt_float32, 7},
     {1, 0, &pt_float32, -1},
     "channel",
     "Of A its NaN are in channel 7 of 1024 along axis 1"},
    {{1, 1e-6, &pt_float32, -1},
     {1, 0, &pt_float32, 7},
     "channel",
     "Of B its NaN are in channel 7 of 1024 along axis 1"},
    {{1, 1e-6, &pt_float32, 7},
     {1, 0, &pt_float32, 7},
     "rounding",
     "rounding in the last place"},
};

Test(compare_damage, runs_that_differ_everywhere)
{
    static struct planted_dump dump;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct made made;
        memset(&dump, 0, sizeof dump);
        dump.maker = maker_begin();
        put_run(&dump, "a", &runs[i].a);
        put_run(&dump, "b", &runs[i].b);
        make(&dump, &made);
        const struct tp_dump_finding *parting =
            finding_of(&made, TP_FINDS_PARTING);
        cr_assert_not_null(parting);
        cr_expect(strstr(parting->evidence, runs[i].words), "%zu: %s", i,
                  parting->evidence);
        cr_expect_str_eq(record_of(&made, LINEAR(0))->damage, runs[i].id,
                         "%zu: %s", i, parting->evidence);
        clear(&made);
        planted_end(&dump);
    }
}
