/* SPDX-License-Identifier: MIT */
#include "check/check_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tp_check_add_as(struct tp_check_findings *findings,
                     const struct tp_script *script, uint32_t node,
                     struct tp_check_finding as)
{
    const struct tp_py_token *token =
        &script->tokens.at[script->tree.at[node].token];
    as.line = token->line;
    as.offset = token->start;
    if (tp_grow(&findings->at, &findings->capacity, findings->count + 1,
                sizeof *findings->at, NULL) != TP_OK)
        findings->failed = true;
    else
        findings->at[findings->count++] = as;
}

void tp_check_add(struct tp_check_findings *findings,
                  const struct tp_script *script, uint32_t node,
                  enum tp_check_rule_id rule, const char *what)
{
    struct tp_check_finding as = {.rule = rule,
                                  .severity = tp_check_rules[rule].severity};
    snprintf(as.what, sizeof as.what, "%s", what);
    tp_check_add_as(findings, script, node, as);
}

static int by_place(const void *a, const void *b)
{
    const struct tp_check_finding *left = a, *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (int)left->rule - (int)right->rule;
}

void tp_check_sort(struct tp_check_findings *findings)
{
    if (findings->count > 0)
        qsort(findings->at, findings->count, sizeof *findings->at, by_place);
}
