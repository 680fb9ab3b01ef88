/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "base/limits.h"
#include "replay/divergence.h"
#include "tests/unit/support/dump_data.h"

/* testdata/divergence: step 0 is the run that the others are compared with. */
struct runs {
    struct tp_dump dump;
    struct tp_call_pairs pairs;
    struct tp_divergence found;
};

static void compare_places(struct runs *runs, struct tp_dump_place *a,
                           struct tp_dump_place *b)
{
    const struct tp_divergence_options options = {.all = false};
    struct tp_error err = {0};
    cr_assert_eq(tp_call_match(a, b, &runs->pairs, &err), TP_OK);
    cr_assert_eq(
        tp_divergence_find(a, b, &runs->pairs, &options, &runs->found, &err),
        TP_OK);
}

static void read_runs(struct runs *runs)
{
    char path[4096];
    memset(runs, 0, sizeof *runs);
    testdata_path("divergence", path, sizeof path);
    cr_assert(dump_data_read(path, &runs->dump));
    cr_assert_eq(runs->dump.place_count, 4);
}

static void compare_steps(struct runs *runs, size_t a, size_t b)
{
    read_runs(runs);
    compare_places(runs, &runs->dump.places[a], &runs->dump.places[b]);
}

static void clear_runs(struct runs *runs)
{
    tp_divergence_clear(&runs->found);
    tp_call_pairs_clear(&runs->pairs);
    tp_dump_clear(&runs->dump);
}

static const struct tp_divergence_row *first_of(const struct runs *runs)
{
    cr_assert_neq(runs->found.first, SIZE_MAX);
    return &runs->found.rows[runs->found.first];
}

static struct tp_dump_call *call_of(struct tp_dump_place *place,
                                    const char *key)
{
    struct tp_dump_call *call = tp_dump_call_of(place, key);
    cr_assert_not_null(call);
    return call;
}

Test(divergence, of_equal_runs_is_none)
{
    struct runs runs;
    compare_steps(&runs, 0, 0);
    cr_assert_eq(runs.found.first, SIZE_MAX);
    cr_assert_eq(runs.found.added, SIZE_MAX);
    cr_assert_eq(runs.found.verdicts[TP_DIVERGENCE_EQUAL], runs.found.count);
    cr_assert_str_eq(runs.found.sentence,
                     "The runs are equal to the last bit.");
    clear_runs(&runs);
}

/* Softmax in fp16: this call is named, of the run that has it. */
Test(divergence, names_the_operator_that_adds_error)
{
    struct runs runs;
    compare_steps(&runs, 0, 1);
    const struct tp_divergence_row *row = first_of(&runs);
    cr_assert_str_eq(row->api_name, "Functional.softmax.0.forward");
    cr_assert_eq(row->verdict, TP_DIVERGENCE_ADDED_B);
    cr_assert_eq(runs.found.added, runs.found.first);
    cr_assert_eq(row->e_in, 0);
    cr_assert_gt(row->e_out, 3 * row->bound);
    cr_assert_gt(row->excess_b, 3);
    cr_assert_leq(row->excess_a, 1);
    cr_assert(strstr(runs.found.sentence, "Functional.softmax.0.forward of run "
                                          "B adds error of its own"),
              "%s", runs.found.sentence);
    for (size_t i = 0; i < runs.found.count; i++)
        cr_expect_eq(runs.found.rows[i].verdict,
                     i < runs.found.first   ? TP_DIVERGENCE_EQUAL
                     : i > runs.found.first ? TP_DIVERGENCE_INHERITED
                                            : TP_DIVERGENCE_ADDED_B,
                     "%s", runs.found.rows[i].api_name);
    clear_runs(&runs);
}

/* A result whose file is another one, while later calls of both runs were given
 * what it should be: the file is suspected. Not in the case above, where they
 * were given what it is. */
Test(divergence, suspects_a_file_that_no_call_was_given)
{
    static const char key[] = "Functional.softmax.0.forward";
    struct runs runs;
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0], b = *a;
    const struct tp_dump_place *other = &runs.dump.places[1];
    const struct tp_dump_call *call = call_of(a, key);
    const struct tp_dump_call *odd = tp_dump_call_of(other, key);
    b.items = malloc(b.item_count * sizeof *b.items);
    memcpy(b.items, a->items, b.item_count * sizeof *b.items);
    b.items[call->first + call->count - 1].file =
        other->items[odd->first + odd->count - 1].file;
    compare_places(&runs, a, &b);
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_ADDED_B);
    cr_expect(runs.found.misfiled);
    cr_expect_not_null(strstr(runs.found.sentence, "none what this file has"));
    free(b.items);
    clear_runs(&runs);
    compare_steps(&runs, 0, 1);
    cr_expect_not(runs.found.misfiled);
    clear_runs(&runs);
}

