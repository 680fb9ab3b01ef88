/* SPDX-License-Identifier: MIT */
#include "data/severity.h"

#include <stddef.h>

const char *const tp_severity_words[] = {"none", "low", "medium", "high",
                                         NULL};

const char *tp_severity_name(enum tp_severity severity)
{
    return tp_severity_words[severity];
}
