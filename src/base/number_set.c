/* SPDX-License-Identifier: MIT */
#include "base/number_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* "N" or "N-M"; false: neither. */
static bool parse_range(const char *text, size_t length,
                        struct tp_number_range *range)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash ? (size_t)(dash - text) : length;
    range->first = tp_digits_value(text, first);
    range->last =
        dash ? tp_digits_value(dash + 1, length - first - 1) : range->first;
    return range->first >= 0 && range->last >= range->first;
}

enum tp_status tp_number_set_parse(struct tp_number_set *set, const char *text,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    const char *at = text;
    for (bool more = true; more && status == TP_OK;) {
        struct tp_number_range range;
        size_t length = strcspn(at, ",");
        if (!parse_range(at, length, &range))
            return tp_fail(err, TP_E_USAGE, -1,
                           "\"%s\" is no list of numbers such as 0,2,8-11",
                           text);
        status = tp_grow(&set->ranges, &set->capacity, set->count + 1,
                         sizeof *set->ranges, err);
        if (status == TP_OK)
            set->ranges[set->count++] = range;
        more = at[length] == ',';
        at += length + more;
    }
    return status;
}

bool tp_number_set_has(const struct tp_number_set *set, int64_t number)
{
    bool has = set->count == 0;
    for (size_t i = 0; i < set->count && !has; i++)
        has = number >= set->ranges[i].first && number <= set->ranges[i].last;
    return has;
}

void tp_number_set_clear(struct tp_number_set *set)
{
    free(set->ranges);
    memset(set, 0, sizeof *set);
}
