/* SPDX-License-Identifier: MIT */
/*
 * What got slower. Two means differ by chance, too: of steps that scatter by s,
 * n before and m after, by about s * sqrt(1/n + 1/m). A change counts beyond
 * that by as much as Student's t with n + m - 2 degrees of freedom exceeds once
 * in a thousand times, so that a few steps have to be far apart; and, since
 * whoever asks wants no change that lies within what steps differ by anyway,
 * beyond twice s, too. s is the larger of both runs'.
 *
 * Names that both runs have are judged one by one. What only one of them has
 * was mostly replaced by what only the other has (another kernel for the same
 * product), and is judged together: what is new, less what is gone. A kernel of
 * operators for which the device does no more took another's place: no finding.
 *
 * Cost: a look at all names.
 */
#include "verdict/trace_change.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

const struct tp_trace_change_rule tp_trace_change_rules[TP_TRACE_CHANGE_IDS] = {
    [TP_SLOWER_STEP] = {"slower_step",
                        "steps take longer than before, beyond what they "
                        "scatter by",
                        "SLOWER THAN BEFORE"},
    [TP_SLOWER_DEVICE] = {"slower_kernel",
                          "device work that takes more of a step than before",
                          "SLOWER THAN BEFORE"},
    [TP_SLOWER_HOST] = {"slower_host",
                        "the device idles longer behind an operator or a call",
                        "SLOWER THAN BEFORE"},
    [TP_SLOWER_GAP] = {"longer_gap",
                       "the device idles longer while nothing is recorded",
                       "SLOWER THAN BEFORE"},
    [TP_SLOWER_NEW] = {"new_work",
                       "work that only the second run has takes longer than "
                       "what it replaced",
                       "SLOWER THAN BEFORE"},
};

static const double told = 0.01;            /* of the longer step          */
static const double high = 0.10, medium = 0.05; /* of the step before      */

/* --- chance --------------------------------------------------------------- */

/* Student's t that is exceeded on one side or the other once in a thousand
 * times, by degrees of freedom (scipy.stats.t.ppf(0.9995, n)). */
static double t_limit(double freedom)
{
    static const struct {
        double freedom, t;
    } rows[] = {{1, 636.62}, {2, 31.60}, {3, 12.92}, {4, 8.610}, {5, 6.869},
                {6, 5.959},  {7, 5.408}, {8, 5.041}, {9, 4.781}, {10, 4.587},
                {12, 4.318}, {15, 4.073}, {20, 3.850}, {30, 3.646},
                {60, 3.460}};
    double t = INFINITY;
    for (size_t i = 0; i < COUNT_OF(rows) && freedom >= rows[i].freedom; i++)
        t = rows[i].t;
    return t;
}

/* A number of both runs, a mean over their steps. */
struct measured {
    double value[2], spread[2]; /* before, after                           */
};

struct judging {
    const struct tp_trace_comparison *compared;
    struct tp_trace_changes *changes;
    double steps[2]; /* of the means                                       */
    const char *per;
    bool device;     /* some run has device events                         */
    bool chance;     /* the change of the step may be                      */
    const char **shared; /* names that both runs have somewhere, in order  */
    size_t shared_count;
    struct tp_error *err;
};

static double change_of(const struct measured *it)
{
    return it->value[1] - it->value[0];
}

/* Whether a number changed by more than it scatters, in either way; not where
 * that is unknown. */
static bool is_beyond(const struct judging *judging, const struct measured *it)
{
    const double *n = judging->steps;
    if (isnan(it->spread[0]) || isnan(it->spread[1]) || n[0] < 2 || n[1] < 2)
        return false;
    const double spread = fmax(it->spread[0], it->spread[1]);
    const double chance = spread * sqrt(1 / n[0] + 1 / n[1]);
    return fabs(change_of(it)) >
           fmax(2 * spread, t_limit(n[0] + n[1] - 2) * chance);
}

/* --- findings ------------------------------------------------------------- */

