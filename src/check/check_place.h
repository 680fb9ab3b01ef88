/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_PLACE_H
#define TP_CHECK_CHECK_PLACE_H

#include "check/check_calls.h"
#include "check/check_findings.h"
#include "check/check_order.h"

/* Where the walk through a script is. */

/* What surrounds a place; nodes, 0: none. */
struct tp_scope {
    uint32_t function;       /* TP_PY_FUNCTION, the innermost             */
    uint32_t class_;         /* TP_PY_CLASS                               */
    uint32_t loop;           /* TP_PY_FOR or _WHILE, of the function      */
    uint32_t statement;      /* the innermost statement                   */
    uint32_t autocast_dtype; /* TP_TAG_FP16, TP_TAG_BF16; 0: unknown      */
    bool autocast;           /* known to be on                            */
    bool autocast_off;       /* known to be off: enabled=False            */
    bool autocast_asked;     /* on where a caller asks for it, else off       */
    bool no_grad;
    bool evaluates; /* eval() was called in the function, train() not     */
};

/* What a script does somewhere, as bits. */
enum {
    TP_SEEN_FP16 = 1 << 0,     /* a cast to float16                       */
    TP_SEEN_AUTOCAST = 1 << 1, /* autocast that is not off                */
    TP_SEEN_FP16_AUTOCAST = 1 << 2,
    TP_SEEN_BF16_AUTOCAST = 1 << 3,
    TP_SEEN_OTHER_AUTOCAST = 1 << 4, /* its dtype is unknown              */
    TP_SEEN_SCALER = 1 << 5,
    TP_SEEN_SCALER_UPDATE = 1 << 6,
    TP_SEEN_SCALER_STATE = 1 << 7, /* its state_dict()                    */
    TP_SEEN_BACKWARD = 1 << 8,
    TP_SEEN_TRAIN = 1 << 9,        /* train(), zero_grad(), or an optimizer */
    TP_SEEN_EVAL = 1 << 10,        /* eval(), or what prepares for inference */
    TP_SEEN_FP8 = 1 << 11,         /* autocast of transformer_engine      */
    TP_SEEN_MX = 1 << 12,          /* its recipe of blocks of 32          */
    TP_SEEN_LOADER = 1 << 13,      /* a DataLoader is made                */
    TP_SEEN_PROBE_START = 1 << 14, /* of msprobe                          */
    TP_SEEN_PROBE_MODEL = 1 << 15, /* start(model)                        */
    TP_SEEN_PROBE_STOP = 1 << 16,
    TP_SEEN_PROBE_STEP = 1 << 17,
    TP_SEEN_INFERENCE = 1 << 18 /* its path is that of inference or of tests */
};

struct tp_flow {
    const struct tp_script *script;
    const struct tp_py_node *at; /* of the script's tree                  */
    struct tp_scope scope;
    struct tp_names names;          /* of the function                    */
    uint32_t round, rounds;         /* its number, and that of the last:
                                       names of others are unknown        */
    struct tp_check_event here;     /* the branches that are taken        */
    struct tp_check_events events;  /* of the function                    */
    struct tp_functions *functions; /* of the script                      */
    uint32_t *seen;                 /* TP_SEEN_..., of the whole script   */
    struct tp_names *words;         /* of the whole script, once asked for */
    struct tp_names *frozen;        /* what is never trained, by its name  */
    struct tp_names *spared;        /* names of calls: see check_uses      */
    bool *guessed; /* a value that was asked for since this was cleared
                      is told by a name, or came through a call        */
    bool learns;   /* the first pass: facts about functions, no rules  */
    struct tp_check_findings *findings;
};

/* Whether the token of a node is `word`. */
bool tp_flow_is(const struct tp_flow *flow, uint32_t node, const char *word);

/* Whether the source of a name or a chain of attributes has `word`. */
bool tp_flow_contains(const struct tp_flow *flow, uint32_t node,
                      const char *word);

/* Whether a node is the text `word`, without prefix. */
bool tp_flow_is_text(const struct tp_flow *flow, uint32_t node,
                     const char *word);

/* Whether a node is a number, with a sign or without; *value: which. */
bool tp_flow_number(const struct tp_flow *flow, uint32_t node, double *value);

/* Whether two expressions are written alike. */
bool tp_flow_same(const struct tp_flow *flow, uint32_t a, uint32_t b);

/* The last of the names that a node has by its token, cut to what fits. */
void tp_flow_name(const struct tp_flow *flow, uint32_t node, char name[64]);

/* Whether a function has a decorator whose name has `word`. */
bool tp_flow_decorated(const struct tp_flow *flow, uint32_t function,
                       const char *word);

/* Whether one of the tokens of a node, as a name or a text with its quotes, is
 * `word`; of a function from its name on. Costs the length of the node. */
bool tp_flow_mentions(const struct tp_flow *flow, uint32_t node,
                      const char *word);

/* The same of the whole script, whose words are learned once. */
bool tp_flow_knows(const struct tp_flow *flow, const char *word);

/* The same of at least one of `words`, ended by NULL. */
bool tp_flow_knows_any(const struct tp_flow *flow, const char *const *words);

/* How often a name stands in the script, but as what is assigned. */
uint32_t tp_flow_count(const struct tp_flow *flow, const char *text,
                       size_t length);

/* Notes an event of the function at a call or a statement. */
void tp_flow_note(struct tp_flow *flow, enum tp_check_step step, uint32_t node);

/* Whether a name has one of some words that NULL ends, each at the begin of
 * the name or of a part that "_" divides. */
bool tp_has_part(const char *name, const char *const *words);

/* The same of the name of the function. */
bool tp_flow_is_named(const struct tp_flow *flow, const char *const *words);

/* Whether a condition that leads here has `word` in its source. */
bool tp_flow_depends_on(const struct tp_flow *flow, const char *word);

/* Adds a finding at a node, with the severity of its rule. `what` may be
 * longer than is kept. */
void tp_flow_add(struct tp_flow *flow, uint32_t node,
                 const struct tp_check_rule *rule, const char *what);

/* The same with another severity, for evidence that lowers it. */
void tp_flow_add_as(struct tp_flow *flow, uint32_t node,
                    const struct tp_check_rule *rule, const char *what,
                    enum tp_severity severity);

#endif
