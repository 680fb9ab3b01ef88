/* SPDX-License-Identifier: MIT */
#include "dump/dump_activations.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/dump_anomaly.h"
#include "dump/dump_read.h"
#include "tests/unit/support/testdata.h"

/* The one operator whose result is not finite although what it was given is,
 * as "NAME NAN-or-unknown"; "" where there is none. */
static const char *origin_of(const char *log, struct tp_dump *dump,
                             bool *silent)
{
    struct tp_bytes bytes;
    struct tp_dump_anomalies anomalies = {0};
    struct tp_error err = {0};
    memset(dump, 0, sizeof *dump);
    dump->places = calloc(1, sizeof *dump->places);
    dump->place_count = 1;
    tp_dump_place_init(dump->places);
    dump->places->directory = ".";
    tp_bytes_view(log, strlen(log), &bytes);
    cr_assert_eq(tp_dump_activations_read(&bytes, dump->places, &err), TP_OK,
                 "%s", err.message);
    cr_assert_eq(tp_dump_calls_index(dump->places, NULL), TP_OK);
    cr_assert_eq(tp_dump_anomalies_find(dump, &anomalies, &err), TP_OK, "%s",
                 err.message);
    const char *name = "";
    cr_assert_leq(anomalies.origin_count, 1);
    for (size_t i = 0; i < anomalies.origin_count; i++) {
        name = dump->places->calls[anomalies.origins[i].call].key;
        *silent = anomalies.origins[i].silent;
    }
    tp_dump_anomalies_clear(&anomalies);
    return name;
}

#define HEAD(n) "Total captured activations: " n "\n"
#define ENTRY(name, max, hashes, producers)                                  \
    "[" name "]\n  Shape: torch.Size([2, 3]), Dtype: torch.bfloat16\n"       \
    "  L2 norm: " max "\n  Min: 0.0\n  Max: " max "\n  Mean: 0.5\n"          \
    "  Input hashes: " hashes "\n  Input producers: " producers "\n"

Test(dump_activations, a_producer_is_an_input)
{
    struct tp_dump dump;
    bool silent = false;
    const char *name =
        origin_of(HEAD("3") ENTRY("a/op_0_mm", "2", "1, 2", "")
                      ENTRY("a/op_1_exp", "inf", "2", "a/op_0_mm; ")
                          ENTRY("b/op_0_add", "inf", "inf", "a/op_1_exp; "),
                  &dump, &silent);
    cr_expect_str_eq(name, "a/op_1_exp");
    cr_expect_not(silent);
    const struct tp_dump_place *place = dump.places;
    cr_assert_eq(place->call_count, 3);
    const struct tp_dump_call *last = &place->calls[2];
    cr_assert_eq(last->count, 2);
    const struct tp_dump_item *input = &place->items[last->first];
    cr_expect_eq(input->place, TP_MSPROBE_INPUT);
    cr_expect_eq(input->stats[TP_DUMP_MAX].real,
                 place->items[last->first + 1].stats[TP_DUMP_MAX].real);
    cr_expect(last->name.number == 0 && last->name.path.length == 3);
    cr_expect_eq(memcmp(last->name.path.at, "add", 3), 0);
    tp_dump_clear(&dump);
}

Test(dump_activations, what_is_finite_has_no_origin)
{
    struct tp_dump dump;
    bool silent = false;
    cr_expect_str_eq(origin_of(HEAD("2") ENTRY("a/op_0_mm", "2", "1", "")
                                   ENTRY("a/op_1_exp", "7", "2", "a/op_0_mm;"),
                               &dump, &silent),
                     "");
    tp_dump_clear(&dump);
}

/* Where the log does not tell all that an operator was given, nobody may say
 * that it was finite. */