/* The same with runs exchanged. */
Test(divergence, names_the_run)
{
    struct runs runs;
    compare_steps(&runs, 1, 0);
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_ADDED_A);
    clear_runs(&runs);
}

/* Softmax in fp64: results differ, by rounding. */
Test(divergence, lets_rounding_be)
{
    struct runs runs;
    compare_steps(&runs, 0, 2);
    cr_assert_eq(runs.found.first, SIZE_MAX);
    cr_assert_eq(runs.found.verdicts[TP_DIVERGENCE_ROUNDING], 1);
    cr_assert(strstr(runs.found.sentence, "equal within rounding"));
    cr_assert(strstr(runs.found.sentence, "Functional.softmax.0.forward"));
    clear_runs(&runs);
}

/* A mask from outside that is another one. */
Test(divergence, names_data_that_no_call_made)
{
    struct runs runs;
    compare_steps(&runs, 0, 3);
    const struct tp_divergence_row *row = first_of(&runs);
    cr_assert_str_eq(row->api_name, "Tensor.masked_fill.0.forward");
    cr_assert_eq(row->verdict, TP_DIVERGENCE_DATA);
    cr_assert(strstr(row->evidence, "argument 1 differs"));
    cr_assert_eq(runs.found.added, SIZE_MAX);
    clear_runs(&runs);
}

/* The mask of one run is another one, and a softmax of the other is in fp16:
 * the first divergence is no error, and the error is told behind it. */
Test(divergence, names_the_first_error_behind_other_data)
{
    struct runs runs;
    compare_steps(&runs, 3, 1);
    cr_assert_str_eq(first_of(&runs)->api_name, "Tensor.masked_fill.0.forward");
    cr_assert_neq(runs.found.added, SIZE_MAX);
    const struct tp_divergence_row *added = &runs.found.rows[runs.found.added];
    cr_expect_str_eq(added->api_name, "Functional.softmax.0.forward");
    cr_expect_eq(added->verdict, TP_DIVERGENCE_ADDED_B);
    cr_expect_not_null(strstr(runs.found.sentence,
                              " First error added: Functional.softmax.0.forward"
                              " of run B adds error of its own: B: result 0["),
                       "%s", runs.found.sentence);
    clear_runs(&runs);
}

/* The scale of attention scores is another number. */
Test(divergence, names_a_number_that_is_another_one)
{
    struct runs runs;
    struct tp_json one = {.kind = TP_JSON_REAL, .real = 1};
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0], b = *a;
    b.items = malloc(b.item_count * sizeof *b.items);
    memcpy(b.items, a->items, b.item_count * sizeof *b.items);
    for (size_t i = 0; i < a->call_count; i++) {
        struct tp_dump_item *item = &b.items[a->calls[i].first + 1];
        if (!strcmp(a->calls[i].key, "Tensor.__mul__.0.forward") ||
            (a->calls[i].count > 1 && item->kind == TP_DUMP_VALUE &&
             !strncmp(a->calls[i].key, "Tensor.__mul__", 14))) {
            item->value = &one;
            break;
        }
    }
    compare_places(&runs, a, &b);
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_ARGUMENTS);
    cr_assert(strstr(first_of(&runs)->evidence, "argument 1 is "));
    cr_assert(strstr(first_of(&runs)->evidence, " in A, 1.0 in B"));
    free(b.items);
    clear_runs(&runs);
}

/* A call that one run does not make. */
Test(divergence, names_a_call_of_one_run)
{
    struct runs runs;
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0], b = *a;
    struct tp_dump_call *gone = call_of(a, "Functional.softmax.0.forward");
    const size_t at = (size_t)(gone - a->calls);
    b.calls = malloc(b.call_count * sizeof *b.calls);
    memcpy(b.calls, a->calls, at * sizeof *b.calls);
    memcpy(b.calls + at, a->calls + at + 1,
           (a->call_count - at - 1) * sizeof *b.calls);
    b.call_count--;
    compare_places(&runs, a, &b);
    cr_assert_str_eq(first_of(&runs)->api_name, "Functional.softmax.0.forward");
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_ONLY_A);
    free(b.calls);
    clear_runs(&runs);
}

/* A run whose softmax is called so, and gave the result of step 1 to the
 * arguments of step 0. */
