/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_RULES_H
#define TP_CHECK_CHECK_RULES_H

#include "data/severity.h"

/* The rules about scripts: what is said, and where the guide has more. */

enum tp_check_rule_id {
    TP_CHECK_HALF_CALL,
    TP_CHECK_BCE,
    TP_CHECK_LOSS_OUTSIDE_AUTOCAST,
    TP_CHECK_SOFTMAX_DTYPE,
    TP_CHECK_REDUCE_OUTSIDE_AUTOCAST,
    TP_CHECK_AUTOGRAD_FUNCTION,
    TP_CHECK_BACKWARD_INSIDE_AUTOCAST,
    TP_CHECK_DEPRECATED_AUTOCAST,
    TP_CHECK_CLIP_WITHOUT_UNSCALE,
    TP_CHECK_CLIP_BEFORE_UNSCALE,
    TP_CHECK_STEP_WITHOUT_UPDATE,
    TP_CHECK_STEP_AFTER_SCALED_BACKWARD,
    TP_CHECK_LOG_SOFTMAX,
    TP_CHECK_LOG_SIGMOID,
    TP_CHECK_SOFTMAX_BEFORE_CROSS_ENTROPY,
    TP_CHECK_SIGMOID_BEFORE_BCE_WITH_LOGITS,
    TP_CHECK_NLL_WITHOUT_LOG,
    TP_CHECK_DEFAULT_DTYPE_HALF,
    TP_CHECK_RULES
};

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

/* By enum tp_check_rule_id. */
extern const struct tp_check_rule tp_check_rules[TP_CHECK_RULES];

#endif
