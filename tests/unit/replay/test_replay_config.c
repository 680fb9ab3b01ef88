/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include "replay/replay_config.h"

/* Reads a text as a file. */
static enum tp_status read_text(const char *text,
                                struct tp_replay_config *config,
                                struct tp_error *err)
{
    char path[512];
    const struct maker maker = maker_begin();
    maker_put(&maker, "config.json", text);
    maker_path(&maker, "config.json", path, sizeof path);
    enum tp_status status = tp_replay_config_read(path, config, err);
    maker_end(&maker);
    return status;
}

/* The example of msprobe's documentation. */
static const char example[] =
    "{\"task\": \"free_benchmark\", \"dump_path\": \"./dump_path\",\n"
    " \"rank\": [], \"step\": [], \"level\": \"L1\", \"free_benchmark\": {\n"
    " \"scope\": [], \"list\": [], \"fuzz_device\": \"npu\",\n"
    " \"pert_mode\": \"improve_precision\", \"handler_type\": \"check\",\n"
    " \"fuzz_level\": \"L1\", \"fuzz_stage\": \"forward\",\n"
    " \"if_preheat\": false, \"preheat_step\": 15, \"max_sample\": 20}}\n";

Test(replay_config, reads_the_example)
{
    struct tp_replay_config config = {.pert_mode = NULL};
    struct tp_error err = {0};
    struct tp_replay_asked asked;
    cr_assert_eq(read_text(example, &config, &err), TP_OK, "%s", err.message);
    cr_expect_str_eq(config.pert_mode, "improve_precision");
    cr_expect_null(config.list);
    cr_expect_null(config.ranks);
    cr_expect_eq(config.preheat_step, 15);
    cr_expect_eq(config.max_sample, 20);
    cr_assert_eq(tp_replay_config_check(&config, &asked, &err), TP_OK);
    cr_expect_not(asked.fix);
    cr_expect_not(asked.wish.backward);
    cr_expect_eq(asked.preheat_step, 0);
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        cr_expect_eq(asked.wish.modes[i], i == TP_PERTURB_IMPROVE);
    tp_replay_config_clear(&config);
}

Test(replay_config, joins_lists_and_yields_to_the_command_line)
{
    struct tp_replay_config config = {.pert_mode = "bit_noise"};
    struct tp_error err = {0};
    cr_assert_eq(read_text("{\"task\": \"free_benchmark\", \"rank\": [0, 3],"
                           " \"step\": [\"1-2\", 5], \"free_benchmark\":"
                           " {\"list\": [\"relu\", \"softmax\"],"
                           " \"pert_mode\": \"add_noise\"}}",
                           &config, &err),
                 TP_OK, "%s", err.message);
    cr_expect_str_eq(config.ranks, "0,3");
    cr_expect_str_eq(config.steps, "1-2,5");
    cr_expect_str_eq(config.list, "relu,softmax");
    cr_expect_str_eq(config.pert_mode, "bit_noise");
    tp_replay_config_clear(&config);
}

Test(replay_config, names_what_cannot_be)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ""},
        {"[]", "this is no JSON object"},
        {"{\"task\": \"tensor\"}",
         "its task is \"tensor\", not \"free_benchmark\""},
        {"{\"task\": \"free_benchmark\", \"rank\": {}}",
         "rank takes a list of names or numbers"},
        {"{\"task\": \"free_benchmark\", \"free_benchmark\": 1}",
         "free_benchmark is no object"},
        {"{\"task\": \"free_benchmark\", \"free_benchmark\":"
         " {\"pert_mod\": \"add_noise\"}}",
         "free_benchmark has no member pert_mod"},
        {"{\"task\": \"free_benchmark\", \"free_benchmark\":"
         " {\"pert_mode\": 3}}",
         "pert_mode takes a word in quotes"},
        {"{\"task\": \"free_benchmark\", \"free_benchmark\":"
         " {\"if_preheat\": \"true\"}}",
         "if_preheat takes true or false"},
        {"{\"task\": \"free_benchmark\", \"free_benchmark\":"
         " {\"max_sample\": 0}}",
         "max_sample takes a number from 1 on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_replay_config config = {.pert_mode = NULL};
        struct tp_error err = {0};
        cr_expect_eq(read_text(cases[i].text, &config, &err), TP_E_USAGE, "%s",
                     cases[i].text);
        if (*cases[i].message)
            cr_expect_str_eq(err.message, cases[i].message);
        cr_expect_neq(err.message[0], '\0');
        tp_replay_config_clear(&config);
    }
}

