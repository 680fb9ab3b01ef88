/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/check_facts.h"
#include "fuzz.h"

/*
 * A Python script. Whatever it is: tokens stand in order inside the source,
 * INDENT and DEDENT are as many, each node but the module has one parent and
 * lies inside the tokens, findings stand in order on lines that are there, and
 * two readings find the same.
 */

static void check_tokens(const struct tp_py_tokens *tokens, size_t size)
{
    size_t end = 0, deep = 0;
    uint32_t line = 1;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct tp_py_token *t = &tokens->at[i];
        fuzz_need(t->start >= end && t->start + t->length <= size,
                  "tokens stand in order inside the source");
        fuzz_need(t->line >= line, "lines only grow");
        end = t->start + t->length;
        line = t->line;
        deep += t->kind == TP_PY_INDENT;
        fuzz_need(t->kind != TP_PY_DEDENT || deep > 0, "a DEDENT closes one");
        deep -= t->kind == TP_PY_DEDENT;
        fuzz_need((t->kind == TP_PY_END) == (i + 1 == tokens->count),
                  "the end is the last");
    }
    fuzz_need(deep == 0, "what is indented ends");
}

static void check_tree(const struct tp_py_tree *tree)
{
    unsigned char *parents = calloc(tree->count, 1);
    fuzz_need(parents != NULL, "memory");
    for (size_t i = 1; i < tree->count; i++) {
        const struct tp_py_node *node = &tree->at[i];
        fuzz_need(node->token < tree->tokens->count &&
                      node->end <= tree->tokens->count,
                  "a node lies inside the tokens");
        for (uint32_t c = node->child; c; c = tree->at[c].next)
            fuzz_need(c < tree->count && parents[c]++ == 0,
                      "a node has one parent");
    }
    free(parents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    const char *source = (const char *)guard.data;
    struct tp_script script;
    struct tp_check_file first = {0}, second = {0};
    struct tp_error err = {0};
    fuzz_need(tp_script_read(source, size, &script, &err) == TP_OK,
              "any bytes are read");
    check_tokens(&script.tokens, size);
    check_tree(&script.tree);
    tp_script_clear(&script);
    fuzz_need(tp_check_source(source, size, &first, &err) == TP_OK &&
                  tp_check_source(source, size, &second, &err) == TP_OK,
              "any bytes are checked");
    fuzz_need(first.findings.count == second.findings.count,
              "two readings find the same");
    for (size_t i = 1; i < first.findings.count; i++)
        fuzz_need(first.findings.at[i].line >= first.findings.at[i - 1].line,
                  "findings stand in order");
    free(first.findings.at);
    free(second.findings.at);
    fuzz_guard_free(&guard);
    return 0;
}
