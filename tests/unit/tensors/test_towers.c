/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "tensors/towers.h"

enum { ROWS = 4 };

static struct tp_row rows[ROWS];

static void set(size_t i, const char *module, const char *name, int64_t layer)
{
    const struct tp_label none = TP_LABEL_NONE;
    rows[i].label = none;
    rows[i].label.module = module;
    rows[i].label.tensor_name = name;
    rows[i].label.layer_idx = layer;
}

/* Parts the rows, of which the last is behind the others. */
static void part(const char *const want[ROWS])
{
    struct tp_run run;
    memset(&run, 0, sizeof run);
    run.rows = rows;
    run.row_count = ROWS - 1;
    run.aside_count = 1;
    cr_assert_eq(tp_towers_part(&run, NULL), TP_OK);
    for (size_t i = 0; i < ROWS; i++)
        cr_expect_str_eq(rows[i].label.tensor_name, want[i]);
    tp_arena_clear(&run.arena);
}

Test(towers, of_images_and_text)
{
    set(0, "vision_tower.encoder.layers.0.mlp.fc1", "fc1.weight", 0);
    set(1, "language_model.layers.0.mlp.fc1", "fc1.weight", 0);
    set(2, "language_model.layers.1.mlp.fc2", "fc2.weight", 1);
    set(3, "vision_tower.embeddings", "weight", -1);
    const char *const want[ROWS] = {"vision_tower.fc1.weight",
                                    "language_model.fc1.weight",
                                    "language_model.fc2.weight", "weight"};
    part(want);
}

Test(towers, of_encoder_and_decoder)
{
    set(0, "t5.encoder.block.0.fc1", "fc1.weight", 0);
    set(1, "t5.decoder.block.0.fc1", "fc1.weight", 0);
    set(2, "t5.decoder.block.7.fc1", "fc1.weight", 7);
    set(3, "t5.encoder.block.0.fc1", "fc1.weight_scale", 0);
    const char *const want[ROWS] = {"encoder.fc1.weight", "decoder.fc1.weight",
                                    "decoder.fc1.weight",
                                    "encoder.fc1.weight_scale"};
    part(want);
}

/* One word that differs would not tell two of three apart. */
Test(towers, three_of_them)
{
    set(0, "a.left.layers.0.fc1", "fc1.weight", 0);
    set(1, "a.right.layers.0.fc1", "fc1.weight", 0);
    set(2, "b.layers.0.fc1", "fc1.weight", 0);
    set(3, "layers.0.fc1", "fc1.weight", 0);
    const char *const want[ROWS] = {"a.left.fc1.weight", "a.right.fc1.weight",
                                    "b.fc1.weight", "fc1.weight"};
    part(want);
}

/* Names that tell them apart already, experts, steps and one tower alone. */
Test(towers, nothing_to_part)
{
    set(0, "encoder.layers.0.fc1", "fc1.weight", 0);
    set(1, "decoder.layers.0.up_proj", "up_proj.weight", 0);
    set(2, "encoder.layers.1.fc1", "fc1.weight", 1);
    set(3, "decoder.layers.0.fc1", "fc1.weight", 0);
    rows[3].label.iteration = 10;
    const char *const want[ROWS] = {"fc1.weight", "up_proj.weight",
                                    "fc1.weight", "fc1.weight"};
    part(want);
    set(0, "layers.0.experts.0.w1", "w1.weight", 0);
    set(1, "layers.0.experts.1.w1", "w1.weight", 0);
    set(2, "layers.0.w1", "w1.weight", 0);
    set(3, "layers.1.w1", "w1.weight", 1);
    const char *const experts[ROWS] = {"w1.weight", "w1.weight", "w1.weight",
                                       "w1.weight"};
    part(experts);
}
