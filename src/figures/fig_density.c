/* SPDX-License-Identifier: MIT */
/*
 * Densities of the elements, from the histograms of the tensors' summaries, as
 * the elements are gone. On log axes a point is the share of 1, 2, 4 ... bins
 * over their width in binades: the fewest for which all curves fit into a
 * panel's table and, up to 16 bins, a point stands for 100 elements on average.
 * On linear axes the mass of a bin is spread evenly over its interval into 120
 * equal bins; outliers beyond three times the 90 % magnitude fall off the end.
 * Standardised curves shift and scale each tensor by its own mean and std
 * before pooling. A kernel estimate is no alternative: it needs the values and
 * hides the steps of narrow formats. One merge of a histogram for each tensor
 * shown.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/fig_grid.h"

enum {
    HALF = TP_SUMMARY_BINS / 2, /* bins of one sign                       */
    SERIES_MAX = 8,
    LINEAR_POINTS = 120,
    NORMAL_POINTS = 81,
    ROWS = TP_PANEL_ROWS_MAX - 100 /* for curves, the rest for gaps       */
};

/* The share of elements nearest to zero that log axes leave out: a few
 * vanishing gradients would stretch the axis over everything else. */
static const double tail_share = 1e-3;

/* Linear axes show three times the magnitude that this share of the elements
 * stays below: five std of a normal distribution, and not all of the reach of
 * a few outliers. */
static const double middle_share = 0.9;

/* What all curves of a panel have in common. */
struct frame {
    enum tp_density kind;
    unsigned first, last; /* magnitude bins shown: [first, last)          */
    unsigned step;        /* magnitude bins per point: 1, 2, 4, 8 ...     */
    double reach;         /* linear: the axis is -reach .. reach          */
};

/* Mass of magnitude bin `m` (0 .. HALF - 1) of both signs. */
static uint64_t both(const struct tp_summary *summary, unsigned m)
{
    return summary->bins[m] + summary->bins[HALF + m];
}

/* The magnitude bin below which `share` of the nonzero elements lie. */
static unsigned magnitude_rank(const struct tp_summary *summary, double share)
{
    uint64_t total = 0, below = 0;
    for (unsigned m = 0; m < HALF; m++)
        total += both(summary, m);
    double wanted = share * (double)total;
    for (unsigned m = 0; m < HALF; m++) {
        below += both(summary, m);
        if (below > 0 && (double)below >= wanted)
            return m;
    }
    return 0;
}

/* Coarser bins when curves have too many points, or too few elements. */
static unsigned choose_step(const struct frame *frame, size_t curves,
                            const struct tp_summary *all)
{
    size_t sides = frame->kind == TP_DENSITY_SIGNED ? 2 : 1;
    double span = (double)(frame->last - frame->first);
    unsigned step = 1;
    while (span / step * (double)(sides * curves) > ROWS ||
           (double)all->moments.n < 100.0 * span / step * (double)curves) {
        if (step == 16)
            break;
        step *= 2;
    }
    while (span / step * (double)(sides * curves) > ROWS)
        step *= 2;
    return step;
}

static struct frame make_frame(enum tp_density kind, size_t curves,
                               const struct tp_summary *all)
{
    struct frame frame = {.kind = kind, .step = 1};
    unsigned low = magnitude_rank(all, tail_share);
    unsigned high = magnitude_rank(all, 1);
    double inner, outer;
    int sign;
    frame.first = low / 8 * 8;
    frame.last = high / 8 * 8 + 8;
    frame.step = choose_step(&frame, curves, all);
    tp_summary_bin_edges(magnitude_rank(all, middle_share), &inner, &outer,
                         &sign);
    frame.reach = 3 * outer;
    tp_summary_bin_edges(high, &inner, &outer, &sign);
    frame.reach = fmin(frame.reach, outer);
    return frame;
}

/* --- log axes --------------------------------------------------------- */

/* Share of the elements per binade, in bins [m, m + step) of one sign or
 * (sign 0) both; *middle is the geometric middle of the bins. */
static double share_per_binade(const struct tp_summary *summary,
                               const struct frame *frame, unsigned m, int sign,
                               double *middle)
{
    double from, to, unused;
    int ignored;
    uint64_t mass = 0;
    unsigned last = m + frame->step - 1;
    for (unsigned i = m; i <= last && i < HALF; i++) {
        if (sign >= 0)
            mass += summary->bins[i];
        if (sign <= 0)
            mass += summary->bins[HALF + i];
    }
    tp_summary_bin_edges(m, &from, &unused, &ignored);
    tp_summary_bin_edges(last < HALF ? last : HALF - 1, &unused, &to,
                         &ignored);
    from = from > 0 ? from : to / 2;
    *middle = sqrt(from) * sqrt(to);
    return (double)mass / (double)summary->moments.n / log2(to / from);
}