Test(dump_activations, hashes_tell_of_inputs)
{
    struct tp_dump dump;
    bool silent = false;
    cr_expect_str_eq(
        origin_of(HEAD("1") ENTRY("a/op_0_mm", "nan", "1, inf", ""), &dump,
                  &silent),
        "a/op_0_mm");
    cr_expect(silent);
    tp_dump_clear(&dump);
    cr_expect_str_eq(origin_of(HEAD("1") ENTRY("a/op_0_mm", "nan", "1, 2", ""),
                               &dump, &silent),
                     "a/op_0_mm");
    cr_expect_not(silent);
    tp_dump_clear(&dump);
    origin_of(HEAD("1") ENTRY("a/op_0_mm", "nan", "1, nan", ""), &dump,
              &silent);
    cr_assert_eq(dump.places->calls[0].count, 2);
    cr_expect_str_eq(dump.places->items[0].argument, "hash");
    tp_dump_clear(&dump);
}

static double stat_of(const struct tp_json *wanted, const char *key)
{
    const char *text = tp_json_text(wanted, key, "");
    char *end;
    const double value = strtod(text, &end);
    cr_assert(end > text && *end == '\0', "%s", key);
    return value;
}

/* A log that others wrote, with what it says as they took it apart. */
Test(dump_activations, of_others)
{
    static const struct {
        const char *key;
        enum tp_dump_stat stat;
    } stats[] = {{"l2", TP_DUMP_NORM},
                 {"min", TP_DUMP_MIN},
                 {"max", TP_DUMP_MAX},
                 {"mean", TP_DUMP_MEAN}};
    static const char unit[] = "good-torchtitan_rank_0_activations.log";
    char path[4096], log[4096];
    shared_path("dumps/files_2026/dumpers/expected.json", path, sizeof path);
    shared_path("dumps/files_2026/dumpers/"
                "good-torchtitan_rank_0_activations.log",
                log, sizeof log);
    if (access(path, R_OK) != 0)
        cr_skip_test("no %s", path);
    char *text;
    size_t length;
    const struct tp_json *json;
    struct tp_arena arena = {0};
    struct tp_dump dump = {.place_count = 0};
    struct tp_json_parser *parser = tp_json_parser_new();
    cr_assert_eq(tp_bytes_load(path, "expected", 1 << 24, &text, &length, NULL),
                 TP_OK);
    cr_assert_eq(tp_json_parse(parser, text, length, &arena, &json, NULL),
                 TP_OK);
    const struct tp_json *all = tp_json_member(json, unit);
    const char *root = log;
    struct tp_pool *pool;
    cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
    const struct tp_dump_read_options how = {
        .wish = {.roots = &root, .root_count = 1}, .pool = pool};
    cr_assert_eq(tp_dump_read(&how, &dump, NULL), TP_OK);
    cr_assert_eq(dump.place_count, 1);
    const struct tp_dump_place *place = &dump.places[0];
    cr_expect_eq(place->rank, 0);
    cr_assert_eq(place->call_count, all->count);
    cr_assert_eq(place->item_count, all->count);
    for (const struct tp_json *one = all->first; one; one = one->next) {
        const struct tp_dump_call *call = tp_dump_call_of(place, one->key);
        cr_assert_not_null(call, "%s", one->key);
        const struct tp_dump_item *item = &place->items[call->first];
        const struct tp_json *shape = tp_json_member(one, "shape");
        int axis = 0;
        cr_assert_eq(item->dims, (int)shape->count);
        for (const struct tp_json *at = shape->first; at; at = at->next)
            cr_expect_eq(item->shape[axis++], at->integer);
        cr_expect_str_eq(item->dtype, tp_json_text(one, "dtype", ""));
        for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
            cr_expect_eq(item->stats[stats[i].stat].real,
                         stat_of(one, stats[i].key), "%s", stats[i].key);
        cr_expect_eq(call->name.direction == TP_BACKWARD,
                     !strcmp(tp_json_text(one, "phase", ""), "backward"));
    }
    tp_pool_free(pool);
    tp_dump_clear(&dump);
    tp_json_parser_free(parser);
    tp_arena_clear(&arena);
    free(text);
}
