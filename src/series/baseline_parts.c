/* SPDX-License-Identifier: MIT */
#include "series/baseline_parts.h"

#include <stddef.h>

const char *const tp_baseline_method_words[] = {
    [TP_BASELINE_RETRO] = "retro",
    [TP_BASELINE_ONLINE] = "online",
    [TP_BASELINE_ROLLING] = "rolling",
    NULL};

const char *tp_change_name(enum tp_change change)
{
    static const char *const names[TP_CHANGES] = {
        [TP_CHANGE_NONE] = "none",   [TP_CHANGE_SPIKE] = "spike",
        [TP_CHANGE_SHIFT] = "shift", [TP_CHANGE_DRIFT] = "drift",
        [TP_CHANGE_VANISH] = "vanish"};
    return names[change];
}

size_t tp_baseline_joined(const struct tp_baseline_series *series,
                          const uint8_t *alarm, size_t window)
{
    size_t alarms = 0;
    int64_t last = 0;
    for (size_t i = 0; i < series->count; i++) {
        if (!alarm[i])
            continue;
        alarms += alarms == 0 || series->at[i] - last > (int64_t)window;
        last = series->at[i];
    }
    return alarms;
}