/*
 * Adds one side of a curve, from the first to the last occupied bin with a
 * zero at each end. Negative sides run from the outside inwards, so that the
 * table is sorted by x.
 */
static size_t add_side(const struct tp_summary *summary,
                       const struct frame *frame, int sign, double *rows)
{
    size_t n = 0, occupied = 0;
    unsigned steps = (frame->last - frame->first) / frame->step;
    for (unsigned i = 0; i <= steps; i++) {
        unsigned k = sign < 0 ? steps - i : i;
        double middle;
        double share = share_per_binade(
            summary, frame, frame->first + k * frame->step, sign, &middle);
        if (share == 0 && (n == 0 || sign == 0))
            continue; /* a log axis has no place for it */
        rows[2 * n] = sign < 0 ? -middle : middle;
        rows[2 * n + 1] = share;
        n++;
        if (share > 0)
            occupied = n;
    }
    return occupied;
}

static size_t signed_rows(const struct tp_summary *summary,
                          const struct frame *frame, double *rows)
{
    size_t n = add_side(summary, frame, -1, rows);
    if (n > 0) {
        rows[2 * n] = rows[2 * n + 1] = NAN; /* a gap at zero */
        n++;
    }
    size_t more = add_side(summary, frame, 1, rows + 2 * n);
    return n + more;
}

/* --- linear axes ------------------------------------------------------ */

/* Spreads a mass evenly over [from, to) into equal bins of -reach .. reach. */
static void spread(double *bins, double reach, double from, double to,
                   double mass)
{
    double width = 2 * reach / LINEAR_POINTS;
    double a = (from + reach) / width, b = (to + reach) / width;
    double density = mass / (b - a);
    if (!(b > 0) || !(a < LINEAR_POINTS) || !(b > a))
        return;
    a = fmax(a, 0);
    b = fmin(b, LINEAR_POINTS);
    for (size_t i = (size_t)a; i < LINEAR_POINTS && (double)i < b; i++)
        bins[i] += density * (fmin(b, (double)i + 1) - fmax(a, (double)i));
}

/* Adds the elements of a summary as (x - shift) / scale. */
static void add_linear(const struct tp_summary *summary, double reach,
                       double shift, double scale, double *bins)
{
    double width = 2 * reach / LINEAR_POINTS, zero = -shift / scale;
    spread(bins, reach, zero - width / 2, zero + width / 2,
           (double)summary->counts.zero);
    for (unsigned bin = 0; bin < TP_SUMMARY_BINS; bin++) {
        double inner, outer;
        int sign;
        if (summary->bins[bin] == 0)
            continue;
        tp_summary_bin_edges(bin, &inner, &outer, &sign);
        double from = sign > 0 ? inner : -outer;
        double to = sign > 0 ? outer : -inner;
        spread(bins, reach, (from - shift) / scale, (to - shift) / scale,
               (double)summary->bins[bin]);
    }
}

/* The bins as rows of a curve: density per unit. */
static size_t linear_rows(const double *bins, double reach, double all,
                          double *rows)
{
    double width = 2 * reach / LINEAR_POINTS;
    for (size_t i = 0; i < LINEAR_POINTS; i++) {
        rows[2 * i] = -reach + width * ((double)i + 0.5);
        rows[2 * i + 1] = bins[i] / all / width;
    }
    return LINEAR_POINTS;
}

static struct tp_panel_series normal_curve(struct tp_fig *fig, double reach)
{
    double *rows = tp_fig_alloc(fig, 2 * NORMAL_POINTS, sizeof *rows);
    for (int i = 0; rows && i < NORMAL_POINTS; i++) {
        double x = reach * (2.0 * i / (NORMAL_POINTS - 1) - 1);
        rows[2 * i] = x;
        rows[2 * i + 1] = exp(-x * x / 2) / sqrt(2 * acos(-1));
    }
    return (struct tp_panel_series){"normal", rows, rows ? NORMAL_POINTS : 0,
                                    TP_PANEL_SERIES_MAX};
}

/* --- panels ----------------------------------------------------------- */

static const double standard_reach = 5;

/* Each tensor standardised by its own mean and std, then pooled: tensors of
 * different size would together look like no distribution at all. */
