/* SPDX-License-Identifier: MIT */
/*
 * Memory that is written to between two calls, and NaN that a call makes,
 * planted in a dump: the call, the tensor and the pattern are named. Of more
 * than a tenth of a tensor, the audit of the flow says nothing: it may be
 * another tensor. A healthy dump has no finding.
 */
#include "tests/unit/support/planted_dump.h"

#include "dump/dump_damage.h"
#include "dump/dump_flow.h"
#include "dump/dump_origin.h"

#define NORMED(layer) "Functional.linear." #layer ".forward.input.0"
#define QUERY(layer) \
    "Functional.scaled_dot_product_attention." #layer ".forward.input.0"
#define ATTENDED(layer) \
    "Module.layers." #layer ".experts.Experts.forward.0.input.0"
#define LINEAR(layer) "Functional.linear." #layer ".forward.output.0"
#define HEADS(layer) \
    "Functional.scaled_dot_product_attention." #layer ".forward.output.0"
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

struct audited {
    struct tp_pool *pool;
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_flow flow;
    struct tp_dump_findings findings;
};

static void audit(const struct planted_dump *dump, struct audited *audited)
{
    memset(audited, 0, sizeof *audited);
    cr_assert_eq(tp_pool_new(2, &audited->pool, NULL), TP_OK);
    cr_assert_eq(maker_read(&dump->maker, "a", false, &audited->dump), TP_OK);
    cr_assert_eq(
        tp_dump_anomalies_find(&audited->dump, &audited->anomalies, NULL),
        TP_OK);
    cr_assert_eq(tp_dump_origins_find(&audited->dump, &audited->anomalies,
                                      audited->pool, NULL, &audited->findings,
                                      NULL),
                 TP_OK);
    cr_assert_eq(tp_dump_flow_find(&audited->dump, audited->pool, NULL,
                                   &audited->flow, &audited->findings, NULL),
                 TP_OK);
}

static void clear(struct audited *audited)
{
    tp_dump_findings_clear(&audited->findings);
    tp_dump_flow_clear(&audited->flow);
    tp_dump_anomalies_clear(&audited->anomalies);
    tp_dump_clear(&audited->dump);
    tp_pool_free(audited->pool);
}

/* --- memory between two calls --------------------------------------------- */