static enum tp_severity level_of(const struct judging *judging, double us)
{
    const double share = us / judging->compared->why_base_us;
    if (!judging->changes->longer || share < medium)
        return TP_SEVERITY_LOW;
    return share < high ? TP_SEVERITY_MEDIUM : TP_SEVERITY_HIGH;
}

/* Whether it got slower by enough, and beyond what it scatters by. */
static bool is_slower(const struct judging *judging, const struct measured *it)
{
    const double step = fmax(judging->compared->why_base_us,
                             judging->compared->why_test_us);
    return change_of(it) > 0 && change_of(it) >= told * step &&
           is_beyond(judging, it);
}

static enum tp_status add(const struct judging *judging,
                          const struct measured *it,
                          struct tp_trace_change finding)
{
    struct tp_trace_changes *changes = judging->changes;
    const bool steps = strcmp(judging->per, "step") == 0;
    finding.level = level_of(judging, change_of(it));
    finding.metric = steps ? "us a step" : "us a trace";
    finding.baseline = it->value[0];
    finding.value = it->value[1];
    finding.spread = fmax(it->spread[0], it->spread[1]);
    const enum tp_status status =
        tp_grow(&changes->findings.rows, &changes->findings.capacity,
                changes->findings.count + 1, sizeof finding, judging->err);
    if (status == TP_OK)
        changes->findings.rows[changes->findings.count++] = finding;
    return status;
}

/* "; from step to step it scatters by 0.1 ms before, 0.2 after". */
static void add_scatter(const struct measured *it, const char *per,
                        struct tp_text *text)
{
    tp_text_add(text,
                "; from %s to %s it scatters by %.3g ms before, %.3g after",
                per, per, it->spread[0] / 1e3, it->spread[1] / 1e3);
}

/* A severe change within a step that as a whole may be as long as before. */
static void add_chance(const struct judging *judging, const struct measured *it,
                       struct tp_text *text)
{
    if (judging->chance &&
        level_of(judging, change_of(it)) == TP_SEVERITY_HIGH)
        tp_text_add(text,
                    "; the change of the %s as a whole may be chance, this one "
                    "is beyond that",
                    judging->per);
}

/* "12.1 ms a step instead of 8.3: +3.8, 12 % of the step before". */
static void add_times(const struct judging *judging, const struct measured *it,
                      struct tp_text *text)
{
    tp_text_add(text,
                "%.3f ms of a %s instead of %.3f: %+.3f, %.3g %% of the %s "
                "before",
                it->value[1] / 1e3, judging->per, it->value[0] / 1e3,
                change_of(it) / 1e3,
                100 * change_of(it) / judging->compared->why_base_us,
                judging->per);
}

/* --- the step ------------------------------------------------------------- */

/* How the typical steps of a run scatter around their mean; NaN of less than
 * two. */
static double spread_of_steps(const struct tp_trace_run *run)
{
    double mean = 0, squares = 0, n = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t k = 0; k < run->traces[i].steps.count; k++) {
            const struct tp_step_row *row = &run->traces[i].steps.rows[k];
            if (row->step < 0 || !row->typical)
                continue;
            const double off = row->host_us - mean; /* as Welford adds them */
            mean += off / ++n;
            squares += off * (row->host_us - mean);
        }
    }
    return n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

/* How the steps' means stand to what steps scatter by. */
static const char *scatter_words(const struct judging *judging,
                                 const struct measured *step)
{
    struct tp_arena *arena = &judging->changes->arena;
    const double *n = judging->steps;
    if (change_of(step) == 0)
        return "";
    if (isnan(step->spread[0]) || isnan(step->spread[1]))
        return tp_arena_format(
            arena,
            "that is of %g %s%s before and %g after, so how they scatter is "
            "not known and no change is a finding",
            n[0], judging->per, n[0] == 1 ? "" : "s", n[1]);
    return tp_arena_format(
        arena,
        "steps scatter by %.3g ms before, %.3g after (standard deviations of "
        "%g and %g steps): %s",
        step->spread[0] / 1e3, step->spread[1] / 1e3, n[0], n[1],
        is_beyond(judging, step) ? "the change of the step is beyond that"
                                 : "the change of the step may be chance");
}

