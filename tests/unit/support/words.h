/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_WORDS_H
#define TP_TESTS_WORDS_H

#include <string.h>

#include "stats/blocks.h"

/* The rule with this word; "" means floor, TP_SCALE_COUNT that none has it. */
static inline enum tp_scale_rule scale_rule_of(const char *word)
{
    int i = 0;
    while (*word && i < TP_SCALE_COUNT && strcmp(tp_scale_rule_words[i], word))
        i++;
    return (enum tp_scale_rule)i;
}

#endif