/* Contradictions, and their twins without. */
Test(replay_config, refuses_contradictions)
{
    static const struct {
        struct tp_replay_config config;
        const char *part; /* of the message; NULL: it is fine               */
    } cases[] = {
        {{.handler_type = "fix", .pert_mode = "add_noise"}, "not with add"},
        {{.handler_type = "check", .pert_mode = "add_noise"}, NULL},
        {{.handler_type = "fix"}, NULL},
        {{.handler_type = "fix",
          .fuzz_device = "cpu",
          .pert_mode = "to_cpu"},
         NULL},
        {{.pert_mode = "to_cpu"}, "not with npu, the default"},
        {{.pert_mode = "to_cpu,add_noise"}, NULL},
        {{.pert_mode = "all"}, NULL},
        {{.level = "L1"}, NULL},
        {{.level = "mix"}, NULL},
        {{.level = "L0"}, "level takes L1 or mix, not \"L0\""},
        {{.fuzz_device = "npu", .pert_mode = "to_cpu"}, "not with npu"},
        {{.fuzz_device = "cpu"}, "not with improve_precision"},
        {{.fuzz_device = "cpu", .pert_mode = "to_cpu"}, NULL},
        {{.fuzz_stage = "backward"}, "needs a list"},
        {{.fuzz_stage = "backward", .list = "relu"}, NULL},
        {{.fuzz_stage = "backward", .list = "relu", .handler_type = "fix"},
         "fix works with fuzz_stage forward"},
        {{.fuzz_stage = "sideways"}, "fuzz_stage takes forward or backward"},
        {{.fuzz_stage = "forward", .list = "relu"}, NULL},
        {{.fuzz_level = "L2"}, "fuzz_level takes L1, not"},
        {{.preheat = true}, "it needs --compat msprobe"},
        {{.preheat = true, .compat = TP_COMPAT_MSPROBE}, NULL},
        {{.preheat = true, .compat = TP_COMPAT_MSPROBE, .handler_type = "fix"},
         "if_preheat works with handler_type check"},
        {{.preheat = true,
          .compat = TP_COMPAT_MSPROBE,
          .fuzz_stage = "backward",
          .list = "relu"},
         "if_preheat works with fuzz_stage forward"},
        {{.pert_mode = "noise"}, "pert_mode takes"},
        {{.pert_mode = " , "}, "names no mode"},
        {{.pert_mode = "add_noise, bit_noise"}, NULL},
        {{.pert_mode = "all"}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_error err = {0};
        struct tp_replay_asked asked;
        const enum tp_status status =
            tp_replay_config_check(&cases[i].config, &asked, &err);
        if (cases[i].part) {
            cr_expect_eq(status, TP_E_USAGE);
            cr_expect_not_null(strstr(err.message, cases[i].part), "%s",
                               err.message);
        } else {
            cr_expect_eq(status, TP_OK, "%s", err.message);
        }
    }
}

Test(replay_config, takes_names_apart)
{
    struct tp_arena arena = {0};
    struct tp_error err = {0};
    const char *const *names;
    size_t count;
    cr_assert_eq(tp_replay_names(" a.b , ,c", &arena, &names, &count, &err),
                 TP_OK);
    cr_assert_eq(count, 2);
    cr_expect_str_eq(names[0], "a.b");
    cr_expect_str_eq(names[1], "c");
    tp_arena_clear(&arena);
}
