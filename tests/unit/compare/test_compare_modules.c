/* SPDX-License-Identifier: MIT */
#include "compare/compare_modules.h"

#include <string.h>

#include <criterion/criterion.h>

static const char *const mapping = "TopLayer:\n"
                                   "  net: model\n"
                                   "Net:\n"
                                   "  emb: tok\n"
                                   "  layers: h\n"
                                   "Block:\n"
                                   "  attn: self_attn(SelfAttention)\n"
                                   "Attention:\n"
                                   "  qkv: query_key_value\n"
                                   "  core: not_this_one\n"
                                   "  core.soft: sm\n";

/* Names of A, and those of B that mindstudio-probe 26.2 gives them by that
 * mapping (generate_api_mapping_by_layer_mapping). */
static const struct {
    const char *a, *b;
} calls[] = {
    {"Module.net.emb.Embedding.forward.0", "Module.model.tok.Emb.forward.0"},
    {"Module.net.layers.0.attn.qkv.Linear.forward.0",
     "Module.model.h.0.self_attn.query_key_value.Lin.forward.0"},
    {"Module.net.layers.0.attn.core.soft.Softmax.forward.0",
     "Module.model.h.0.self_attn.sm.S.forward.0"},
    {"Module.net.layers.0.attn.Attention.forward.0",
     "Module.model.h.0.self_attn.SelfAttention.forward.0"},
    {"Module.net.layers.0.Block.forward.0", "Module.model.h.0.Layer.forward.0"},
    {"Module.net.layers.1.attn.qkv.Linear.forward.0",
     "Module.model.h.1.self_attn.query_key_value.Lin.forward.0"},
    {"Module.net.layers.1.attn.Attention.forward.0",
     "Module.model.h.1.self_attn.SelfAttention.forward.0"},
    {"Module.net.layers.1.Block.forward.0", "Module.model.h.1.Layer.forward.0"},
    {"Module.net.qkv.Linear.forward.0", "Module.model.qkv.Lin.forward.0"},
    {"Module.net.Net.forward.0", "Module.model.GPT.forward.0"},
    {"Module.net.layers.0.attn.qkv.Linear.backward.0",
     "Module.model.h.0.self_attn.query_key_value.Lin.backward.0"},
    {"Module.net.layers.0.Block.backward.0",
     "Module.model.h.0.Layer.backward.0"},
};
enum { CALLS = sizeof calls / sizeof *calls };

struct made {
    struct tp_compare_map map;
    struct tp_compare_modules layers;
    struct tp_compare_entry rows[CALLS];
    struct tp_compare_entries a;
    struct tp_arena arena;
};

static void make(struct made *made, const char *text)
{
    struct tp_error err = {0};
    *made = (struct made){.a = {.count = CALLS}};
    made->a.rows = made->rows;
    for (size_t i = 0; i < CALLS; i++)
        made->rows[i].key = calls[i].a;
    cr_assert_eq(tp_compare_map_parse(text, strlen(text), &made->map, &err),
                 TP_OK, "%s", err.message);
    cr_assert_eq(
        tp_compare_modules_init(&made->map, &made->a, &made->layers, &err),
        TP_OK);
}

static void clear(struct made *made)
{
    tp_compare_modules_clear(&made->layers);
    tp_compare_map_clear(&made->map);
    tp_arena_clear(&made->arena);
}

Test(compare_modules, names_are_those_of_msprobe)
{
    struct made made;
    make(&made, mapping);
    for (size_t i = 0; i < CALLS; i++)
        cr_expect_str_eq(tp_compare_modules_name(&made.layers, calls[i].a, true,
                                                 &made.arena),
                         tp_compare_modules_name(&made.layers, calls[i].b,
                                                 false, &made.arena));
    clear(&made);
}

Test(compare_modules, the_place_stays_and_other_calls_too)
{
    struct made made;
    make(&made, mapping);
    cr_expect_str_eq(tp_compare_modules_name(
                         &made.layers,
                         "Module.net.qkv.Linear.forward.0.parameters.weight",
                         true, &made.arena),
                     "Module.model.qkv.forward.0.parameters.weight");
    const char *api = "Torch.net.0.forward.input.0";
    cr_expect_str_eq(
        tp_compare_modules_name(&made.layers, api, true, &made.arena), api);
    clear(&made);
}

/* A list of layers has no call, so that it goes by its name. */
Test(compare_modules, what_has_no_call_goes_by_its_name)
{
    struct made made;
    make(&made, "layers:\n  0: first\n");
    cr_expect_str_eq(
        tp_compare_modules_name(&made.layers, calls[4].a, true, &made.arena),
        "Module.net.layers.first.forward.0");
    cr_expect_str_eq(
        tp_compare_modules_name(&made.layers, calls[7].a, true, &made.arena),
        "Module.net.layers.1.forward.0");
    clear(&made);
}
