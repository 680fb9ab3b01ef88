/* SPDX-License-Identifier: MIT */
/*
 * Steps on gradients in the order of the source. One may follow another when
 * no two branches of one "if" part them, nor a branch and one that tests the
 * opposite, nor a return between. That is enough for how training steps are
 * written; a control flow graph would follow loops, too, where the order
 * within one iteration is what counts.
 *
 * Cost: the square of the steps of a function, of which there are few; the
 * rules give up beyond some hundred.
 */
#include "check/check_order.h"

#include <string.h>

/* Source of the condition of an "if"; of one that begins with "not", what
 * follows it, and *negated. Of an else: that of its "if", negated. */
static const char *condition(const struct tp_script *script,
                             struct tp_check_arm arm, size_t *length,
                             bool *negated)
{
    const struct tp_py_node *at = script->tree.at;
    const struct tp_py_token *tokens = script->tokens.at;
    *negated = at[arm.node].kind == TP_PY_ELSE;
    uint32_t node = at[*negated ? arm.group : arm.node].child;
    *length = 0;
    if (!node || at[node].kind == TP_PY_BODY)
        return NULL;
    uint32_t first = at[node].token;
    if (at[node].kind == TP_PY_UNARY && tp_py_is(&script->tree, node, "not")) {
        *negated = !*negated;
        first++;
    }
    const struct tp_py_token *last = &tokens[at[node].end - 1];
    *length = last->start + last->length - tokens[first].start;
    return script->tokens.source + tokens[first].start;
}

static bool exclude(const struct tp_script *script, struct tp_check_arm a,
                    struct tp_check_arm b)
{
    size_t length, other;
    bool negated, inverse;
    if (a.group == b.group)
        return a.node != b.node;
    const char *left = condition(script, a, &length, &negated);
    const char *right = condition(script, b, &other, &inverse);
    return left && right && negated != inverse && length == other &&
           memcmp(left, right, length) == 0;
}

/* Whether event j can follow event i in one iteration. */
static bool follows(const struct tp_script *script,
                    const struct tp_check_events *events, size_t i, size_t j)
{
    const struct tp_check_event *a = &events->at[i], *b = &events->at[j];
    if (j <= i || j >= a->reach || a->arms > TP_CHECK_ARMS ||
        b->arms > TP_CHECK_ARMS)
        return false;
    for (unsigned k = 0; k < a->arms; k++)
        for (unsigned l = 0; l < b->arms; l++)
            if (exclude(script, a->arm[k], b->arm[l]))
                return false;
    return true;
}

size_t tp_events_next(const struct tp_script *script,
                      const struct tp_check_events *events, size_t from,
                      enum tp_check_step step)
{
    size_t i = from + 1;
    while (i < events->count &&
           (events->at[i].step != step || !follows(script, events, from, i)))
        i++;
    return i;
}

bool tp_events_any(const struct tp_check_events *events, size_t first,
                   size_t end, enum tp_check_step step)
{
    for (size_t i = first; i < end; i++) {
        if (events->at[i].step == step)
            return true;
    }
    return false;
}