static enum tp_status judge_step(struct judging *judging,
                                 const struct measured *step)
{
    struct tp_trace_changes *changes = judging->changes;
    struct tp_text text = {0};
    changes->longer = change_of(step) > 0;
    changes->scatter = scatter_words(judging, step);
    judging->chance = !is_beyond(judging, step);
    if (!is_slower(judging, step))
        return TP_OK;
    add_times(judging, step, &text);
    add_scatter(step, judging->per, &text);
    const char *evidence = tp_arena_take(&changes->arena, &text);
    if (!evidence)
        return tp_fail_memory(judging->err);
    return add(judging, step,
               (struct tp_trace_change){
                   .rule = &tp_trace_change_rules[TP_SLOWER_STEP],
                   .name = "",
                   .path = "",
                   .evidence = evidence,
                   .suggestion =
                       "look first at the largest of the findings below; where "
                       "none is, at compare/why: its rows add up to this "
                       "change"});
}

/* --- names ---------------------------------------------------------------- */

enum { NAME_SHOWN = 100, PLACES_SHOWN = 2 };

/* The end of a path: what is innermost, and what that is in. */
static const char *end_of(const char *path)
{
    const char *at[PLACES_SHOWN] = {path, path};
    for (const char *next = path; (next = strstr(next, " > ")) != NULL;) {
        next += 3;
        at[0] = at[1];
        at[1] = next;
    }
    return at[0];
}

/* Whether the operators that launch it run more often, too, by half as much as
 * it does or more; not where they are unknown. */
static bool are_called_more_often(const struct tp_named_row *row)
{
    const struct tp_launchers *of = &row->launchers;
    return of->test_per_step > of->base_per_step &&
           2 * (of->test_per_step - of->base_per_step) * row->base_per_step >=
               (row->test_per_step - row->base_per_step) * of->base_per_step;
}

static bool waits_now(const struct tp_named_row *row)
{
    return row->what == TP_SPENT_WAIT && !row->base_waits;
}

static const char *what_to_do(const struct tp_named_row *row)
{
    const double each =
        row->base_per_step > 0 ? row->base_us / row->base_per_step : 0;
    const double added = row->test_per_step - row->base_per_step;
    const bool more = !waits_now(row) && added > 0 &&
                      (added >= row->base_per_step ||
                       added * each >= row->change_us / 2);
    if (strncmp(row->name, "enumerate(DataLoader)", 21) == 0)
        return "look first at the input: num_workers, pin_memory, and what a "
               "sample costs (INPUT in tprof-guide)";
    if (more && row->what == TP_SPENT_DEVICE && !are_called_more_often(row))
        return row->launchers.count
                   ? "look first at why another kernel is chosen, as its "
                     "operators run no more often to match: shapes and types "
                     "(compare/why), cudnn.benchmark, versions"
                   : "look first at where it runs (compare/why)";
    if (more && row->what != TP_SPENT_GAP)
        return "look first at what calls it more often: the rows of it in "
               "compare/why name the places";
    switch (row->what) {
    case TP_SPENT_DEVICE:
        return "look first at the shapes and types it is given (compare/why), "
               "then at the device's clocks and at what runs beside it: it "
               "runs hardly more often";
    case TP_SPENT_WAIT:
        return "look first at what makes the host wait there: .item(), .cpu(), "
               "copies that block (SYNCHRONISATION in tprof-guide)";
    case TP_SPENT_CALL:
        return "look first at what the driver does in it: allocations, code "
               "that is loaded, many launches (LAUNCH AND HOST OVERHEAD in "
               "tprof-guide)";
    case TP_SPENT_GAP:
        return "look first at what Python does there: record both with "
               "with_stack=True";
    default:
        return "look first at the host: what of the operator is slower, and "
               "whether another process takes its cores";
    }
}

