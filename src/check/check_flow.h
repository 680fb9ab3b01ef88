/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FLOW_H
#define TP_CHECK_CHECK_FLOW_H

#include "check/check_findings.h"
#include "check/check_order.h"

/* Where the walk through a script is, and what is known there. */

/* What surrounds a place; nodes, 0: none. */
struct tp_scope {
    uint32_t function;  /* TP_PY_FUNCTION, the innermost                  */
    uint32_t class_;    /* TP_PY_CLASS                                    */
    uint32_t loop;      /* TP_PY_FOR or _WHILE, of the function           */
    uint32_t statement; /* the innermost statement                        */
    bool autocast;      /* on                                             */
    bool no_grad;
};

struct tp_flow {
    const struct tp_script *script;
    const struct tp_py_node *at; /* of the script's tree                  */
    struct tp_scope scope;
    struct tp_names names;         /* of the function                     */
    uint32_t round;                /* its number: others are older        */
    struct tp_check_event here;    /* the branches that are taken         */
    struct tp_check_events events; /* of the function                     */
    struct tp_check_findings *findings;
};

/* Tags of an expression, as the names stand. */
uint32_t tp_flow_value(const struct tp_flow *flow, uint32_t node);

/* Whether the token of a node is `word`. */
bool tp_flow_is(const struct tp_flow *flow, uint32_t node, const char *word);

/* Whether the source of a name or a chain of attributes has `word`. */
bool tp_flow_contains(const struct tp_flow *flow, uint32_t node,
                      const char *word);

/* The last of the names that a node has by its token, cut to what fits. */
void tp_flow_name(const struct tp_flow *flow, uint32_t node, char name[64]);

/* The tensor that a function or a method works on; 0: none. */
uint32_t tp_flow_operand(const struct tp_flow *flow,
                         const struct tp_call *call);

/* Whether a call names a dtype, or may do so by "*" or "**"; `place`: number
 * of the argument when it has no name, SIZE_MAX: none. */
bool tp_flow_has_dtype(const struct tp_flow *flow, const struct tp_call *call,
                       size_t place);

/* Whether a function has a decorator whose name has `word`. */
bool tp_flow_decorated(const struct tp_flow *flow, uint32_t function,
                       const char *word);

/* Whether an object is an optimiser: by what made it, or by its name. */
bool tp_flow_is_optimizer(const struct tp_flow *flow, uint32_t node);

/* Adds a finding at a node, with the severity of its rule. `what` may be
 * longer than is kept. */
void tp_flow_add(struct tp_flow *flow, uint32_t node,
                 const struct tp_check_rule *rule, const char *what);

/* The same with another severity, for evidence that lowers it. */
void tp_flow_add_as(struct tp_flow *flow, uint32_t node,
                    const struct tp_check_rule *rule, const char *what,
                    enum tp_severity severity);

#endif
