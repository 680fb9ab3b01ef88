/* SPDX-License-Identifier: MIT */
#include "compare/content.h"

#include <stdlib.h>
#include <string.h>

const char *const tp_content_relation_words[TP_CONTENT_RELATIONS] = {
    [TP_CONTENT_EQUAL] = "equal",
    [TP_CONTENT_RESHAPED] = "reshaped",
    [TP_CONTENT_TRANSPOSED] = "transposed",
    [TP_CONTENT_SPLIT] = "split",
    [TP_CONTENT_FUSED] = "fused",
    [TP_CONTENT_RESHARDED] = "resharded",
    [TP_CONTENT_SAME_ELEMENTS] = "same_elements"};

void tp_content_clear(struct tp_content *content)
{
    for (size_t side = 0; side < 2; side++) {
        tp_content_side_clear(&content->sides[side]);
        free(content->match_of[side]);
        free(content->near[side]);
    }
    free(content->matches);
    tp_arena_clear(&content->arena);
    memset(content, 0, sizeof *content);
}

bool tp_content_lost(const struct tp_content *content)
{
    bool lost = content->arena.failed;
    for (size_t side = 0; side < 2; side++)
        lost |= content->sides[side].arena.failed;
    return lost;
}
