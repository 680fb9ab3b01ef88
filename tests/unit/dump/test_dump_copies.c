/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include "base/text.h"
#include "dump/dump_copies.h"

/* Ranks whose copies differ, from statistics. A layer's tensor on a rank is a
 * letter: equal letters are equal copies, capital ones are near the small ones
 * and other letters are other tensors. */

enum { LAYERS = 6 };

/* Max, Min, Mean, Norm of a letter. */
static void put_stats(char letter, int layer, struct tp_text *text)
{
    const double far = 1 + 0.1 * ((letter | 32) - 'a') + layer;
    const double near = letter < 'a' ? 1.0002 : 1;
    tp_text_add(text,
                "\"Max\": %.17g, \"Min\": %.17g, \"Mean\": %.17g, \"Norm\": "
                "%.17g",
                far, -far, 0.01 * far * near, 8 * far * near);
}

/* One call of a layer: a module with a parameter, a linear with a weight, or a
 * reduction. */
static void put_call(const char *form, int layer, char letter,
                     struct tp_text *text)
{
    static const char *const tensor =
        "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
        "\"shape\": [8, 8], ";
    char name[96];
    snprintf(name, sizeof name, form, layer);
    tp_text_add(text, "%s\"%s\": {", text->length ? ", " : "", name);
    const bool module = !strncmp(name, "Module", 6);
    const bool collective = !strncmp(name, "Distributed", 11);
    tp_text_add(text,
                module       ? "\"parameters\": {\"weight\": %s"
                : collective ? "\"output\": [%s"
                             : "\"input_args\": [null, %s",
                tensor);
    put_stats(letter, layer, text);
    tp_text_add(text, module ? "}}}" : "}]}");
}

static const char linear[] = "Functional.linear.%d.forward";
static const char module[] = "Module.layers.%d.fc.Linear.forward.0";
static const char reduce[] = "Distributed.all_reduce.%d.forward";

/* A dump: of each layer the letters of its ranks. */
struct scenario {
    const char *name, *form;
    const char *layers[LAYERS];
    const char *differ; /* "LAYER:RANK" of each row, by finding order      */
    int64_t compared, equal, sharded;
};

static const struct scenario scenarios[] = {
    {"all equal", module, {"aaaa", "aaaa", "aaaa"}, "", 3, 3, 0},
    {"one of four", module, {"aaaa", "aaba", "aaaa"}, "1:2 ", 3, 2, 0},
    {"one of four weights", linear, {"aaaa", "aaba", "aaaa"}, "1:2 ", 3, 2, 0},
    {"a reduction", reduce, {"aaa", "aaa", "baa"}, "2:0 ", 3, 2, 0},
    {"two of two", module, {"aa", "ab", "aa"}, "1:1 ", 3, 2, 0},
    {"sharded", module, {"abcd", "abcd", "abcd"}, "", 3, 0, 3},
    {"half sharded", module, {"abcd", "aaaa", "abcd"}, "", 3, 1, 2},
    {"sharded over two, copied over two",
     module,
     {"abab", "abab", "abab"},
     "",
     3,
     0,
     3},
    {"a copy of a part", module, {"abab", "abac", "abab"}, "1:3 ", 3, 0, 2},
    {"too few to tell", module, {"aa", "ab"}, "", 2, 1, 1},
    {"too few, but nearly equal", module, {"aa", "aA"}, "1:1 ", 2, 1, 0},
    {"all drifted",
     module,
     {"aaA", "aaA", "aaA", "aaA"},
     "0:2 1:2 2:2 3:2 ",
     4,
     0,
     0},
    {"one rank", module, {"a", "a", "a"}, "", 0, 0, 0},
};

static void read_scenario(const struct scenario *scenario, struct tp_dump *dump)
{
    struct maker maker = maker_begin();
    const int ranks = (int)strlen(scenario->layers[0]);
    for (int rank = 0; rank < ranks; rank++) {
        struct tp_text data = {0}, text = {0};
        char name[64];
        for (int i = 0; i < LAYERS && scenario->layers[i]; i++)
            put_call(scenario->form, i, scenario->layers[i][rank], &data);
        tp_text_add(&text, "{\"data\": {%s}}", tp_text_get(&data));
        snprintf(name, sizeof name, "d/step0/rank%d/dump.json", rank);
        maker_put(&maker, name, tp_text_get(&text));
        tp_text_clear(&data);
        tp_text_clear(&text);
    }
    cr_assert_eq(maker_read(&maker, "d", false, dump), TP_OK);
    maker_end(&maker);
}

static int compare_rows(const void *left, const void *right)
{
    const struct tp_dump_copy_row *a = left, *b = right;
    int result = (a->order > b->order) - (a->order < b->order);
    return result ? result : (a->rank > b->rank) - (a->rank < b->rank);
}

