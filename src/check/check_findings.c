/* SPDX-License-Identifier: MIT */
#include "check/check_findings.h"

#include <stdlib.h>
#include <string.h>

const char *const tp_check_confidence_words[] = {"certain", "likely"};

void tp_check_add(struct tp_check_findings *findings,
                  const struct tp_check_finding *finding)
{
    if (tp_grow(&findings->at, &findings->capacity, findings->count + 1,
                sizeof *findings->at, NULL) != TP_OK)
        findings->failed = true;
    else
        findings->at[findings->count++] = *finding;
}

static int by_place(const void *a, const void *b)
{
    const struct tp_check_finding *left = a, *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    return strcmp(left->rule->id, right->rule->id);
}

void tp_check_sort(struct tp_check_findings *findings)
{
    if (findings->count > 0)
        qsort(findings->at, findings->count, sizeof *findings->at, by_place);
}
