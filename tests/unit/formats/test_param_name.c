/* SPDX-License-Identifier: MIT */
#include "formats/param_name.h"
#include "tests/unit/support/testdata.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

/* One line of testdata/keys; tests/make_key_lists.py says where what a key is
 * comes from: the classes of the modules, not the key. */
struct line {
    char key[256], type[32], role[32];
    int layer, expert;
};

static bool read_line(FILE *file, struct line *line)
{
    return fscanf(file, "%255s %d %31s %d %31s", line->key, &line->layer,
                  line->type, &line->expert, line->role) == 5;
}

static void expect_line(const char *list, const struct line *line)
{
    struct tp_arena arena = {0};
    struct tp_label label = TP_LABEL_NONE;
    struct tp_error err = {0};
    bool named;
    cr_assert(tp_param_name_label(line->key, NULL, &arena, &label, &named,
                                  &err) == TP_OK);
    cr_expect(named && *label.tensor_name, "%s: %s has no name", list,
              line->key);
    cr_expect(!strcmp(label.layer_type, line->type), "%s: %s is %s, not %s",
              list, line->key, label.layer_type, line->type);
    cr_expect(!strcmp(label.component, line->role), "%s: %s is %s, not %s",
              list, line->key, label.component, line->role);
    cr_expect(label.layer_idx == line->layer, "%s: %s: layer %" PRId64, list,
              line->key, label.layer_idx);
    cr_expect(label.expert == line->expert, "%s: %s: expert %" PRId64, list,
              line->key, label.expert);
    tp_arena_clear(&arena);
}

static int expect_list(const char *name)
{
    char inside[300], path[512];
    snprintf(inside, sizeof inside, "keys/%s", name);
    testdata_path(inside, path, sizeof path);
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL, "%s", path);
    struct line line;
    int count = 0;
    for (; read_line(file, &line); count++)
        expect_line(name, &line);
    cr_expect(feof(file), "%s: line %d has other columns", name, count + 1);
    fclose(file);
    cr_expect(count > 0, "%s is empty", name);
    return count;
}

Test(param_name, knows_the_keys_of_families)
{
    char path[512];
    testdata_path("keys", path, sizeof path);
    DIR *folder = opendir(path);
    cr_assert(folder != NULL);
    int lists = 0, keys = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!strstr(entry->d_name, ".txt"))
            continue;
        lists++;
        keys += expect_list(entry->d_name);
    }
    closedir(folder);
    cr_expect(lists >= 12 && keys > 500, "%d lists, %d keys", lists, keys);
}

/* A key, of a state perhaps the parameter, and what it gives. */
struct example {
    const char *key, *parameter;
    const char *name, *module, *type, *component;
    int64_t layer, expert;
};

static void expect_example(const struct example *e)
{
    struct tp_arena arena = {0};
    struct tp_label label = TP_LABEL_NONE;
    struct tp_error err = {0};
    bool named;
    cr_assert(tp_param_name_label(e->key, e->parameter, &arena, &label, &named,
                                  &err) == TP_OK);
    cr_expect(named == (e->name != NULL), "%s", e->key);
    cr_expect_str_eq(label.tensor_name, e->name ? e->name : "", "%s", e->key);
    cr_expect_str_eq(label.module, e->module, "%s", e->key);
    cr_expect_str_eq(label.layer_type, e->type, "%s", e->key);
    cr_expect_str_eq(label.component, e->component, "%s", e->key);
    cr_expect(label.layer_idx == e->layer, "%s: %" PRId64, e->key,
              label.layer_idx);
    cr_expect(label.expert == e->expert, "%s: %" PRId64, e->key, label.expert);
    tp_arena_clear(&arena);
}

