/* SPDX-License-Identifier: MIT */
#include "series/baseline.h"

#include <math.h>
#include <string.h>

#include "series/baseline_online.h"
#include "series/baseline_retro.h"

size_t tp_baseline_scratch(size_t count)
{
    /* Eleven numbers a point, as many again for the series seen backwards or
     * at a coarser scale, and the alarms. */
    return 22 * count + count / 8 + 16;
}

void tp_baseline_fit(const struct tp_baseline_series *series,
                     const struct tp_baseline_options *options,
                     double *scratch, struct tp_baseline *baseline,
                     const struct tp_baseline_trace *trace)
{
    *baseline = (struct tp_baseline){.center = NAN, .spread = NAN};
    uint8_t *alarm = (uint8_t *)(scratch + 22 * series->count);
    struct tp_baseline_trace all = trace ? *trace
                                         : (struct tp_baseline_trace){0};
    if (!all.alarm)
        all.alarm = alarm;
    memset(all.alarm, 0, series->count);
    if (options->online)
        tp_baseline_online(series, options, baseline, &all);
    else
        tp_baseline_retro(series, options, scratch, baseline, &all);
    baseline->alarms =
        tp_baseline_joined(series, all.alarm, options->alert_window);
}