static void add_name(const struct judging *judging,
                     const struct tp_named_row *row, struct tp_text *text)
{
    static const char *const verbs[TP_SPENT_KINDS] = {
        [TP_SPENT_DEVICE] = "", [TP_SPENT_HOST] = "the host is in ",
        [TP_SPENT_CALL] = "the host is in ",
        [TP_SPENT_WAIT] = "the host waits in ",
        [TP_SPENT_GAP] = "nothing is recorded between "};
    tp_text_add(text, "%s", verbs[row->what]);
    if (row->what == TP_SPENT_GAP) {
        tp_text_printable_cut(text, row->before, NAME_SHOWN);
        tp_text_add(text, " and ");
    }
    tp_text_printable_cut(text, *row->name ? row->name : "what has no name",
                          NAME_SHOWN);
    if (*row->base_name) {
        tp_text_add(text, " (before: ");
        tp_text_printable_cut(text, row->base_name, NAME_SHOWN);
        tp_text_add(text, ")");
    }
    tp_text_add(text, row->what == TP_SPENT_DEVICE ? " takes "
                      : judging->device ? ", with the device idle, for "
                                        : " for ");
}

/* How the operators that launch a kernel stand, and what is said of a call
 * that waits only now. */
static void add_around(const struct judging *judging,
                       const struct tp_named_row *row, struct tp_text *text)
{
    const struct tp_launchers *of = &row->launchers;
    if (waits_now(row) && row->base_per_step > 0)
        tp_text_add(text, "; it waits now, before it did not");
    if (row->what == TP_SPENT_DEVICE && of->count)
        tp_text_add(text,
                    "; the device takes %.3f ms instead of %.3f for what "
                    "launches it, which runs %.4g times a %s instead of %.4g",
                    of->test_us / 1e3, of->base_us / 1e3, of->test_per_step,
                    judging->per, of->base_per_step);
}

/* Whether the device does more than before for the operators that launch it,
 * so that it did not just take another kernel's place. */
static bool is_of_slower_operators(const struct judging *judging,
                                   const struct tp_named_row *row)
{
    const struct tp_launchers *of = &row->launchers;
    const struct measured it = {{of->base_us, of->test_us},
                                {of->base_spread, of->test_spread}};
    return row->what != TP_SPENT_DEVICE || !of->count ||
           is_slower(judging, &it);
}

static enum tp_status judge_name(const struct judging *judging,
                                 const struct tp_named_row *row)
{
    const struct measured it = {{row->base_us, row->test_us},
                                {row->base_spread, row->test_spread}};
    struct tp_text text = {0};
    if (!is_slower(judging, &it) || !is_of_slower_operators(judging, row))
        return TP_OK;
    add_name(judging, row, &text);
    add_times(judging, &it, &text);
    if (row->what != TP_SPENT_GAP)
        tp_text_add(&text, "; %.4g times a %s instead of %.4g",
                    row->test_per_step, judging->per, row->base_per_step);
    add_around(judging, row, &text);
    add_scatter(&it, judging->per, &text);
    add_chance(judging, &it, &text);
    if (row->what != TP_SPENT_GAP && *row->path &&
        strcmp(row->path, row->name) != 0) {
        tp_text_add(&text, "; most in ");
        tp_text_printable_cut(&text, end_of(row->path), 2 * NAME_SHOWN);
    }
    const char *evidence = tp_arena_take(&judging->changes->arena, &text);
    if (!evidence)
        return tp_fail_memory(judging->err);
    const enum tp_trace_change_id id =
        row->what == TP_SPENT_DEVICE ? TP_SLOWER_DEVICE
        : row->what == TP_SPENT_GAP  ? TP_SLOWER_GAP
                                     : TP_SLOWER_HOST;
    return add(judging, &it,
               (struct tp_trace_change){.rule = &tp_trace_change_rules[id],
                                        .name = row->name,
                                        .path = row->path,
                                        .evidence = evidence,
                                        .suggestion = what_to_do(row)});
}

/* --- what only one run has ------------------------------------------------ */

