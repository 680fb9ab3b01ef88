/* SPDX-License-Identifier: MIT */
#include "compare/compare_group.h"

#include "base/text_index.h"

enum tp_status tp_compare_group(const char *const *texts, size_t count,
                                size_t *groups, size_t *group_count,
                                struct tp_error *err)
{
    struct tp_text_index index = {0};
    *group_count = 0;
    if (!tp_text_index_init(&index, count))
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        size_t *number = tp_text_index_put(&index, texts[i]);
        if (*number == TP_TEXT_NEW)
            *number = (*group_count)++;
        groups[i] = *number;
    }
    tp_text_index_clear(&index);
    return TP_OK;
}
