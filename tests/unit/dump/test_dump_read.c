/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include <math.h>

#include "tests/unit/support/testdata.h"

#define TENSOR "\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\""
#define ENTRY(members) \
    "{\"task\": \"tensor\", \"level\": \"L1\", \"data\": {" members "}}"

/* Reads one dump.json; `dump` is to be cleared. */
static const struct tp_dump_place *read_json(const char *json,
                                             struct tp_dump *dump)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "dump.json", json);
    cr_assert_eq(maker_read(&maker, "", false, dump), TP_OK);
    maker_end(&maker);
    cr_assert_eq(dump->place_count, 1);
    return &dump->places[0];
}

/* The item of this name, as tables have it. */
static const struct tp_dump_item *item_of(const struct tp_dump_place *place,
                                          const char *name)
{
    for (size_t i = 0; i < place->call_count; i++) {
        const struct tp_dump_call *call = &place->calls[i];
        for (size_t k = 0; k < call->count; k++) {
            const struct tp_dump_item *item = &place->items[call->first + k];
            struct tp_text text = {0};
            tp_dump_item_name(call, item, "kwargs", &text);
            bool same = !strcmp(tp_text_get(&text), name);
            tp_text_clear(&text);
            if (same)
                return item;
        }
    }
    cr_assert_fail("no item %s", name);
    return NULL;
}

Test(dump_read, a_tensor)
{
    struct tp_dump dump;
    const struct tp_dump_place *place = read_json(
        ENTRY("\"Torch.add.0.forward\": {\"input_args\": [{" TENSOR
              ", \"shape\": [2, 3], \"Max\": 1.5, \"Min\": -2, \"Mean\": NaN, "
              "\"Norm\": Infinity, \"requires_grad\": true, \"md5\": "
              "\"00ab12cd\", \"data_name\": \"x.pt\"}], \"output\": []}"),
        &dump);
    const struct tp_dump_item *item =
        item_of(place, "Torch.add.0.forward.input.0");
    cr_expect_eq(item->kind, TP_DUMP_TENSOR);
    cr_expect_str_eq(item->dtype, "torch.float32");
    cr_expect_eq(item->element, TP_FLOAT32);
    cr_expect(item->has_shape);
    cr_assert_eq(item->dims, 2);
    cr_expect_eq(item->shape[0], 2);
    cr_expect_eq(item->shape[1], 3);
    cr_expect_eq(item->stats[TP_DUMP_MAX].kind, TP_JSON_REAL);
    cr_expect_eq(item->stats[TP_DUMP_MAX].real, 1.5);
    cr_expect_eq(item->stats[TP_DUMP_MIN].kind, TP_JSON_INTEGER);
    cr_expect_eq(item->stats[TP_DUMP_MIN].integer, -2);
    cr_expect_eq(item->stats[TP_DUMP_MIN].real, -2);
    cr_expect_eq(item->stats[TP_DUMP_MEAN].kind, TP_JSON_REAL);
    cr_expect(isnan(item->stats[TP_DUMP_MEAN].real));
    cr_expect_eq(item->stats[TP_DUMP_NORM].real, INFINITY);
    cr_expect_eq(item->requires_grad, 1);
    cr_expect_str_eq(item->md5, "00ab12cd");
    cr_expect_str_eq(item->data_name, "x.pt");
    cr_expect_null(item->file);
    cr_expect_not(item->unfinished);
    tp_dump_clear(&dump);
}

Test(dump_read, what_is_absent_or_odd)
{
    struct tp_dump dump;
    const struct tp_dump_place *place = read_json(
        ENTRY("\"Torch.any.0.forward\": {\"input_args\": ["
              "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.bool\", "
              "\"shape\": [], \"Max\": true, \"Min\": false, \"Mean\": null}, "
              "{\"type\": \"torch.Tensor\", \"dtype\": "
              "\"torch_npu.HiFloat8Tensor\", \"shape\": [-1]}, "
              "{\"type\": \"torch.Tensor\", \"shape\": \"none\", \"md5\": "
              "4.5}, "
              "{\"type\": \"torch.Tensor\", \"tensor_stat_index\": 3}, "
              "null, {}, {\"type\": \"float\", \"value\": -Infinity}]}"),
        &dump);
    const struct tp_dump_item *item = place->items;
    cr_assert_eq(place->item_count, 7);
    cr_expect_eq(item[0].stats[TP_DUMP_MAX].kind, TP_JSON_BOOL);
    cr_expect_eq(item[0].stats[TP_DUMP_MAX].real, 1);
    cr_expect_eq(item[0].stats[TP_DUMP_MIN].real, 0);
    cr_expect_eq(item[0].stats[TP_DUMP_MEAN].kind, TP_JSON_NULL);
    cr_expect_eq(item[0].stats[TP_DUMP_NORM].kind, TP_JSON_NULL);
    cr_expect(item[0].has_shape);
    cr_expect_eq(item[0].dims, 0);
    cr_expect_eq(item[0].requires_grad, -1);
    cr_expect_eq(item[1].element, TP_DTYPE_COUNT);
    cr_expect_not(item[1].has_shape);
    cr_expect_eq(item[1].dims, 0);
    cr_expect_not(item[2].has_shape);
    cr_expect_str_eq(item[2].md5, "4.5"); /* the xor of a 0-d tensor */
    cr_expect(item[3].unfinished);
    cr_expect_eq(item[4].kind, TP_DUMP_NOTHING);
    cr_expect_eq(item[5].kind, TP_DUMP_NOTHING);
    cr_expect_eq(item[6].kind, TP_DUMP_VALUE);
    cr_assert_not_null(item[6].value);
    cr_expect_eq(item[6].value->real, -INFINITY);
    tp_dump_clear(&dump);
}