static bool has(double count, double us)
{
    return count > 0 || us > 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that both runs have in any of their steps, as any kind. */
static enum tp_status find_shared(struct judging *judging)
{
    const struct tp_trace_comparison *compared = judging->compared;
    const size_t ops = compared->ops.count, kernels = compared->kernels.count;
    judging->shared = calloc(ops + kernels + 1, sizeof *judging->shared);
    if (!judging->shared)
        return tp_fail_memory(judging->err);
    for (size_t i = 0; i < ops + kernels; i++) {
        const struct tp_compare_row *row =
            i < ops ? &compared->ops.rows[i] : &compared->kernels.rows[i - ops];
        if (row->base_count > 0 && row->test_count > 0)
            judging->shared[judging->shared_count++] = row->name;
    }
    qsort(judging->shared, judging->shared_count, sizeof *judging->shared,
          by_text);
    return TP_OK;
}

/* Whether both runs have a name; gaps are told by both ends. */
static bool is_of_both(const struct judging *judging,
                       const struct tp_named_row *row)
{
    if (has(row->base_per_step, row->base_us) &&
        has(row->test_per_step, row->test_us))
        return true;
    return row->what != TP_SPENT_GAP && judging->shared_count > 0 &&
           bsearch(&row->name, judging->shared, judging->shared_count,
                   sizeof row->name, by_text);
}

/* What is new, less what is gone: of the device, or of the host. */
struct exchange {
    struct measured it;
    const struct tp_named_row *gained, *lost; /* the largest; NULL: none   */
    size_t new, gone, replacing; /* the last: new, in place of others      */
};

static struct exchange exchange_of(const struct judging *judging, bool device)
{
    const struct tp_trace_comparison *compared = judging->compared;
    struct exchange all = {.gained = NULL};
    for (size_t i = 0; i < compared->named.count; i++) {
        const struct tp_named_row *row = &compared->named.rows[i];
        if (is_of_both(judging, row) ||
            (row->what == TP_SPENT_DEVICE) != device)
            continue;
        const bool new = has(row->test_per_step, row->test_us);
        if (new && !is_of_slower_operators(judging, row)) {
            all.replacing++;
            continue;
        }
        all.it.value[0] += row->base_us;
        all.it.value[1] += row->test_us;
        all.it.spread[0] += row->base_spread;
        all.it.spread[1] += row->test_spread;
        all.new += new;
        all.gone += !new;
        if (new && (!all.gained || row->test_us > all.gained->test_us))
            all.gained = row;
        if (!new && (!all.lost || row->base_us > all.lost->base_us))
            all.lost = row;
    }
    return all;
}

static void add_largest(const struct tp_named_row *row, double us,
                        struct tp_text *text)
{
    tp_text_add(text, ", the largest ");
    if (row->what == TP_SPENT_GAP) {
        tp_text_add(text, "the gap between ");
        tp_text_printable_cut(text, row->before, NAME_SHOWN);
        tp_text_add(text, " and ");
    }
    tp_text_printable_cut(text, row->name, NAME_SHOWN);
    tp_text_add(text, " with %.3f ms", us / 1e3);
}

static enum tp_status judge_exchange(const struct judging *judging, bool device)
{
    const struct exchange all = exchange_of(judging, device);
    struct tp_text text = {0};
    if (!all.gained || !is_slower(judging, &all.it))
        return TP_OK;
    tp_text_add(&text, "%s that only one run has: ",
                device            ? "device work"
                : judging->device ? "operators, calls and gaps with the "
                                    "device idle"
                                  : "operators, calls and gaps");
    add_times(judging, &all.it, &text);
    tp_text_add(&text, "; %zu new", all.new);
    add_largest(all.gained, all.gained->test_us, &text);
    if (all.replacing)
        tp_text_add(&text, " (and %zu in place of others)", all.replacing);
    tp_text_add(&text, "; %zu gone", all.gone);
    if (all.lost)
        add_largest(all.lost, all.lost->base_us, &text);
    add_chance(judging, &all.it, &text);
    const char *evidence = tp_arena_take(&judging->changes->arena, &text);
    if (!evidence)
        return tp_fail_memory(judging->err);
    return add(judging, &all.it,
               (struct tp_trace_change){
                   .rule = &tp_trace_change_rules[TP_SLOWER_NEW],
                   .name = all.gained->name,
                   .path = all.gained->path,
                   .evidence = evidence,
                   .suggestion =
                       "look first at what is new, and whether both runs have "
                       "the same program, versions, settings and way of "
                       "recording"});
}

/* --- all ------------------------------------------------------------------ */

/* The step first, then the largest change; what an order leaves open is by
 * name. */
static int by_weight(const void *a, const void *b)
{
    const struct tp_trace_change *x = a, *y = b;
    const bool step_x = x->rule == &tp_trace_change_rules[TP_SLOWER_STEP];
    const bool step_y = y->rule == &tp_trace_change_rules[TP_SLOWER_STEP];
    int order = (int)step_y - (int)step_x;
    if (!order)
        order = tp_order_double(y->value - y->baseline, x->value - x->baseline);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->evidence, y->evidence);
}

