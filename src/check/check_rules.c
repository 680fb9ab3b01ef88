/* SPDX-License-Identifier: MIT */
#include "check/check_rules.h"

#include <string.h>

const char *const tp_check_lang_words[] = {"en", "zh", NULL};

const struct tp_check_family *const tp_check_families[] = {
    &tp_check_amp,       &tp_check_scaler,
    &tp_check_numerics,  &tp_check_half,
    &tp_check_precision, &tp_check_fp8,
    &tp_check_loop,      &tp_check_timing,
    &tp_check_msprobe,   NULL};

const struct tp_check_rule *tp_check_rule_at(size_t i)
{
    for (const struct tp_check_family *const *f = tp_check_families; *f; f++) {
        for (const struct tp_check_rule *rule = (*f)->rules; rule->id; rule++) {
            if (i-- == 0)
                return rule;
        }
    }
    return NULL;
}

const struct tp_check_rule *tp_check_rule_find(const char *id, size_t length)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++) {
        if (strlen(rule->id) == length && memcmp(rule->id, id, length) == 0)
            return rule;
    }
    return NULL;
}