static void rename_softmax(struct runs *runs, const char *type, const char *api)
{
    static const char key[] = "Functional.softmax.0.forward";
    read_runs(runs);
    struct tp_dump_place *a = &runs->dump.places[0], *b = &runs->dump.places[1];
    struct tp_dump_call *calls[] = {call_of(a, key), call_of(b, key)};
    for (int i = 0; i < 2; i++) {
        calls[i]->name.type = (struct tp_msprobe_part){type, strlen(type)};
        calls[i]->name.path = (struct tp_msprobe_part){api, strlen(api)};
    }
    compare_places(runs, a, b);
}

Test(divergence, tells_chance_from_error)
{
    struct runs runs;
    rename_softmax(&runs, "Functional", "dropout");
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_RANDOM);
    cr_assert_eq(runs.found.added, SIZE_MAX);
    clear_runs(&runs);
}

Test(divergence, tells_what_another_rank_sent)
{
    struct runs runs;
    rename_softmax(&runs, "Distributed", "all_reduce");
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_RECEIVED);
    cr_assert_eq(runs.found.added, SIZE_MAX);
    clear_runs(&runs);
}

/* Memory that nobody has set is no result. What is made of it is. */
Test(divergence, passes_over_memory_that_is_not_set)
{
    struct runs runs;
    rename_softmax(&runs, "Torch", "empty");
    cr_assert_str_neq(first_of(&runs)->api_name,
                      "Functional.softmax.0.forward");
    clear_runs(&runs);
}

/* What is not replayed is judged by its dtype and the sizes alone: fp16 is
 * more than fp32 explains, and fp64 is not. */
Test(divergence, bounds_what_is_not_replayed)
{
    struct runs runs;
    rename_softmax(&runs, "NPU", "npu_scaled_masked_softmax");
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_UNBOUNDED);
    cr_assert_eq(runs.found.added, runs.found.first);
    cr_assert_gt(first_of(&runs)->e_out, first_of(&runs)->bound);
    clear_runs(&runs);
}

/* Tensors that are not there are no difference, and are counted. */
Test(divergence, says_what_it_cannot_compare)
{
    struct runs runs;
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0];
    struct tp_dump_call *call = call_of(a, "Functional.softmax.0.forward");
    a->items[call->first].file = NULL;
    compare_places(&runs, a, a);
    cr_assert_eq(runs.found.first, SIZE_MAX);
    cr_assert_eq(runs.found.verdicts[TP_DIVERGENCE_UNKNOWN], 1);
    cr_assert(
        strstr(runs.found.sentence, "Calls whose tensors cannot be read: 1"),
        "%s", runs.found.sentence);
    clear_runs(&runs);
}

/* Of checksums it is only known whether they are equal. */
Test(divergence, is_found_by_checksums)
{
    struct runs runs;
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0], b = *a;
    struct tp_dump_call *call = call_of(a, "Functional.softmax.0.forward");
    for (size_t i = 0; i < a->item_count; i++)
        if (a->items[i].kind == TP_DUMP_TENSOR) {
            a->items[i].file = NULL;
            a->items[i].md5 = "0badcafe";
        }
    compare_places(&runs, a, a);
    cr_assert_str_eq(runs.found.sentence,
                     "The runs are equal to the last bit.");
    tp_divergence_clear(&runs.found);
    tp_call_pairs_clear(&runs.pairs);
    b.items = malloc(b.item_count * sizeof *b.items);
    memcpy(b.items, a->items, b.item_count * sizeof *b.items);
    b.items[call->first + call->count - 1].md5 = "0badbeef";
    compare_places(&runs, a, &b);
    cr_assert_str_eq(first_of(&runs)->api_name, "Functional.softmax.0.forward");
    cr_assert_eq(first_of(&runs)->verdict, TP_DIVERGENCE_DIFFERS);
    free(b.items);
    clear_runs(&runs);
}

/* One run has half of the columns: sharded, and nobody is accused. */
Test(divergence, knows_parts_of_tensors)
{
    struct runs runs;
    read_runs(&runs);
    struct tp_dump_place *a = &runs.dump.places[0], b = *a;
    struct tp_dump_call *call = call_of(a, "Torch.matmul.0.forward");
    int64_t shape[TP_LIMIT_DIMS];
    b.items = malloc(b.item_count * sizeof *b.items);
    memcpy(b.items, a->items, b.item_count * sizeof *b.items);
    struct tp_dump_item *item = &b.items[call->first];
    memcpy(shape, item->shape, (size_t)item->dims * sizeof *shape);
    shape[1] /= 2;
    item->shape = shape;
    compare_places(&runs, a, &b);
    cr_assert(runs.found.sharded);
    cr_assert_eq(runs.found.first, SIZE_MAX);
    cr_assert_eq(runs.found.verdicts[TP_DIVERGENCE_SHARDED], 1);
    cr_assert(strstr(runs.found.sentence, "(sharded)"));
    free(b.items);
    clear_runs(&runs);
}