Test(dump_read, the_first_generation_swaps_gradients)
{
    struct tp_dump dump;
    const struct tp_dump_place *place =
        read_json("{\"task\": \"tensor\", \"data_path\": \"x\", \"data\": {"
                  "\"Functional.linear.0.backward\": {\"grad_input\": [{" TENSOR
                  ", \"shape\": [1]}], \"grad_output\": [{" TENSOR
                  ", \"shape\": [2]}]}}}",
                  &dump);
    cr_expect_eq(
        item_of(place, "Functional.linear.0.backward.input.0")->shape[0], 2);
    cr_expect_eq(
        item_of(place, "Functional.linear.0.backward.output.0")->shape[0], 1);
    cr_expect_str_eq(place->heads[TP_MSPROBE_DATA_DIR], "x");
    tp_dump_clear(&dump);
}

Test(dump_read, all_that_a_module_has)
{
    struct tp_dump dump;
    const struct tp_dump_place *place = read_json(
        ENTRY("\"Module.fc.Linear.forward.1\": {\"input_args\": [[{" TENSOR
              "}, {" TENSOR "}]], \"input_kwargs\": {\"mask\": {" TENSOR
              "}}, \"parameters\": {\"weight\": {" TENSOR
              "}}, \"output\": [{" TENSOR "}], \"is_recompute\": true},"
              "\"Module.fc.Linear.parameters_grad\": {\"weight\": [{" TENSOR
              "}]}"),
        &dump);
    static const char *const names[] = {
        "Module.fc.Linear.forward.1.input.0.0",
        "Module.fc.Linear.forward.1.input.0.1",
        "Module.fc.Linear.forward.1.kwargs.mask",
        "Module.fc.Linear.forward.1.parameters.weight",
        "Module.fc.Linear.forward.1.output.0",
        "Module.fc.Linear.parameters_grad.weight.0"};
    cr_expect_eq(place->item_count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        item_of(place, names[i]);
    cr_expect(place->calls[0].recompute);
    cr_expect(place->calls[0].known);
    cr_expect_eq(place->calls[0].name.number, 1);
    tp_dump_clear(&dump);
}

Test(dump_read, variables_that_were_saved)
{
    struct maker maker = maker_begin();
    struct tp_dump dump;
    maker_put(&maker, "debug.json",
              "{\"task\": \"tensor\", \"level\": \"debug\", \"data\": {"
              "\"x.0.debug\": {" TENSOR ", \"data_name\": \"x.0.debug.pt\"},"
              "\"pair.0.debug\": [{" TENSOR "}, {" TENSOR "}]}}");
    maker_put(&maker, "dump_tensor_data/x.0.debug.pt", "no tensor");
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(place->call_count, 2);
    cr_expect(place->calls[0].variable_file);
    cr_expect_not_null(item_of(place, "x.0.debug")->file);
    cr_expect(place->files[0].used);
    item_of(place, "pair.0.debug.1");
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(dump_read, calls_by_name)
{
    struct tp_dump dump;
    const struct tp_dump_place *place =
        read_json(ENTRY("\"b\": {}, \"a\": null, \"c\": {}, \"a\": {}"), &dump);
    cr_expect_eq(tp_dump_call_of(place, "a"), &place->calls[3]);
    cr_expect_eq(tp_dump_call_of(place, "b"), &place->calls[0]);
    cr_expect_null(tp_dump_call_of(place, "0"));
    cr_expect_null(tp_dump_call_of(place, "d"));
    tp_dump_clear(&dump);
}

Test(dump_read, stacks_and_parents)
{
    struct maker maker = maker_begin();
    struct tp_dump dump;
    maker_put(&maker, "dump.json", ENTRY("\"A\": {}, \"B\": {}, \"C\": {}"));
    maker_put(&maker, "stack.json",
              "{\"0\": [[\"A\", \"B\", \"gone\"], [\"File x\", \"File y\"]]}");
    maker_put(&maker, "construct.json",
              "{\"megatron_micro_step_number\": 2, \"B\": null, \"A\": "
              "[\"M\", 1], \"M\": \"\"}");
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_not_null(place->calls[0].stack);
    cr_expect_eq(place->calls[0].stack, place->calls[1].stack);
    cr_expect_eq(place->calls[0].stack->count, 2);
    cr_expect_str_eq(place->calls[0].stack->lines[1], "File y");
    cr_expect_null(place->calls[2].stack);
    cr_assert_eq(place->node_count, 3);
    cr_expect_str_eq(tp_dump_node_of(place, "A")->parent, "M");
    cr_expect_str_eq(tp_dump_node_of(place, "B")->parent, "");
    cr_expect_null(tp_dump_node_of(place, "C"));
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(dump_read, files_beside_that_are_empty)
{
    struct maker maker = maker_begin();
    struct tp_dump dump;
    maker_put(&maker, "dump.json", ENTRY("\"A\": {}"));
    maker_put(&maker, "stack.json", "");
    maker_put(&maker, "construct.json", "");
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_expect_eq(place->call_count, 1);
    cr_expect_eq(place->sources[TP_DUMP_JSON].status, TP_OK);
    cr_expect_eq(place->sources[TP_DUMP_STACK].status, TP_E_DAMAGED);
    cr_expect_eq(place->sources[TP_DUMP_CONSTRUCT].status, TP_E_DAMAGED);
    cr_expect_null(place->sources[TP_DUMP_DEBUG].file);
    tp_dump_clear(&dump);
    maker_end(&maker);
}

/* A dump that was killed: whatever is whole is there, and the rest is said. */
Test(dump_read, cut_anywhere)
{
    static const char json[] =
        ENTRY("\"A\": {\"output\": [{" TENSOR "}]}, \"B\": {}, \"C\": {}");
    const size_t whole = strlen(json);
    size_t last = 0;
    for (size_t i = 0; i < whole; i++) {
        struct maker maker = maker_begin();
        struct tp_dump dump;
        maker_put_bytes(&maker, "dump.json", json, i);
        cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
        const struct tp_dump_place *place = &dump.places[0];
        const struct tp_dump_source *source = &place->sources[TP_DUMP_JSON];
        cr_expect_eq(source->status, TP_E_DAMAGED, "%zu bytes", i);
        cr_expect(*source->problem);
        cr_expect_leq(source->offset, (int64_t)i);
        cr_expect_geq(place->call_count, last);
        last = place->call_count;
        tp_dump_clear(&dump);
        maker_end(&maker);
    }
    cr_expect_eq(last, 3);
}

/* Written by mindstudio-probe and torch: testdata/README.md. */
Test(dump_read, a_dump_of_msprobe)
{
    char path[512];
    const char *root = path;
    struct tp_dump dump = {.place_count = 0};
    struct tp_dump_read_options options = {.recover = false};
    testdata_path("msprobe", path, sizeof path);
    options.wish.roots = &root;
    options.wish.root_count = 1;
    cr_assert_eq(tp_pool_new(2, &options.pool, NULL), TP_OK);
    cr_assert_eq(tp_dump_read(&options, &dump, NULL), TP_OK);
    cr_assert_eq(dump.place_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct tp_dump_place *place = &dump.places[i];
        size_t files = 0, stacks = 0;
        cr_expect_eq(place->step, (int64_t)i);
        cr_expect_eq(place->rank, -1);
        cr_expect_str_eq(place->heads[TP_MSPROBE_LEVEL], "mix");
        cr_expect_eq(place->call_count, 22);
        cr_expect_eq(place->file_count, 55);
        for (size_t k = 0; k < place->item_count; k++) {
            const struct tp_dump_item *item = &place->items[k];
            files += item->file != NULL;
            if (item->kind == TP_DUMP_TENSOR)
                cr_expect_neq(item->element, TP_DTYPE_COUNT, "%s", item->dtype);
        }
        for (size_t k = 0; k < place->call_count; k++)
            stacks += place->calls[k].stack != NULL;
        cr_expect_eq(files, 55);
        cr_expect_gt(stacks, 0);
        cr_expect_gt(place->node_count, 0);
    }
    tp_dump_clear(&dump);
    tp_pool_free(options.pool);
}