static bool has_device(const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++)
        if (run->traces[i].facts.device_events)
            return true;
    return false;
}

enum tp_status tp_trace_changes_make(const struct tp_trace_run *base,
                                     const struct tp_trace_run *test,
                                     const struct tp_trace_comparison *compared,
                                     struct tp_trace_changes *changes,
                                     struct tp_error *err)
{
    struct judging judging = {
        .compared = compared,
        .changes = changes,
        .steps = {compared->why_base_count, compared->why_test_count},
        .per = compared->why_per,
        .device = has_device(base) || has_device(test),
        .err = err};
    const struct measured step = {
        {compared->why_base_us, compared->why_test_us},
        {spread_of_steps(base), spread_of_steps(test)}};
    changes->scatter = "";
    if (compared->named.count == 0)
        return TP_OK;
    enum tp_status status = judge_step(&judging, &step);
    if (isnan(step.spread[0]) || isnan(step.spread[1]))
        return status; /* what is chance cannot be told */
    if (status == TP_OK)
        status = find_shared(&judging);
    for (size_t i = 0; i < compared->named.count && status == TP_OK; i++)
        if (is_of_both(&judging, &compared->named.rows[i]))
            status = judge_name(&judging, &compared->named.rows[i]);
    for (int device = 0; device < 2 && status == TP_OK; device++)
        status = judge_exchange(&judging, device);
    free(judging.shared);
    if (changes->findings.count > 1)
        qsort(changes->findings.rows, changes->findings.count,
              sizeof *changes->findings.rows, by_weight);
    return status == TP_OK && changes->arena.failed ? tp_fail_memory(err)
                                                    : status;
}

void tp_trace_changes_clear(struct tp_trace_changes *changes)
{
    free(changes->findings.rows);
    tp_arena_clear(&changes->arena);
    memset(changes, 0, sizeof *changes);
}

int tp_trace_changes_worst(const struct tp_trace_changes *changes)
{
    int worst = 0;
    for (size_t i = 0; i < changes->findings.count; i++)
        if ((int)changes->findings.rows[i].level > worst)
            worst = (int)changes->findings.rows[i].level;
    return worst;
}

/* --- the table ------------------------------------------------------------ */

static const char *severity_word(const void *row)
{
    return tp_severity_name(((const struct tp_trace_change *)row)->level);
}

static const char *rule_word(const void *row)
{
    return ((const struct tp_trace_change *)row)->rule->id;
}

static const char *guide_word(const void *row)
{
    return ((const struct tp_trace_change *)row)->rule->guide;
}

#define CHANGE(member, unit) TP_COLUMN(struct tp_trace_change, member, unit)

static const struct tp_column columns[] = {
    TP_COLUMN_WORD("severity", severity_word),
    TP_COLUMN_WORD("rule", rule_word),
    CHANGE(name, ""),
    CHANGE(path, ""),
    CHANGE(metric, ""),
    CHANGE(value, "metric"),
    CHANGE(baseline, "metric"),
    CHANGE(spread, "metric"),
    CHANGE(evidence, ""),
    CHANGE(suggestion, ""),
    TP_COLUMN_WORD("guide", guide_word),
};

struct tp_table tp_trace_changes_table(const struct tp_trace_changes *changes)
{
    return TP_TABLE_OF("findings", columns, changes->findings.rows,
                       changes->findings.count);
}
