/* SPDX-License-Identifier: MIT */
#include "check/check_settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static enum tp_status read_table(const char *text,
                                 struct tp_check_settings *settings,
                                 struct tp_arena *arena, struct tp_error *err)
{
    bool found;
    return tp_check_table(text, strlen(text), arena, settings, &found, err);
}

Test(check_settings, table)
{
    struct tp_check_settings s;
    struct tp_arena arena = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_table("[tool.tprof]\nselect = [\"bce\", \"half_call\"]\n"
                            "ignore = \"bce\"\nexclude = ['a', 'b/*']\n"
                            "fail_on = 'medium'\nlang = 'zh'\n"
                            "target = 'bf16'\ninclude_tests = true\n",
                            &s, &arena, &err),
                 TP_OK, "%s", err.message);
    cr_expect_str_eq(s.select, "bce,half_call");
    cr_expect_str_eq(s.ignore, "bce");
    cr_assert_eq(s.exclude_count, 2);
    cr_expect_str_eq(s.exclude[1], "b/*");
    cr_expect_eq(s.fail_on, TP_SEVERITY_MEDIUM);
    cr_expect_eq(s.lang, TP_CHECK_ZH);
    cr_expect_eq(s.target, TP_CHECK_BF16);
    cr_expect(s.include_tests);
    /* the command line wins, where it says something */
    struct tp_check_settings given = {
        .fail_on = 0, .lang = TP_CHECK_EN, .set = TP_CHECK_SET_FAIL_ON};
    tp_check_override(&s, &given);
    cr_expect_eq(s.fail_on, 0);
    cr_expect_eq(s.lang, TP_CHECK_ZH);
    cr_expect_str_eq(s.select, "bce,half_call");
    tp_arena_clear(&arena);
}

Test(check_settings, what_is_wrong)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        {"select = ['no_rule']", "no rule \"no_rule\""},
        {"select = true", "line 2: select wants a list of rules"},
        {"lang = 'fr'", "line 2: lang wants \"en\" or \"zh\""},
        {"target = ['fp16']", "line 2: target wants"},
        {"fail_on = 'worst'", "line 2: fail_on wants \"none\" or"},
        {"include_tests = 'yes'", "line 2: include_tests wants true or false"},
        {"exclude = true", "line 2: exclude wants a list of paths"},
        {"jobs = '2'", "line 2: no setting \"jobs\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_check_settings s;
        struct tp_arena arena = {0};
        struct tp_error err = {0};
        char text[128];
        snprintf(text, sizeof text, "[tool.tprof]\n%s\n", cases[i].line);
        cr_expect_eq(read_table(text, &s, &arena, &err), TP_E_USAGE, "%s",
                     text);
        cr_expect(strstr(err.message, cases[i].wanted) != NULL, "%s: %s", text,
                  err.message);
        tp_arena_clear(&arena);
    }
}

/* A target leaves out what is about another precision, and only that. */
Test(check_settings, targets)
{
    static const struct {
        const char *rule;
        bool wanted[4]; /* by enum tp_check_target                        */
    } cases[] = {{"static_loss_scale", {true, true, false, false}},
                 {"softmax_dtype", {true, true, false, false}},
                 {"fp16_on_cpu", {true, true, false, false}},
                 {"eps_below_fp16", {true, true, false, false}},
                 {"mask_below_fp16", {true, true, false, false}},
                 {"square_in_half", {true, true, false, false}},
                 {"adam_eps_half", {true, true, false, false}},
                 {"fp8_dims_not_16", {true, false, false, true}},
                 {"mx_dim_not_32", {true, false, false, true}},
                 {"fp8_cast_without_scale", {true, false, false, true}},
                 {"fp8_head", {true, false, false, true}},
                 {"e4m3_backward", {true, false, false, true}},
                 {"amax_history_1", {true, false, false, true}},
                 {"half_call", {true, true, true, true}},
                 {"reduce_in_half", {true, true, true, true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tp_check_rule *rule =
            tp_check_rule_find(cases[i].rule, strlen(cases[i].rule));
        cr_assert(rule != NULL, "%s", cases[i].rule);
        for (int t = 0; t < 4; t++) {
            struct tp_check_settings s = {.target = (enum tp_check_target)t};
            cr_expect_eq(tp_check_wants(&s, rule), cases[i].wanted[t],
                         "%s for %s", rule->id, tp_check_target_words[t]);
        }
    }
}
