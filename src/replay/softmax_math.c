/* SPDX-License-Identifier: MIT */
#include "replay/softmax_math.h"

#include <math.h>

#include "replay/point_math.h"

/* What a line adds up to. */
struct total {
    double most, most_bound; /* the largest                                 */
    double sum;              /* of e^(x - most)                             */
    double off;              /* of the sum, relative                        */
};

static double bound_at(const struct tp_softmax_line *line, int64_t i)
{
    return line->bound ? line->bound[i * line->step] : 0;
}

/* Relative error of an exponential; what is nothing is exact. */
static double exp_bound(const struct tp_softmax_line *line,
                        const struct total *total, int64_t i)
{
    const double d = line->x[i * line->step] - total->most;
    if (d == -INFINITY)
        return 0;
    return bound_at(line, i) + total->most_bound +
           (2 * fabs(d) + TP_FUNCTION_ROUNDINGS) * line->unit;
}

static struct total add_up(const struct tp_softmax_line *line)
{
    struct total total = {.most = -INFINITY};
    double off = 0;
    for (int64_t i = 0; i < line->count; i++) {
        const double x = line->x[i * line->step];
        if (!(x <= total.most)) { /* NaN stays */
            total.most = x;
            total.most_bound = bound_at(line, i);
        }
        if (isnan(x))
            break;
    }
    for (int64_t i = 0; i < line->count; i++) {
        const double e = exp(line->x[i * line->step] - total.most);
        total.sum += e;
        off += e * exp_bound(line, &total, i);
    }
    total.off = off / total.sum + (double)line->count * line->unit;
    return total;
}

void tp_softmax_line(const struct tp_softmax_line *line, double *value,
                     double *bound)
{
    const struct total total = add_up(line);
    for (int64_t i = 0; i < line->count; i++) {
        const int64_t at = i * line->step;
        const double off = exp_bound(line, &total, i);
        const double p = exp(line->x[at] - total.most) / total.sum;
        value[at] = p;
        bound[at] = p * (off + total.off + 2 * line->unit);
    }
}

void tp_log_softmax_line(const struct tp_softmax_line *line, double *value,
                         double *bound)
{
    const struct total total = add_up(line);
    const double log_sum = log(total.sum);
    for (int64_t i = 0; i < line->count; i++) {
        const int64_t at = i * line->step;
        const double d = line->x[at] - total.most;
        const double size = isinf(d) ? 0 : fabs(d);
        bound[at] = bound_at(line, i) + total.most_bound + total.off +
                    (2 * size + (2 + TP_FUNCTION_ROUNDINGS) * fabs(log_sum)) *
                        line->unit;
        value[at] = d - log_sum;
    }
}
