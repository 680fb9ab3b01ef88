/* SPDX-License-Identifier: MIT */
#include "formats/saved_place.h"

#include <inttypes.h>
#include <string.h>

#include <criterion/criterion.h>

/* Steps, epochs, ranks and the length of the stem in front of them. */
static const struct example {
    const char *path;
    int64_t step, epoch, rank;
    const char *stem;
} examples[] = {
    {"run/iter_0000010/mp_rank_02/model_optim_rng.pt", 10, -1, 2,
     "model_optim_rng"},
    {"run/iter_0000010/mp_rank_02_003/model_optim_rng.pt", 10, -1, -1,
     "model_optim_rng"},
    {"checkpoint-500/pytorch_model.bin", 500, -1, -1, "pytorch_model"},
    {"global_step500/mp_rank_01_model_states.pt", 500, -1, 1, ""},
    {"global_step500/zero_pp_rank_2_mp_rank_01_optim_states.pt", 500, -1, -1,
     ""},
    {"step=500.ckpt", 500, -1, -1, ""},
    {"ckpt_500.pt", 500, -1, -1, ""},
    {"checkpoint_step_500.pt", 500, -1, -1, "checkpoint"},
    {"epoch=3-step=500.ckpt", 500, 3, -1, ""},
    {"epoch=3-step=500-v2.ckpt", 500, 3, -1, ""},
    {"out/epoch_7/model.pt", -1, 7, -1, "model"},
    {"rank_2.pt", -1, -1, 2, ""},
    {"hidden_rank2.pt", -1, -1, 2, "hidden"},
    {"model_step500_rank3.pt", 500, -1, 3, "model"},
    {"checkpoint/step-500/__1_0.distcp", 500, -1, 1, ""},
    {"pytorch_model-00002-of-00005.bin", -1, -1, -1, "pytorch_model"},
    {"step_5/model-00002-of-00005.safetensors", 5, -1, -1, "model"},
    {"rng_state_3.pth", -1, -1, 3, ""},
    {"consolidated.01.pth", -1, -1, 1, ""},
    {"TP0_PP0_Rank3_pid71/Pass00001.pt", -1, -1, 3, "Pass00001"},
    {"llama-7b/model.bin", -1, -1, -1, "model"},
    {"iter_/step-.pt", -1, -1, -1, "step-"},
    {"step_99999999999999999999.pt", -1, -1, -1, "step_99999999999999999999"},
    {"a/b/c/step_5/d/e/f/model.pt", -1, -1, -1, "model"},
    {"run/model_500_steps.pt", 500, -1, -1, "model"},
    {"rl-500-steps/model.pt", 500, -1, -1, "model"},
    {"run/checkpoints/0050000.pt", 50000, -1, -1, ""},
    {"my_ckpts/500.pt", 500, -1, -1, ""},
    {"step-500/model.pt", 500, -1, -1, "model"},
    {"ckpt500.pt", 500, -1, -1, ""},
    {"run/ckpt500/model.pt", 500, -1, -1, "model"},
    {"checkpoint_3_500.pt", 500, 3, -1, ""},
    {"checkpoint0099.pth", -1, 99, -1, ""},
    /* numbers that are no step */
    {"500.pt", -1, -1, -1, "500"},
    {"layers/17.pt", -1, -1, -1, "17"},
    {"resnet50.pt", -1, -1, -1, "resnet50"},
    {"llama-7b.pt", -1, -1, -1, "llama-7b"},
    {"model_2024_11_02.pt", -1, -1, -1, "model_2024_11_02"},
    {"checkpoints/resnet50.pt", -1, -1, -1, "resnet50"},
    {"checkpoints/vit_l_16.pt", -1, -1, -1, "vit_l_16"},
    {"steps/model-v2.pt", -1, -1, -1, "model-v2"},
    {"Llama-3.2-1B-Instruct/model.pt", -1, -1, -1, "model"},
    {"x.pt.gz", -1, -1, -1, "x"},
    {"", -1, -1, -1, ""},
    {"/", -1, -1, -1, ""},
};

Test(saved_place, reads_layouts)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *e = &examples[i];
        struct tp_saved_place place;
        size_t stem;
        tp_saved_place_of(e->path, true, &place, &stem);
        cr_expect(place.number[TP_PLACE_STEP] == e->step, "%s: step %" PRId64,
                  e->path, place.number[TP_PLACE_STEP]);
        cr_expect(place.number[TP_PLACE_EPOCH] == e->epoch,
                  "%s: epoch %" PRId64, e->path, place.number[TP_PLACE_EPOCH]);
        cr_expect(tp_saved_rank(&place) == e->rank, "%s: rank %" PRId64,
                  e->path, tp_saved_rank(&place));
        cr_expect(stem == strlen(e->stem), "%s: a stem of %zu", e->path, stem);
    }
}

/* Each row is reached: its own pattern, with numbers, is read. */
Test(saved_place, each_row_is_reached)
{
    for (const struct tp_place_pattern *row = tp_place_patterns; row->pattern;
         row++) {
        char path[128];
        size_t length = 0, stem;
        int numbers = 0;
        for (const char *at = row->pattern; *at; at++) {
            bool letter = *at >= 'A' && *at <= 'Z';
            numbers += letter && *at != 'N';
            path[length++] = *at == '*' ? 'x' : letter ? '7' : *at;
        }
        strcpy(path + length, row->file ? "" : "/y");
        struct tp_saved_place place;
        tp_saved_place_of(path, true, &place, &stem);
        int found = 0;
        for (int i = 0; i < TP_PLACE_NUMBERS; i++)
            found += place.number[i] == 7;
        cr_expect(found == numbers, "%s: %d of %d numbers", path, found,
                  numbers);
    }
}

/* What a name says of parts is never missed by the quick look, which spares the
 * names of dumps. */
Test(saved_place, parts_are_not_missed)
{
    static const char *const spared[] = {
        "logs/20260115_100006_0059_iter003_attention_L3_forward_pre_FA_hifp8_"
        "rank00_sample000_group000_value.pt",
        "rank_3/model-00002-of-00005.pt", "hidden_rank2.pt", "layers/17.pt"};
    size_t said = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct tp_saved_place place;
        size_t stem;
        tp_saved_place_of_name(examples[i].path, &place, &stem);
        if (!tp_saved_names_part(&place))
            continue;
        cr_expect(tp_saved_may_name_part(examples[i].path), "%s",
                  examples[i].path);
        said++;
    }
    cr_expect(said == 2, "%zu names of parts", said);
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        cr_expect(!tp_saved_may_name_part(spared[i]), "%s", spared[i]);
}

Test(saved_place, each_row_of_parts_is_looked_at)
{
    size_t parts = 0;
    for (const struct tp_place_pattern *row = tp_place_patterns; row->pattern;
         row++) {
        char path[128];
        size_t length = 0;
        for (const char *at = row->pattern; *at; at++)
            path[length++] = *at == '*'                ? 'x'
                             : strchr("SERTPXDN", *at) ? '7'
                                                       : *at;
        strcpy(path + length, ".pt");
        cr_expect(row->part == (strpbrk(row->pattern, "TPXD") != NULL), "%s",
                  row->pattern);
        if (!row->part || !row->file)
            continue;
        cr_expect(tp_saved_may_name_part(path), "%s", path);
        parts++;
    }
    cr_expect(parts >= 6, "%zu rows", parts);
}
