/* SPDX-License-Identifier: MIT */
#include "data/severity.h"

const char *tp_severity_name(enum tp_severity severity)
{
    static const char *const names[] = {"none", "low", "medium", "high"};
    return names[severity];
}