static size_t standard_rows(struct tp_fig *fig,
                            const struct tp_sample *samples, size_t n,
                            double *rows)
{
    double bins[LINEAR_POINTS] = {0}, all = 0;
    struct tp_summary *one = malloc(sizeof *one);
    fig->failed |= !one;
    for (size_t i = 0; i < n && one; i++) {
        const struct tp_packed *packed =
            fig->facts->run->rows[samples[i].row].packed;
        double count = (double)packed->moments.n;
        int scale = (int)packed->moments.scale;
        double mean = ldexp(packed->moments.mean, scale);
        double std = ldexp(sqrt(packed->moments.m2 / count), scale);
        if (!(std > 0))
            continue;
        memset(one, 0, sizeof *one);
        tp_summary_merge_packed(one, packed);
        add_linear(one, standard_reach, mean, std, bins);
        all += count;
    }
    free(one);
    return all > 0 ? linear_rows(bins, standard_reach, all, rows) : 0;
}

/* The rows of one series, and their summary. */
struct curve {
    const char *name;
    const struct tp_summary *summary;
    const struct tp_sample *samples;
    size_t sample_count;
};

static struct tp_panel_series make_curve(struct tp_fig *fig,
                                         const struct curve *curve,
                                         const struct frame *frame)
{
    size_t most = 2 * ((frame->last - frame->first) / frame->step + 2) + 2;
    if (most < LINEAR_POINTS)
        most = LINEAR_POINTS;
    double *rows = tp_fig_alloc(fig, 2 * most, sizeof *rows);
    struct tp_panel_series series = {.name = curve->name, .values = rows};
    double n = (double)curve->summary->moments.n;
    if (!rows || n == 0)
        return series;
    if (frame->kind == TP_DENSITY_SIGNED) {
        series.rows = signed_rows(curve->summary, frame, rows);
    } else if (frame->kind == TP_DENSITY_MAGNITUDE) {
        series.rows = add_side(curve->summary, frame, 0, rows);
    } else if (frame->kind == TP_DENSITY_LINEAR) {
        double bins[LINEAR_POINTS] = {0};
        add_linear(curve->summary, frame->reach, 0, 1, bins);
        series.rows = linear_rows(bins, frame->reach, n, rows);
    } else {
        series.rows = standard_rows(fig, curve->samples, curve->sample_count,
                                    rows);
    }
    return series;
}

static void set_axes(struct tp_panel *panel, const struct frame *frame)
{
    double inner, outer;
    int sign, exponent;
    tp_summary_bin_edges(frame->first, &inner, &outer, &sign);
    frexp(inner > 0 ? inner : ldexp(1, -149), &exponent);
    panel->y.label = "share [1/binade]";
    if (frame->kind == TP_DENSITY_SIGNED) {
        panel->x = (struct tp_axis){.label = "value [tensor units, +-log2]",
                                    .scale = TP_SCALE_SIGNED_LOG2,
                                    .inner = exponent - 1};
    } else if (frame->kind == TP_DENSITY_MAGNITUDE) {
        panel->x = (struct tp_axis){.label = "|value| [tensor units, log2]",
                                    .scale = TP_SCALE_LOG2};
        panel->y.label = "share [1/binade, log10]";
        panel->y.scale = TP_SCALE_LOG10;
    } else if (frame->kind == TP_DENSITY_LINEAR) {
        panel->x = (struct tp_axis){.label = "value [tensor units]"};
        panel->y.label = "density [1/tensor unit]";
    } else {
        panel->x = (struct tp_axis){.label = "(value - mean) / std [1]"};
        panel->y.label = "density [1]";
    }
}

/* One summary per series, merged in row order, and one of all. */
static struct tp_summary *merge_series(struct tp_fig *fig,
                                       const struct tp_samples *samples,
                                       size_t series)
{
    struct tp_summary *sets = calloc(series + 1, sizeof *sets);
    if (!sets) {
        fig->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < samples->count; i++) {
        const struct tp_sample *sample = &samples->rows[i];
        tp_summary_merge_packed(&sets[sample->cell],
                                fig->facts->run->rows[sample->row].packed);
    }
    for (size_t s = 0; s < series; s++)
        tp_summary_merge(&sets[series], &sets[s]);
    return sets;
}