Test(param_name, names_tensors_by_their_module)
{
    static const struct example examples[] = {
        {"model.layers.17.self_attn.q_proj.weight", NULL, "q_proj.weight",
         "layers.17.self_attn.q_proj", "attention", "weight", 17, -1},
        {"transformer.h.3.mlp.c_fc.bias", NULL, "c_fc.bias",
         "transformer.h.3.mlp.c_fc", "mlp", "bias", 3, -1},
        {"transformer.h.3.mlp.c_proj.weight", NULL, "mlp.c_proj.weight",
         "transformer.h.3.mlp.c_proj", "mlp", "weight", 3, -1},
        {"bert.encoder.layer.1.attention.output.dense.weight", NULL,
         "attention.output.dense.weight",
         "bert.encoder.layer.1.attention.output.dense", "attention", "weight",
         1, -1},
        {"base_model.model.model.layers.3.self_attn.q_proj.lora_A.default."
         "weight",
         NULL, "q_proj.lora_A.default.weight",
         "base_model.model.model.layers.3.self_attn.q_proj.lora_A.default",
         "attention", "weight", 3, -1},
        {"base_model.model.layers.3.self_attn.v_proj.lora_B.weight", NULL,
         "v_proj.lora_B.weight",
         "base_model.model.layers.3.self_attn.v_proj.lora_B", "attention",
         "weight", 3, -1},
        {"model.layers.3.self_attn.v_proj.base_layer.weight", NULL,
         "v_proj.base_layer.weight",
         "layers.3.self_attn.v_proj.base_layer", "attention", "weight", 3, -1},
        {"model.decoder.layers.0.encoder_attn.q_proj.weight", NULL,
         "encoder_attn.q_proj.weight", "decoder.layers.0.encoder_attn.q_proj",
         "attention", "weight", 0, -1},
        {"model.layers.3.mlp.experts.255.up_proj.weight", NULL,
         "up_proj.weight", "layers.3.mlp.experts.255.up_proj", "expert",
         "weight", 3, 255},
        {"optimizer.state.12.exp_avg", NULL, "12.exp_avg", "", "optimizer",
         "moment_1", -1, -1},
        {"optimizer.state.12.exp_avg", "layers.1.mlp.down_proj.weight",
         "down_proj.weight.exp_avg", "layers.1.mlp.down_proj", "mlp",
         "moment_1", 1, -1},
        {"base_optimizer_state.state.0.exp_avg_sq", NULL, "0.exp_avg_sq", "",
         "optimizer", "moment_2", -1, -1},
        {"single_partition_of_fp32_groups[0]", NULL,
         "0.single_partition_of_fp32_groups", "", "optimizer", "master_weight",
         -1, -1},
        {"layers.0.mlp.fc1.weight#value", NULL, "fc1.weight",
         "layers.0.mlp.fc1", "mlp", "weight", 0, -1},
        {"net['a.b'].weight", NULL, "b.weight", "net.a.b", "b", "weight", -1,
         -1},
        {"layers.0.weight", NULL, "weight", "layers.0", "layers", "weight", 0,
         -1},
        {"input", NULL, "input", "", "", "", -1, -1},
        {"[13]", NULL, NULL, "", "", "", -1, -1},
        {"", NULL, NULL, "", "", "", -1, -1},
        {"...", NULL, NULL, "", "", "", -1, -1},
        {"module", NULL, "module", "", "", "", -1, -1},
        {"layers.99999999999999999999.weight", NULL,
         "99999999999999999999.weight", "layers.99999999999999999999",
         "99999999999999999999", "weight", -1, -1},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect_example(&examples[i]);
}

Test(param_name, roles_of_states_are_no_weights)
{
    struct tp_arena arena = {0};
    struct tp_label label = TP_LABEL_NONE;
    struct tp_error err = {0};
    bool named;
    cr_assert(tp_param_name_label("state.fc.weight.exp_avg_sq", NULL, &arena,
                                  &label, &named, &err) == TP_OK);
    cr_expect(label.roles == TP_ROLE_MOMENT_2);
    tp_arena_clear(&arena);
}

Test(param_name, counters_are_nothing_of_a_model)
{
    static const struct {
        const char *key;
        bool counter;
    } keys[] = {{"optimizer.state.0.step", true},
                {"optimizer.state.step.fc.weight", true},
                {"bn1.num_batches_tracked", true},
                {"bn1.running_var", false},
                {"step.weight", false},
                {"step", false}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct tp_arena arena = {0};
        struct tp_label label = TP_LABEL_NONE;
        struct tp_error err = {0};
        bool named;
        cr_assert(tp_param_name_label(keys[i].key, NULL, &arena, &label,
                                      &named, &err) == TP_OK);
        cr_expect((label.roles == TP_ROLE_COUNTER) == keys[i].counter, "%s",
                  keys[i].key);
        tp_arena_clear(&arena);
    }
}

Test(param_name, takes_a_key_of_many_words)
{
    enum { WORDS = 3000 };
    static char key[2 * WORDS + 1];
    for (int i = 0; i < WORDS; i++)
        memcpy(key + (ptrdiff_t)2 * i, "a.", 2);
    key[2 * WORDS - 1] = '\0';
    struct tp_arena arena = {0};
    struct tp_label label = TP_LABEL_NONE;
    struct tp_error err = {0};
    bool named;
    cr_assert(tp_param_name_label(key, NULL, &arena, &label, &named, &err) ==
              TP_OK);
    cr_expect(named && *label.tensor_name);
    tp_arena_clear(&arena);
}

Test(param_name, finds_the_number_of_a_parameter)
{
    size_t prefix = 99;
    cr_expect(tp_param_number("optimizer.state.12.exp_avg", &prefix) == 12);
    cr_expect(prefix == strlen("optimizer."));
    cr_expect(tp_param_number("state.3.step", &prefix) == 3 && prefix == 0);
    cr_expect(tp_param_number("state.fc.weight.exp_avg", &prefix) < 0);
    cr_expect(tp_param_number("layers.3.weight", &prefix) < 0);
}

Test(param_name, tells_what_is_learned)
{
    cr_expect(tp_param_is_learned("model.fc.weight"));
    cr_expect(tp_param_is_learned("model.A"));
    cr_expect(!tp_param_is_learned("model.bn.running_mean"));
    cr_expect(!tp_param_is_learned("model.bn.num_batches_tracked"));
    cr_expect(!tp_param_is_learned("optimizer.state.0.exp_avg"));
}
