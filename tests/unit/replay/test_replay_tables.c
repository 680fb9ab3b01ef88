/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "replay/replay_tables.h"
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

/* Each mode has its line for each call, in msprobe's words. */
Test(replay_tables, logs_what_msprobe_logs)
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