Test(dump_copies, which_ranks_differ)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const struct scenario *scenario = &scenarios[i];
        struct tp_dump dump;
        struct tp_dump_copies copies = {.count = 0};
        struct tp_dump_findings findings = {.count = 0};
        struct tp_text text = {0};
        read_scenario(scenario, &dump);
        cr_assert_eq(tp_dump_copies_find(&dump, &copies, &findings, NULL),
                     TP_OK);
        if (copies.count)
            qsort(copies.rows, copies.count, sizeof *copies.rows, compare_rows);
        for (size_t k = 0; k < copies.count; k++)
            tp_text_add(&text, "%d:%d ", (int)copies.rows[k].order,
                        (int)copies.rows[k].rank);
        cr_expect_str_eq(tp_text_get(&text), scenario->differ, "%s: %s",
                         scenario->name, tp_text_get(&text));
        cr_expect_eq(copies.compared, scenario->compared, "%s: %zu",
                     scenario->name, copies.compared);
        cr_expect_eq(copies.equal, scenario->equal, "%s: %zu", scenario->name,
                     copies.equal);
        cr_expect_eq(copies.sharded, scenario->sharded, "%s: %zu",
                     scenario->name, copies.sharded);
        cr_expect_eq(findings.count, copies.count > 0, "%s", scenario->name);
        tp_text_clear(&text);
        tp_dump_findings_clear(&findings);
        tp_dump_copies_clear(&copies);
        tp_dump_clear(&dump);
    }
}

Test(dump_copies, what_a_finding_says)
{
    static const struct scenario one = {
        .form = module, .layers = {"aaaa", "aaBa", "aaaa", "aaba"}};
    struct tp_dump dump;
    struct tp_dump_copies copies = {.count = 0};
    struct tp_dump_findings findings = {.count = 0};
    read_scenario(&one, &dump);
    cr_assert_eq(tp_dump_copies_find(&dump, &copies, &findings, NULL), TP_OK);
    cr_assert_eq(copies.count, 0); /* half of four are no two thirds */
    tp_dump_copies_clear(&copies);
    tp_dump_clear(&dump);
    static const struct scenario more = {
        .form = module,
        .layers = {"aaaa", "aaBa", "aaaa", "aaba", "aaaa", "aaaa"}};
    read_scenario(&more, &dump);
    cr_assert_eq(tp_dump_copies_find(&dump, &copies, &findings, NULL), TP_OK);
    cr_assert_eq(copies.count, 2);
    cr_expect_str_eq(copies.rows[0].name,
                     "Module.layers.1.fc.Linear.forward.0.parameters.weight");
    cr_expect_eq(copies.rows[0].agree, 3);
    cr_assert_eq(findings.count, 1);
    cr_expect_eq(findings.rows[0].rank, 2);
    cr_expect_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_expect(strstr(findings.rows[0].evidence,
                     "differs from what 3 of 4 ranks have; the norms by "),
              "%s", findings.rows[0].evidence);
    tp_dump_findings_clear(&findings);
    tp_dump_copies_clear(&copies);
    tp_dump_clear(&dump);
}

/* Where a rank called more functions than another, numbers are no names. */
Test(dump_copies, calls_that_are_numbered_otherwise)
{
    struct maker maker = maker_begin();
    struct tp_dump dump;
    struct tp_dump_copies copies = {.count = 0};
    struct tp_dump_findings findings = {.count = 0};
    static const char letters[2][LAYERS + 1] = {"abcdef", "abcdff"};
    for (int rank = 0; rank < 2; rank++) {
        struct tp_text data = {0}, text = {0};
        char name[64];
        for (int i = 0; i < LAYERS; i++) {
            char form[64];
            snprintf(form, sizeof form, "Functional.linear.%d.forward%%.0d", i);
            put_call(form, 0, letters[rank][i], &data);
        }
        tp_text_add(&text, "{\"data\": {%s}}", tp_text_get(&data));
        snprintf(name, sizeof name, "d/step0/rank%d/dump.json", rank);
        maker_put(&maker, name, tp_text_get(&text));
        tp_text_clear(&data);
        tp_text_clear(&text);
    }
    cr_assert_eq(maker_read(&maker, "d", false, &dump), TP_OK);
    cr_assert_eq(tp_dump_copies_find(&dump, &copies, &findings, NULL), TP_OK);
    cr_expect_eq(copies.compared, LAYERS);
    cr_expect_eq(copies.equal, LAYERS - 1);
    cr_expect_eq(copies.count, 0);
    tp_dump_findings_clear(&findings);
    tp_dump_copies_clear(&copies);
    tp_dump_clear(&dump);
    maker_end(&maker);
}
