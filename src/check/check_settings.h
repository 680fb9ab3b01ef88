/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_SETTINGS_H
#define TP_CHECK_CHECK_SETTINGS_H

#include "base/memory.h"
#include "check/check_rules.h"

/* What is asked of a check: by the command line, and by the table [tool.tprof]
 * of the pyproject.toml of what is checked. */

/* The low precision that a run uses: rules that are about another are silent.
 * fp8: products in 8 bits within a run in bf16. */
enum tp_check_target {
    TP_CHECK_ANY,
    TP_CHECK_FP16,
    TP_CHECK_BF16,
    TP_CHECK_FP8
};

/* "all", "fp16", "bf16", "fp8", then NULL. */
extern const char *const tp_check_target_words[];

/* What was set. */
enum {
    TP_CHECK_SET_LANG = 1,
    TP_CHECK_SET_TARGET = 2,
    TP_CHECK_SET_FAIL_ON = 4,
    TP_CHECK_SET_TESTS = 8
};

/* Texts are borrowed. All-zero bytes ask for nothing. */
struct tp_check_settings {
    const char *select, *ignore; /* lists of rules; NULL: all, none       */
    const char *const *exclude;  /* patterns of paths                     */
    size_t exclude_count;
    enum tp_check_lang lang;
    enum tp_check_target target;
    int fail_on; /* enum tp_severity; 0: nothing fails                    */
    bool include_tests;
    unsigned set; /* TP_CHECK_SET_..., beside the lists                   */
};

/*
 * The settings of one project: of the nearest pyproject.toml with a table
 * [tool.tprof] in `directory` (absolute) or above it; of none: all zero.
 * *project: the folder of that file, NULL without one. Texts are the arena's.
 * Fails with TP_E_USAGE, naming file and line, for a table that asks for what
 * there is not; TP_E_DAMAGED for a file that is no TOML; TP_E_MEMORY.
 */
enum tp_status tp_check_find_project(const char *directory,
                                     struct tp_arena *arena,
                                     struct tp_check_settings *settings,
                                     const char **project,
                                     struct tp_error *err);

/* The settings that a table makes; as above. */
enum tp_status tp_check_table(const char *text, size_t length,
                              struct tp_arena *arena,
                              struct tp_check_settings *settings, bool *found,
                              struct tp_error *err);

/* Puts what `over` sets in the place of what was set. */
void tp_check_override(struct tp_check_settings *settings,
                       const struct tp_check_settings *over);

/* Whether findings of a rule are wanted. */
bool tp_check_wants(const struct tp_check_settings *settings,
                    const struct tp_check_rule *rule);

/* Whether `list`, names with commas between, has `name`. */
bool tp_check_list_has(const char *list, size_t length, const char *name);

/* TP_E_USAGE when a list, with commas, names what is no rule. */
enum tp_status tp_check_names(const char *list, struct tp_error *err);

#endif