/* Zeros cannot be seen on a log axis: the legend or title tells of them. */
static const char *title_of(struct tp_fig *fig, const struct tp_ask *ask,
                            const struct tp_choice *choice,
                            const struct tp_summary *all, enum tp_density kind)
{
    static const char *const titles[] = {
        [TP_DENSITY_SIGNED] = "both signs, log scale",
        [TP_DENSITY_MAGNITUDE] = "magnitudes, tails",
        [TP_DENSITY_LINEAR] = "linear scale, without far outliers",
        [TP_DENSITY_STANDARD] = "standardised, against a normal distribution",
    };
    const char *title = ask->title ? ask->title : titles[kind];
    /* a curve without a legend is named here */
    const char *note = tp_fig_note(fig, choice);
    if (ask->series != TP_KEY_COUNT && choice->total == 1)
        note = tp_fig_text(
            fig, " (%s)",
            fig->facts->keys[ask->series].names[choice->codes[0]]);
    double zeros = (double)all->counts.zero / (double)all->moments.n;
    if ((kind == TP_DENSITY_SIGNED || kind == TP_DENSITY_MAGNITUDE) &&
        zeros >= 0.005)
        return tp_fig_text(fig, "%s%s, zeros %.0f %%", title, note,
                           100 * zeros);
    return tp_fig_text(fig, "%s%s", title, note);
}

/* What the curves of a panel are made from: by series. */
struct source {
    struct tp_samples samples;     /* sorted by series */
    const struct tp_summary *sets;
    struct tp_axis names;
    unsigned colours[TP_PANEL_SERIES_MAX];
};

/* Adds the curves of all series. */
static void add_curves(struct tp_fig *fig, const struct source *source,
                       const struct frame *frame, struct tp_panel *panel)
{
    const struct tp_samples *samples = &source->samples;
    struct tp_panel_series *series = (struct tp_panel_series *)panel->series;
    for (size_t i = 0; i < samples->count;) {
        size_t end = tp_samples_end(samples, i), s = samples->rows[i].cell;
        struct curve curve = {
            .name = source->names.tics ? source->names.tics[s].text : "",
            .summary = &source->sets[s],
            .samples = &samples->rows[i],
            .sample_count = end - i,
        };
        struct tp_panel_series made = make_curve(fig, &curve, frame);
        made.colour = source->colours[s];
        if (made.rows > 0)
            series[panel->series_count++] = made;
        i = end;
    }
    if (frame->kind == TP_DENSITY_STANDARD && panel->series_count > 0)
        series[panel->series_count++] = normal_curve(fig, standard_reach);
}

void tp_fig_density(struct tp_fig *fig, const struct tp_ask *ask,
                    enum tp_density kind)
{
    struct tp_choice choice = {.count = 1, .total = 1};
    struct tp_slots one = {.key = TP_KEY_COUNT, .count = 1};
    struct source source = {0};
    size_t limit = kind == TP_DENSITY_STANDARD ? SERIES_MAX - 1 : SERIES_MAX;
    if (ask->series != TP_KEY_COUNT)
        tp_choose(fig, &ask->pick, ask->series, limit, &choice);
    struct tp_slots slots = tp_slots_chosen(fig, ask->series, &choice);
    if (ask->series != TP_KEY_COUNT)
        source.names = tp_fig_rows(fig, ask->series, &choice);
    for (size_t s = 0; s < choice.count && ask->series != TP_KEY_COUNT; s++)
        source.colours[s] =
            tp_fig_colour(fig, ask->series, choice.codes[s]);
    if (fig->failed || slots.count == 0)
        return;
    tp_fig_sample(fig, ask, &one, &slots, &source.samples);
    struct tp_summary *sets = merge_series(fig, &source.samples, slots.count);
    source.sets = sets;
    struct tp_panel_series *series =
        tp_fig_alloc(fig, slots.count + 1, sizeof *series);
    if (sets && series && sets[slots.count].moments.n > 0) {
        const struct tp_summary *all = &sets[slots.count];
        struct frame frame = make_frame(kind, slots.count, all);
        struct tp_panel panel = {
            .kind = TP_PANEL_LINES,
            .title = title_of(fig, ask, &choice, all, kind),
            .series = series,
        };
        add_curves(fig, &source, &frame, &panel);
        set_axes(&panel, &frame);
        tp_fig_add(fig, &panel);
    }
    free(source.samples.rows);
    free(sets);
}

void tp_fig_against(struct tp_fig *fig, enum tp_key key, struct tp_pick pick,
                    enum tp_density second)
{
    struct tp_ask ask = {
        .pick = tp_pick_with(pick, key, TP_PICK_PRESENT),
        .by = TP_KEY_QUANT,
        .series = key,
    };
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    tp_fig_density(fig, &ask, second);
    ask.title = "std of each tensor";
    ask.metric = &tp_metric_std;
    tp_fig_boxes(fig, &ask);
    ask.title = "amax of each tensor";
    ask.metric = &tp_metric_amax;
    tp_fig_boxes(fig, &ask);
}
