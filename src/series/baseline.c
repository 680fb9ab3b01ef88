/* SPDX-License-Identifier: MIT */
#include "series/baseline.h"

#include <math.h>
#include <string.h>

#include "series/baseline_live.h"
#include "series/baseline_retro.h"

size_t tp_baseline_scratch(size_t count)
{
    /* Eleven numbers a point, as many again for the series seen backwards or
     * at a coarser scale, and the alarms. */
    return 22 * count + count / 8 + 16;
}

/* The range of the values that are no alarm. */
static void find_range(const struct tp_baseline_series *series,
                       const uint8_t *alarm, struct tp_baseline *baseline)
{
    for (size_t i = 0; i < series->count; i++) {
        if (alarm[i])
            continue;
        baseline->min = fmin(baseline->min, series->value[i]);
        baseline->max = fmax(baseline->max, series->value[i]);
    }
}

void tp_baseline_fit(const struct tp_baseline_series *series,
                     const struct tp_baseline_options *options,
                     double *scratch, struct tp_baseline *baseline,
                     const struct tp_baseline_trace *trace)
{
    *baseline = (struct tp_baseline){
        .center = NAN, .spread = NAN, .min = NAN, .max = NAN};
    uint8_t *alarm = (uint8_t *)(scratch + 22 * series->count);
    struct tp_baseline_trace all = trace ? *trace
                                         : (struct tp_baseline_trace){0};
    if (!all.alarm)
        all.alarm = alarm;
    memset(all.alarm, 0, series->count);
    if (options->method == TP_BASELINE_RETRO) {
        tp_baseline_retro(series, options, scratch, baseline, &all);
        find_range(series, all.alarm, baseline);
    } else {
        tp_baseline_live(series, options, scratch, baseline, &all);
    }
    baseline->alarms =
        tp_baseline_joined(series, all.alarm, options->alert_window);
}