static const struct planted stomped[] = {
    {NORMED(0), {IN(0, 1), IN(0, 1)}, .id = "element", .words = "[0,0]"},
    {NORMED(1), {IN(50, 51), IN(9, 10)}, .id = "element", .words = "[50,9]"},
    {QUERY(3),
     {ALL, IN(15, 16), IN(99, 100), IN(63, 64)},
     .what = PLANTED_NAN,
     .id = "element",
     .words = "element [0,15,99,63]: 1 element, NaN"},
    {NORMED(2), {IN(96, 100)}, .id = "tail", .words = "rows 96 to 99 of 100"},
    {ATTENDED(0),
     {ALL, ALL, IN(96, 100)},
     .what = PLANTED_ZERO,
     .id = "tail",
     .words = "96 to 99 of 100 along axis 2"},
    {QUERY(0), {ALL, IN(0, 1)}, .id = "head", .words = "head 0 of 16"},
    {QUERY(1),
     {ALL, IN(8, 9)},
     .what = PLANTED_ZERO,
     .id = "head",
     .words = "head 8 of 16 along axis 1: 6400 elements, all of them zero"},
    {QUERY(2), {ALL, IN(15, 16)}, .id = "head", .words = "head 15 of 16"},
    {NORMED(3), {IN(0, 5)}, .id = "tokens", .words = "positions 0 to 4 of 100"},
    {NORMED(0), {IN(50, 60)}, .id = "tokens", .words = "positions 50 to 59"},
    {QUERY(1), {ALL, ALL, IN(33, 40)}, .id = "tokens", .words = "33 to 39"},
    {NORMED(1), {ALL, IN(0, 1)}, .id = "channel", .words = "channel 0 of 1024"},
    {NORMED(2), {ALL, IN(511, 512)}, .id = "channel", .words = "channel 511"},
    {NORMED(3),
     {ALL, IN(1023, 1024)},
     .what = PLANTED_NAN,
     .id = "channel",
     .words = "channel 1023 of 1024"},
    {NORMED(0),
     {ALL, EACH(16, 1, 3)},
     .id = "stride",
     .words = "one column in 16, from 3 on"},
    {ATTENDED(1),
     {ALL, ALL, ALL, EACH(32, 2, 0)},
     .id = "columns", /* of 64 columns, two steps only */
     .words = "columns 0, 1, 32 and 33 of 64"},
    {ATTENDED(2),
     {ALL, IN(3, 4)},
     .id = "rows",
     .words = "index 3 of 16 along axis 1"},
    {ATTENDED(3), {ALL, ALL, IN(0, 1)}, .id = "rows", .words = "index 0 of"},
    {NORMED(1), {ALL, IN(0, 2)}, .id = "columns", .words = "columns 0 and 1"},
    {NORMED(2),
     {ALL, IN(600, 603)},
     .id = "columns",
     .words = "columns 600 to 602 of 1024"},
    {QUERY(3),
     {ALL, ALL, ALL, IN(62, 64)},
     .id = "columns",
     .words = "columns 62 and 63 of 64 along axis 3"},
    {NORMED(3), .memory = IN(0, 777), .id = "band",
     .words = "elements 0 to 776 of 102400 in memory"},
    {NORMED(0), .memory = IN(50000, 52048), .id = "band",
     .words = "elements 50000 to 52047 of 102400 in memory, 4096 bytes or 1 "
              "page of 4096"},
    {QUERY(0), .memory = IN(40960, 43008), .what = PLANTED_ZERO, .id = "rows",
     .words = "8192 bytes or 2 pages of 4096 from a multiple of 4096 on"},
    {ATTENDED(0), .memory = IN(102100, 102400), .id = "band",
     .words = "elements 102100 to 102399 of 102400 in memory"},
    {ATTENDED(1), .memory = IN(100, 900), .more = IN(80000, 80777),
     .id = "band", .words = "2 stretches in memory"},
    {NORMED(1),
     {IN(0, 20), IN(0, 128)},
     .id = "block",
     .words = "a block: rows 0 to 19 of 100 along axis 0, columns 0 to 127"},
    {NORMED(2),
     {IN(70, 100), IN(900, 1024)},
     .id = "block",
     .words = "columns 900 to 1023"},
    {NORMED(3), .in_thousand = 50, .id = "scattered", .words = "scattered"},
    {NORMED(0),
     {IN(5, 6), IN(6, 7)},
     .what = PLANTED_BIT,
     .id = "bit",
     .words = "bit 13, of the exponent, flipped"},
    {ATTENDED(2), .in_thousand = 1, .what = PLANTED_BIT, .id = "bit",
     .words = "bit 29, of the exponent, flipped"},
    {NORMED(1), .in_thousand = 2, .what = PLANTED_BITS, .id = "bits",
     .words = "one bit flipped in each"},
    {NORMED(2),
     {IN(40, 45)},
     .what = PLANTED_ULP,
     .id = "rounding",
     .words = "positions 40 to 44 of 100 along axis 0: 5120 elements, at most "
              "1 ULP apart"},
    /* more than a tenth */
    {NORMED(0), .id = ""},
    {QUERY(0), {ALL, IN(4, 8)}, .id = ""},
    {NORMED(1), .checkerboard = true, .id = ""},
    {ATTENDED(3), .memory = IN(0, 20000), .id = ""},
    {NORMED(2), .in_thousand = 500, .what = PLANTED_NAN, .id = ""},
};

