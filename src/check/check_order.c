/* SPDX-License-Identifier: MIT */
/*
 * Steps on gradients in the order of the source. One may follow another when
 * no two branches of one "if" part them, nor a branch and one that tests the
 * opposite, nor a return between. That is enough for how training steps are
 * written; a control flow graph would follow loops, too, where the order
 * within one iteration is what counts.
 *
 * Cost: the square of the steps of a function, of which there are few; the
 * walk gives up beyond some hundred.
 */
#include "check/check_order.h"

#include <string.h>

/* A function with more of them is no training step. */
enum { MOST_EVENTS = 200 };

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

/* The first event of a kind behind `from` that can follow it; the count when
 * there is none. */
static size_t next_of(const struct tp_script *script,
                      const struct tp_check_events *events, size_t from,
                      enum tp_check_step step)
{
    size_t i = from + 1;
    while (i < events->count &&
           (events->at[i].step != step || !follows(script, events, from, i)))
        i++;
    return i;
}

/* Whether there is any event of a kind from `first` to before `end`. */
static bool any_of(const struct tp_check_events *events, size_t first,
                   size_t end, enum tp_check_step step)
{
    for (size_t i = first; i < end; i++) {
        if (events->at[i].step == step)
            return true;
    }
    return false;
}

static void name_of(const struct tp_script *script, uint32_t node,
                    char name[64])
{
    const struct tp_py_token *token =
        &script->tokens.at[script->tree.at[node].token];
    size_t length = token->length < 63 ? token->length : 63;
    memcpy(name, script->tokens.source + token->start, length);
    name[length] = '\0';
}

/* Clipping of what backward number `from` left, before the scaler's step. */
static void judge_clip(const struct tp_script *script,
                       const struct tp_check_events *events, size_t from,
                       struct tp_check_findings *findings)
{
    char name[64];
    size_t clip = next_of(script, events, from, TP_STEP_CLIP);
    if (clip == events->count || any_of(events, from, clip, TP_STEP_UNSCALE) ||
        any_of(events, from, clip, TP_STEP_SCALER) ||
        any_of(events, from + 1, clip, TP_STEP_SCALED_BACKWARD))
        return;
    size_t step = next_of(script, events, clip, TP_STEP_SCALER);
    if (step == events->count)
        return;
    size_t unscale = next_of(script, events, clip, TP_STEP_UNSCALE);
    name_of(script, events->at[clip].node, name);
    if (unscale < step)
        tp_check_add(findings, script, events->at[clip].node,
                     TP_CHECK_CLIP_BEFORE_UNSCALE, name);
    else if (!script->has_unscale)
        tp_check_add(findings, script, events->at[clip].node,
                     TP_CHECK_CLIP_WITHOUT_UNSCALE, name);
}

static void judge_step(const struct tp_script *script,
                       const struct tp_check_events *events, size_t from,
                       struct tp_check_findings *findings)
{
    size_t step = next_of(script, events, from, TP_STEP_OPTIMIZER);
    if (step < events->count &&
        !any_of(events, 0, events->count, TP_STEP_SCALER) &&
        !any_of(events, 0, events->count, TP_STEP_UNSCALE) &&
        !script->has_unscale)
        tp_check_add(findings, script, events->at[step].node,
                     TP_CHECK_STEP_AFTER_SCALED_BACKWARD, ".step()");
}

void tp_check_order(const struct tp_script *script,
                    const struct tp_check_events *events,
                    struct tp_check_findings *findings)
{
    if (events->count > MOST_EVENTS)
        return;
    for (size_t i = 0; i < events->count; i++) {
        if (events->at[i].step == TP_STEP_SCALER && !script->has_update)
            tp_check_add(findings, script, events->at[i].node,
                         TP_CHECK_STEP_WITHOUT_UPDATE, "scaler.step()");
        if (events->at[i].step != TP_STEP_SCALED_BACKWARD)
            continue;
        judge_clip(script, events, i, findings);
        judge_step(script, events, i, findings);
    }
}
