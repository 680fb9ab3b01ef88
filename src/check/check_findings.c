/* SPDX-License-Identifier: MIT */
#include "check/check_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Column of a token, from 1. */
static uint32_t column_of(const struct tp_script *script,
                          const struct tp_py_token *token)
{
    const char *source = script->tokens.source;
    uint32_t start = token->start;
    while (start > 0 && source[start - 1] != '\n' && source[start - 1] != '\r')
        start--;
    return token->start - start + 1;
}

void tp_check_add_as(struct tp_check_findings *findings,
                     const struct tp_script *script, uint32_t node,
                     struct tp_check_finding as)
{
    const struct tp_py_token *token =
        &script->tokens.at[script->tree.at[node].token];
    as.line = token->line;
    as.column = column_of(script, token);
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
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    return (int)left->rule - (int)right->rule;
}

void tp_check_sort(struct tp_check_findings *findings)
{
    if (findings->count > 0)
        qsort(findings->at, findings->count, sizeof *findings->at, by_place);
}