static void expect_stomped(const struct planted *plant,
                           const struct planted_tensor *from,
                           const struct planted_tensor *tensor, int64_t count,
                           const struct audited *audited)
{
    const bool said = *plant->id;
    char producer[128];
    const struct tp_dump_flow_row *row = audited->flow.rows;
    cr_assert_eq(audited->flow.count, said, "%s %s: %zu", plant->tensor,
                 plant->id, audited->flow.count);
    cr_assert_eq(audited->findings.count, said, "%s", plant->tensor);
    if (!said)
        return;
    const char *evidence = audited->findings.rows[0].evidence;
    snprintf(producer, sizeof producer, "%s.%s", from->call, from->item);
    cr_expect_eq(audited->findings.rows[0].rule,
                 &tp_dump_checks[TP_CHECK_FLOW].rule);
    cr_expect_str_eq(row->kind, "changed");
    cr_expect_str_eq(row->consumer, plant->tensor);
    cr_expect_str_eq(row->producer, producer);
    cr_expect_eq(row->differing, count, "%s", tensor->call);
    cr_expect_str_eq(row->damage, plant->id, "%s: %s", plant->tensor, evidence);
    cr_expect(strstr(evidence, plant->words), "%s: %s", plant->words, evidence);
}

Test(dump_damage, memory_between_two_calls)
{
    static struct planted_dump dump;
    struct audited audited;
    planted_begin(&dump);
    planted_put_all(&dump, "a");
    for (size_t i = 0; i < sizeof stomped / sizeof *stomped; i++) {
        struct planted_tensor *tensor = planted_of(&dump, stomped[i].tensor);
        const struct planted_tensor *from = tensor - 1; /* made just before */
        const int64_t count = planted_damage(&stomped[i], tensor);
        planted_put(&dump, "a", tensor);
        audit(&dump, &audited);
        expect_stomped(&stomped[i], from, tensor, count, &audited);
        clear(&audited);
        memcpy(tensor->codes, from->codes,
               (size_t)tensor->numel * tensor->dtype->size);
        planted_put(&dump, "a", tensor);
    }
    audit(&dump, &audited); /* the twin of all of them */
    cr_expect_eq(audited.flow.count, 0);
    cr_expect_eq(audited.findings.count, 0);
    cr_expect_eq(audited.flow.matched, 3 * (size_t)PLANTED_LAYERS);
    clear(&audited);
    planted_end(&dump);
}

/* --- NaN and Inf ---------------------------------------------------------- */

static const struct planted nonfinite[] = {
    {LINEAR(0),
     {IN(7, 8), IN(8, 9)},
     .words = "Its NaN is element [7,8]; "
              "likely what this element"},
    {LINEAR(1), .words = "All of its elements are NaN. "},
    {LINEAR(2), {IN(96, 100)}, .words = "Its NaN are in rows 96 to 99 of 100"},
    {LINEAR(3), {ALL, IN(17, 18)}, .words = "Its NaN are in channel 17 of 256"},
    {HEADS(0), {ALL, IN(3, 5)}, .words = "Its NaN are in heads 3 and 4 of 16"},
    {HEADS(1), {ALL, ALL, IN(0, 9)}, .words = "Its NaN are in positions 0 to"},
    {HEADS(2), .memory = IN(777, 3000), .words = "elements 777 to 2999"},
    {HEADS(3), .in_thousand = 30, .words = "Its NaN are scattered, from"},
    {LINEAR(0),
     {IN(7, 8), IN(8, 9)},
     .what = PLANTED_INF,
     .words = "gave Inf in output.0; what it was given is finite: "},
    {LINEAR(0),
     {IN(7, 8), IN(8, 9)},
     .what = PLANTED_INF,
     .words = "Its Inf is element [7,8]; likely what this element"},
    {LINEAR(1), .what = PLANTED_INF, .words = "of its elements are Inf. "},
    {LINEAR(2),
     {IN(96, 100)},
     .what = PLANTED_INF,
     .words = "Its Inf are in rows 96 to 99 of 100"},
    {LINEAR(3),
     {ALL, IN(17, 18)},
     .what = PLANTED_INF,
     .words = "Its Inf are in channel 17 of 256"},
    {HEADS(0),
     {ALL, IN(3, 5)},
     .what = PLANTED_INF,
     .words = "Its Inf are in heads 3 and 4 of 16"},
    {HEADS(2), .memory = IN(777, 3000), .what = PLANTED_INF,
     .words = "elements 777 to 2999"},
};

