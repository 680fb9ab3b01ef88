/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_RULES_H
#define TP_CHECK_CHECK_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "data/severity.h"

/* The rules about scripts, by families: what is said of each, where the guide
 * has more, and what looks for it. */

enum tp_check_lang { TP_CHECK_EN, TP_CHECK_ZH, TP_CHECK_LANGS };

/* "en", "zh", then NULL. */
extern const char *const tp_check_lang_words[];

/* One rule. In its texts '%' stands for what was found, as ".half()". */
struct tp_check_rule {
    const char *id;
    enum tp_severity severity; /* where no evidence lowers it             */
    const char *help;          /* one line for the list                   */
    const char *title;         /* behind the severity, in any language    */
    const char *why[TP_CHECK_LANGS];
    const char *fix[TP_CHECK_LANGS];
    const char *guide; /* section of tprof-guide                  */
};

struct tp_flow;
struct tp_call;

/*
 * Rules that look for related things. Each function, unless it is NULL, is
 * called by the walk through a script where its name says, and adds findings
 * with tp_flow_add; nodes are those of the script. State that flow holds is
 * that of the place; names hold what was assigned before.
 */
struct tp_check_family {
    const struct tp_check_rule *rules; /* the last one has no id          */
    /* A call, in the pass before the rules: what the script does, as bits of
     * *flow->seen. */
    void (*learn)(struct tp_flow *flow, const struct tp_call *call);
    /* A call, behind its arguments. */
    void (*call)(struct tp_flow *flow, const struct tp_call *call);
    /* TP_PY_ASSIGN, _ANNOTATED or _AUGMENTED, before names change. */
    void (*assignment)(struct tp_flow *flow, uint32_t node);
    /* TP_PY_BRACES: a dict or a set, behind its members. */
    void (*braces)(struct tp_flow *flow, uint32_t node);
    /* TP_PY_BINARY, _UNARY or _COMPARE, behind its operands. */
    void (*operation)(struct tp_flow *flow, uint32_t node);
    /* A TP_PY_WITH_ITEM, before what it changes. */
    void (*with)(struct tp_flow *flow, uint32_t node);
    /* Behind the body of a TP_PY_FUNCTION, whose events and names are still
     * there; behind the module, too, with node 1. */
    void (*function)(struct tp_flow *flow, uint32_t node);
    /* A TP_PY_CLASS, before its body. */
    void (*class_)(struct tp_flow *flow, uint32_t node);
    /* Behind all. */
    void (*file)(struct tp_flow *flow);
};

/* All families, in the order of the list; then NULL. */
extern const struct tp_check_family *const tp_check_families[];

extern const struct tp_check_family tp_check_amp;
extern const struct tp_check_family tp_check_fp8;
extern const struct tp_check_family tp_check_half;
extern const struct tp_check_family tp_check_numerics;
extern const struct tp_check_family tp_check_precision;
extern const struct tp_check_family tp_check_scaler;
extern const struct tp_check_family tp_check_loop;
extern const struct tp_check_family tp_check_timing;
extern const struct tp_check_family tp_check_msprobe;

/* Rule number i over all families, NULL behind the last. */
const struct tp_check_rule *tp_check_rule_at(size_t i);

/* The rule with an id of `length` bytes, NULL when there is none. */
const struct tp_check_rule *tp_check_rule_find(const char *id, size_t length);

#endif
