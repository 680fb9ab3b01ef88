/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "tensors/rank_grid.h"

static struct tp_row rows[2];

static void set(size_t i, const char *file, const char *path)
{
    static const struct tp_label none = TP_LABEL_NONE;
    rows[i] = (struct tp_row){.file = file, .path = path, .label = none};
}

/* Whether two tensors of one name are parts of the same parameter. */
static bool alike(const char *a, const char *b, const char *path)
{
    struct tp_run run;
    memset(&run, 0, sizeof run);
    run.rows = rows;
    run.row_count = 2;
    set(0, a, path);
    set(1, b, path);
    rows[0].label.rank = 0;
    rows[1].label.rank = 1;
    tp_rank_grid(&run);
    tp_notes_clear(&run.notes);
    tp_arena_clear(&run.arena);
    return rows[0].label.part == rows[1].label.part;
}

Test(rank_grid, partitions_of_zero_are_parts)
{
    cr_expect(!alike("global_step5/zero_pp_rank_0_mp_rank_00_optim_states.pt",
                     "global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt",
                     "optimizer_state_dict.single_partition_of_fp32_groups"));
    cr_expect(alike("global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_"
                    "states.pt",
                    "global_step5/bf16_zero_pp_rank_1_mp_rank_01_optim_"
                    "states.pt",
                    "optimizer_state_dict.single_partition_of_fp32_groups"));
    cr_expect(alike("global_step5/mp_rank_00_model_states.pt",
                    "global_step5/mp_rank_01_model_states.pt",
                    "module.norm.weight"));
}

Test(rank_grid, stages_have_numbers_of_their_own)
{
    cr_expect(!alike("iter_0000005/mp_rank_00_000/model_optim_rng.pt",
                     "iter_0000005/mp_rank_00_001/model_optim_rng.pt",
                     "model.decoder.layers.0.mlp.linear_fc1.weight"));
    cr_expect(alike("iter_0000005/mp_rank_00_001/model_optim_rng.pt",
                    "iter_0000005/mp_rank_01_001/model_optim_rng.pt",
                    "model.decoder.layers.0.mlp.linear_fc1.weight"));
}

Test(rank_grid, experts_have_numbers_of_their_own)
{
    static const char *const files[] = {
        "iter_0000005/mp_rank_00_000_000/model_optim_rng.pt",
        "iter_0000005/mp_rank_00_000_001/model_optim_rng.pt"};
    cr_expect(!alike(files[0], files[1],
                     "model.decoder.layers.0.mlp.experts.linear_fc1.weight0"));
    cr_expect(alike(files[0], files[1],
                    "model.decoder.layers.0.self_attention.linear_qkv.weight"));
}

Test(rank_grid, flat_parameters_are_cut)
{
    cr_expect(!alike("step_5/rank_0.pt", "step_5/rank_1.pt",
                     "layers.0._fsdp_wrapped_module._flat_param"));
    cr_expect(alike("step_5/rank_0.pt", "step_5/rank_1.pt",
                    "layers.0._fsdp_wrapped_module.norm.weight"));
}
