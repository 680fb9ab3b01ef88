/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include "dump/dump_recover.h"

#define TENSOR(file) "{\"type\": \"torch.Tensor\", \"data_name\": \"" file "\"}"

static struct maker make(const char *json)
{
    struct maker maker = maker_begin();
    if (json)
        maker_put(&maker, "dump.json", json);
    maker_put(&maker, "dump_tensor_data/Torch.add.0.forward.input.0.pt", "x");
    maker_put(&maker, "dump_tensor_data/Torch.add.0.forward.input.1.pt", "x");
    maker_put(&maker, "dump_tensor_data/Torch.add.0.forward.output.0.pt", "x");
    maker_put(&maker, "dump_tensor_data/Torch.cat.0.forward.input.0.1.pt", "x");
    maker_put(&maker,
              "dump_tensor_data/Module.fc.Linear.forward.0.parameters.bias.pt",
              "x");
    maker_put(&maker, "dump_tensor_data/notes.pt", "x");
    return maker;
}

Test(dump_recover, without_a_json)
{
    struct maker maker = make(NULL);
    struct tp_dump dump;
    cr_assert_eq(maker_read(&maker, "", true, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(place->call_count, 3);
    cr_expect_eq(place->recovered, 3);
    const struct tp_dump_call *add =
        tp_dump_call_of(place, "Torch.add.0.forward");
    cr_assert_not_null(add);
    cr_assert_eq(add->count, 3);
    cr_expect_eq(add->offset, -1);
    cr_expect_eq(place->items[add->first + 2].place, TP_MSPROBE_OUTPUT);
    cr_expect_str_eq(place->items[add->first + 1].argument, "1");
    cr_expect_not_null(place->items[add->first + 1].file);
    const struct tp_dump_call *cat =
        tp_dump_call_of(place, "Torch.cat.0.forward");
    cr_expect_str_eq(place->items[cat->first].argument, "0.1");
    const struct tp_dump_call *module =
        tp_dump_call_of(place, "Module.fc.Linear.forward.0");
    cr_expect_str_eq(place->items[module->first].argument, "bias");
    cr_expect_not(tp_dump_file_of(place, "notes.pt")->used);
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(dump_recover, only_what_the_json_does_not_have)
{
    struct maker maker =
        make("{\"task\": \"tensor\", \"data\": {\"Torch.add.0.forward\": "
             "{\"output\": [" TENSOR(
                 "Torch.add.0.forward.output.0.pt") "]}, "
                                                    "\"Torch.ca");
    struct tp_dump dump;
    cr_assert_eq(maker_read(&maker, "", true, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_expect_eq(place->call_count, 3);
    cr_expect_eq(place->recovered, 2);
    cr_expect_eq(tp_dump_call_of(place, "Torch.add.0.forward")->count, 1);
    cr_expect_not_null(tp_dump_call_of(place, "Torch.cat.0.forward"));
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(dump_recover, nothing_unless_asked)
{
    struct maker maker = make(NULL);
    struct tp_dump dump;
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    cr_expect_eq(dump.places[0].call_count, 0);
    cr_expect_eq(dump.places[0].file_count, 6);
    tp_dump_clear(&dump);
    maker_end(&maker);
}
