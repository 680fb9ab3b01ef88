/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "replay/replay_run.h"
#include "tests/unit/support/dump_data.h"

static void read_dump(const char *name, struct tp_dump *dump)
{
    char path[4096];
    testdata_path(name, path, sizeof path);
    cr_assert(dump_data_read(path, dump));
}

/* All modes over a dump, by so many threads. */
static void replay(const struct tp_dump *dump, unsigned jobs,
                   struct tp_replay_options options,
                   struct tp_replay_results *results)
{
    struct tp_error err = {0};
    memset(results, 0, sizeof *results);
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        options.wish.modes[i] = true;
    if (options.wish.compat == TP_COMPAT_NONE)
        options.wish.compat = TP_COMPAT_MSPROBE;
    cr_assert_eq(tp_pool_new(jobs, &options.pool, &err), TP_OK);
    cr_assert_eq(tp_replay_dump(dump, &options, results, &err), TP_OK);
    tp_pool_free(options.pool);
}

/* What torch computed is computed again, whatever the number of threads. */
Test(replay_run, gives_the_same_for_any_number_of_threads)
{
    struct tp_dump dump;
    struct tp_replay_results one, three;
    const struct tp_replay_options all = {.stop = NULL};
    read_dump("replay", &dump);
    replay(&dump, 1, all, &one);
    replay(&dump, 3, all, &three);
    cr_assert_gt(one.flag_count, 100);
    cr_assert_eq(one.count, three.count);
    cr_assert_eq(one.flag_count, three.flag_count);
    for (size_t i = 0; i < one.count; i++) {
        cr_expect_str_eq(one.rows[i].status, "replayed");
        cr_expect_str_eq(one.rows[i].api_name, three.rows[i].api_name);
        cr_expect_arr_eq(&one.rows[i].error, &three.rows[i].error,
                         sizeof(double));
        cr_expect_arr_eq(&one.rows[i].amplification,
                         &three.rows[i].amplification, sizeof(double));
    }
    for (size_t i = 0; i < one.flag_count; i++) {
        cr_expect_str_eq(one.flags[i].api_name, three.flags[i].api_name);
        cr_expect_str_eq(one.flags[i].max_rel, three.flags[i].max_rel);
        cr_expect_str_neq(one.flags[i].pert_mode, "no_change");
    }
    tp_replay_results_clear(&one);
    tp_replay_results_clear(&three);
    tp_dump_clear(&dump);
}

static const struct tp_replay_row *row_of(
    const struct tp_replay_results *results, const char *key)
{
    for (size_t i = 0; i < results->count; i++)
        if (!strcmp(results->rows[i].api_name, key))
            return &results->rows[i];
    cr_assert(false, "no %s", key);
    return NULL;
}

/* A movement in bf16 shows the bit that was turned: 1/127 of a number whose
 * fraction is all ones, 2^-7 of a power of two. One of float32 is below its
 * limit. */
Test(replay_run, measures_how_far_a_bit_goes)
{
    struct tp_dump dump;
    struct tp_replay_results results;
    static const char *const list[] = {"Tensor.transpose", "Torch.square"};
    read_dump("replay", &dump);
    replay(&dump, 2, (struct tp_replay_options){.list = list, .list_count = 2},
           &results);
    const struct tp_replay_row *square =
        row_of(&results, "Torch.square.0.forward");
    cr_expect_str_eq(square->dtype, "torch.bfloat16");
    cr_expect_geq(square->bit_noise, 0x1p-7);
    /* d(x^2)/x^2 = 2 dx/x; the norm of x^2 weighs large elements more */
    cr_expect_gt(square->amplification, 1.4);
    cr_expect_lt(square->amplification, 2.6);
    cr_expect_leq(square->error, square->bound);
    for (size_t i = 0; i < results.count; i++)
        cr_expect(strstr(results.rows[i].api_name, list[0]) ||
                  strstr(results.rows[i].api_name, list[1]));
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
}

Test(replay_run, chooses_calls_by_name)
{
    struct tp_dump dump;
    struct tp_replay_results results;
    static const char *const scope[] = {"Torch.square.0.forward"};
    struct tp_replay_options options = {.scope = scope, .scope_count = 1};
    read_dump("replay", &dump);
    replay(&dump, 1, options, &results);
    cr_assert_eq(results.count, 1);
    cr_expect_str_eq(results.rows[0].api_name, scope[0]);
    cr_expect_eq(results.counts.calls, 1);
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
}

/* What cannot be read is named, and the rest replayed. */
Test(replay_run, goes_on_without_a_file)
{
    struct tp_dump dump;
    struct tp_replay_results results;
    const struct tp_replay_options all = {.stop = NULL};
    read_dump("replay", &dump);
    struct tp_dump_place *place = &dump.places[0];
    place->items[place->calls[0].first].file = NULL;
    replay(&dump, 2, all, &results);
    cr_expect_str_eq(results.rows[0].status, "unreadable");
    cr_expect_str_eq(results.rows[0].reason, "no file has a tensor of it");
    cr_expect(isnan(results.rows[0].error));
    cr_expect_eq(results.counts.states[TP_REPLAY_UNREADABLE], 1);
    cr_expect_eq(results.counts.states[TP_REPLAY_JUDGED], results.count - 1);
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
}

Test(replay_run, stops_when_told)
{
    struct tp_dump dump;
    struct tp_replay_results results = {.count = 0};
    struct tp_error err = {0};
    const volatile sig_atomic_t stop = 1;
    struct tp_replay_options options = {.stop = &stop};
    read_dump("msprobe", &dump);
    cr_assert_eq(tp_pool_new(1, &options.pool, &err), TP_OK);
    cr_expect_eq(tp_replay_dump(&dump, &options, &results, &err),
                 TP_E_INTERRUPTED);
    tp_replay_results_clear(&results);
    tp_pool_free(options.pool);
    tp_dump_clear(&dump);
}

/* Each mode has its line for each call, in msprobe's words. */
Test(replay_run, logs_what_msprobe_logs)
{
    struct tp_dump dump;
    struct tp_replay_results results;
    struct tp_text text = {0};
    static const char *const scope[] = {"Torch.square.0.forward",
                                        "Torch.arange.0.forward",
                                        "Torch.topk.0.forward"};
    read_dump("replay", &dump);
    replay(&dump, 1,
           (struct tp_replay_options){.scope = scope, .scope_count = 3},
           &results);
    tp_replay_log(&results, &text);
    const char *log = tp_text_get(&text);
    cr_expect_not_null(strstr(log, "[msprobe] Free Benchmark: Perturbation is "
                                   "add_noise of Torch.square.0.forward.\n"));
    tp_text_clear(&text);
    tp_replay_results_clear(&results);
    tp_dump_clear(&dump);
}
