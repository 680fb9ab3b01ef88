/* SPDX-License-Identifier: MIT */
#include "compare/compare_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A text while they are sorted. */
struct placed {
    const char *text;
    size_t place;
};

static int compare_texts(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return strcmp(a->text, b->text);
}

enum tp_status tp_compare_group(const char *const *texts, size_t count,
                                size_t *groups, size_t *group_count,
                                struct tp_error *err)
{
    *group_count = 0;
    if (count == 0)
        return TP_OK;
    struct placed *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct placed){texts[i], i};
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 0; i < count; i++) {
        *group_count += i == 0 || strcmp(sorted[i - 1].text, sorted[i].text);
        groups[sorted[i].place] = *group_count - 1;
    }
    free(sorted);
    return TP_OK;
}