/* The finding about what a call makes; NULL: there is none. */
static const struct tp_dump_finding *made_by_call(const struct audited *audited)
{
    for (size_t i = 0; i < audited->findings.count; i++)
        if (audited->findings.rows[i].rule ==
            &tp_dump_checks[TP_CHECK_NONFINITE].rule)
            return &audited->findings.rows[i];
    return NULL;
}

static void expect_made(const struct planted_dump *dump,
                        const struct planted_tensor *tensor,
                        const struct planted *plant)
{
    struct audited audited;
    planted_put(dump, "a", tensor);
    planted_put_json(dump, "a");
    audit(dump, &audited);
    const struct tp_dump_finding *finding = made_by_call(&audited);
    if (plant->what == PLANTED_OTHER) {
        cr_expect_null(finding, "healthy again");
    } else {
        cr_assert_not_null(finding, "%s", plant->words);
        cr_expect_eq(finding, &audited.findings.rows[0]);
        cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
        cr_expect_str_eq(finding->name, tensor->call);
        cr_expect(strstr(finding->evidence, plant->words), "%s: %s",
                  plant->words, finding->evidence);
    }
    clear(&audited);
}

Test(dump_damage, nan_and_inf_that_a_call_makes)
{
    static struct planted_dump dump;
    planted_begin(&dump);
    planted_put_all(&dump, "a");
    for (size_t i = 0; i < sizeof nonfinite / sizeof *nonfinite; i++) {
        struct planted plant = nonfinite[i];
        const struct planted none = {.what = PLANTED_OTHER};
        struct planted_tensor *tensor = planted_of(&dump, plant.tensor);
        const size_t bytes = (size_t)tensor->numel * tensor->dtype->size;
        unsigned char *healthy = malloc(bytes);
        cr_assert_not_null(healthy);
        memcpy(healthy, tensor->codes, bytes);
        if (plant.what == PLANTED_OTHER)
            plant.what = PLANTED_NAN;
        planted_damage(&plant, tensor);
        tensor->nan = plant.what == PLANTED_NAN;
        expect_made(&dump, tensor, &plant);
        memcpy(tensor->codes, healthy, bytes);
        tensor->nan = false;
        expect_made(&dump, tensor, &none);
        free(healthy);
    }
    planted_end(&dump);
}

/* --- what cannot be read -------------------------------------------------- */

Test(dump_damage, files_that_cannot_be_read)
{
    static struct planted_dump dump;
    struct audited audited;
    struct tp_readers readers;
    struct tp_dump_damage damage = {.read = false};
    planted_begin(&dump);
    planted_put_all(&dump, "a");
    maker_put(&dump.maker, "a/step0/rank0/dump_tensor_data/" LINEAR(0) ".pt",
              "PK nothing");
    audit(&dump, &audited);
    const struct tp_dump_call *call =
        tp_dump_call_of(&audited.dump.places[0], "Functional.linear.0.forward");
    const struct tp_dump_item *items =
        &audited.dump.places[0].items[call->first];
    cr_assert_eq(tp_readers_init(&readers, audited.pool, NULL), TP_OK);
    cr_expect_eq(tp_dump_damage_nonfinite(&readers, &items[2], &damage, NULL),
                 TP_OK);
    cr_expect_not(damage.read);
    cr_expect_eq(
        tp_dump_damage_pair(&readers, &items[0], &items[2], &damage, NULL),
        TP_OK);
    cr_expect_not(damage.read);
    /* of other sizes, and one without NaN */
    cr_expect_eq(
        tp_dump_damage_pair(&readers, &items[0], &items[1], &damage, NULL),
        TP_OK);
    cr_expect_not(damage.read);
    cr_expect_eq(tp_dump_damage_nonfinite(&readers, &items[0], &damage, NULL),
                 TP_OK);
    cr_expect_not(damage.read);
    tp_dump_damage_clear(&damage);
    tp_readers_clear(&readers);
    clear(&audited);
    planted_end(&dump);
}
