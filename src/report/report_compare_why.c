/* SPDX-License-Identifier: MIT */
#include "report/report_compare_why.h"

#include <math.h>
#include <string.h>

#include "base/text_wrap.h"
#include "trace/trace_compare_why.h"

enum {
    PATH_SHOWN = 110,  /* bytes of a path; its end tells most              */
    NAME_SHOWN = 80,
    INPUTS_SHOWN = 70
};

static void add_name(const char *name, size_t limit, struct tp_text *text)
{
    tp_text_printable_cut(text, *name ? name : "(no name)", limit);
}

static void add_path(const char *path, struct tp_text *text)
{
    const char *shown = path;
    size_t length = strlen(path);
    while (length > PATH_SHOWN) {
        const char *next = strstr(shown, " > ");
        if (!next)
            break;
        shown = next + 3;
        length = strlen(shown);
    }
    if (!*path)
        tp_text_add(text, "no operator");
    tp_text_add(text, "%s", shown == path ? "" : "... > ");
    tp_text_printable_cut(text, shown, PATH_SHOWN);
}

/* "in aten::linear > aten::addmm" */
static void add_place(const struct tp_why_row *row, struct tp_text *text)
{
    tp_text_add(text, ", in ");
    add_path(row->path, text);
}

static double each(double us, double count)
{
    return count > 0 ? us / count : 0;
}

/* "300.0 us each instead of 100.0 (10 a step)" */
static void add_duration(const struct tp_why_row *row, const char *per,
                         struct tp_text *text)
{
    tp_text_add(text, " takes %.1f us each instead of %.1f (%.4g a %s)",
                each(row->test_us, row->test_per_step),
                each(row->base_us, row->base_per_step), row->test_per_step,
                per);
}

static void add_sums(const struct tp_why_row *row, const char *per,
                     struct tp_text *text)
{
    if (row->how == TP_WHY_ADDED || row->how == TP_WHY_REMOVED)
        tp_text_add(text, "%.1f us a %s", row->test_us + row->base_us, per);
    else
        tp_text_add(text, "%.1f us a %s instead of %.1f", row->test_us, per,
                    row->base_us);
}

/* Bytes of the shapes; the types follow. */
static size_t shapes_of(const char *inputs)
{
    const char *types = strstr(inputs, " [\"");
    return types ? (size_t)(types - inputs) : strlen(inputs);
}

static void add_given(const char *inputs, size_t length, struct tp_text *text)
{
    char shown[INPUTS_SHOWN + 1];
    if (!*inputs)
        tp_text_add(text, "inputs that were not recorded");
    if (length > INPUTS_SHOWN) {
        tp_text_printable_cut(text, inputs, INPUTS_SHOWN);
        return;
    }
    memcpy(shown, inputs, length);
    shown[length] = 0;
    tp_text_printable(text, shown);
}

/* What an operator is given, on both sides; types where they differ. */
static void add_inputs(const struct tp_why_row *row, struct tp_text *text)
{
    const char *base = row->base_inputs, *test = row->test_inputs;
    size_t old = shapes_of(base), now = shapes_of(test);
    if (strcmp(base + old, test + now)) {
        old = strlen(base);
        now = strlen(test);
    }
    add_path(row->path, text);
    tp_text_add(text, " is given ");
    add_given(test, now, text);
    tp_text_add(text, " instead of ");
    add_given(base, old, text);
    tp_text_add(text, ": ");
}

/* What one side has alone, or each. */
static void add_exchange(const struct tp_why_row *row, const char *per,
                         struct tp_text *text)
{
    if (row->how == TP_WHY_ADDED || row->how == TP_WHY_REMOVED) {
        const bool added = row->how == TP_WHY_ADDED;
        add_name(added ? row->test_name : row->base_name, NAME_SHOWN, text);
        tp_text_add(text, ", %.4g a %s",
                    added ? row->test_per_step : row->base_per_step, per);
        add_place(row, text);
        return;
    }
    if (row->how == TP_WHY_RESHAPED)
        add_inputs(row, text);
    else
        add_path(row->path, text);
    if (!strcmp(row->base_name, row->test_name)) {
        add_name(row->test_name, NAME_SHOWN, text);
        tp_text_add(text, " takes ");
        add_sums(row, per, text);
        return;
    }
    tp_text_add(text, "%s", row->how == TP_WHY_RESHAPED ? "it runs "
                                                        : " runs ");
    add_name(row->test_name, NAME_SHOWN, text);
    tp_text_add(text, ", %.1f us a %s, instead of ", row->test_us, per);
    add_name(row->base_name, NAME_SHOWN, text);
    tp_text_add(text, ", %.1f us", row->base_us);
}

static void add_device(const struct tp_why_row *row, const char *per,
                       struct tp_text *text)
{
    if (row->how >= TP_WHY_ADDED) {
        add_exchange(row, per, text);
        return;
    }
    add_name(row->test_name, NAME_SHOWN, text);
    if (row->how == TP_WHY_MORE || row->how == TP_WHY_FEWER)
        tp_text_add(text, " runs %.4g times a %s instead of %.4g",
                    row->test_per_step, per, row->base_per_step);
    else
        add_duration(row, per, text);
    add_place(row, text);
}

/* How often, where that changed. */
static void add_numbers(const struct tp_why_row *row, struct tp_text *text)
{
    if (row->test_per_step != row->base_per_step && row->how < TP_WHY_ADDED)
        tp_text_add(text, " (%.4g times instead of %.4g)", row->test_per_step,
                    row->base_per_step);
}

static void add_gap(const struct tp_why_row *row, bool device, const char *per,
                    struct tp_text *text)
{
    const char *behind = *row->test_name ? row->test_name : row->base_name;
    tp_text_add(text, "between ");
    add_path(row->path, text);
    tp_text_add(text, " and ");
    add_name(behind, NAME_SHOWN, text);
    tp_text_add(text, " nothing is recorded%s for ",
                device ? ", with the GPU idle," : "");
    add_sums(row, per, text);
    add_numbers(row, text);
}

static void add_host(const struct tp_why_row *row, bool device,
                     const char *per, struct tp_text *text)
{
    const char *call = *row->test_name ? row->test_name : row->base_name;
    if (row->how == TP_WHY_RESHAPED)
        add_inputs(row, text);
    tp_text_add(text, "the host %s ",
                row->what == TP_SPENT_WAIT ? "waits in" : "is in");
    if (*call) {
        add_name(call, NAME_SHOWN, text);
        add_place(row, text);
        tp_text_add(text, ",");
    } else if (row->how == TP_WHY_RESHAPED) {
        tp_text_add(text, "it");
    } else {
        const char *inputs = *row->test_inputs ? row->test_inputs
                                               : row->base_inputs;
        add_path(row->path, text);
        tp_text_add(text, "%s", *inputs ? " of " : "");
        if (*inputs)
            add_given(inputs, shapes_of(inputs), text);
    }
    tp_text_add(text, "%s for ", device ? " with the GPU idle" : "");
    add_sums(row, per, text);
    add_numbers(row, text);
}

static void add_sentence(const struct tp_why_row *row, bool device,
                         const char *per, struct tp_text *text)
{
    const size_t from = text->length;
    tp_text_add(text, "  %+11.3f ms  %s", row->change_us / 1e3,
                row->how == TP_WHY_ADDED     ? "only after: "
                : row->how == TP_WHY_REMOVED ? "only before: "
                                             : "");
    if (row->what == TP_SPENT_DEVICE)
        add_device(row, per, text);
    else if (row->what == TP_SPENT_GAP)
        add_gap(row, device, per, text);
    else
        add_host(row, device, per, text);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 18, NULL);
}

/* What the rows from `first` on add up to, and what is in none. */
static void add_rest(const struct tp_trace_comparison *comparison, size_t first,
                     struct tp_text *text)
{
    const bool steps = !strcmp(comparison->why_per, "step");
    const double all = comparison->why_test_us - comparison->why_base_us;
    double rest = 0;
    size_t changed = 0;
    for (size_t i = first; i < comparison->why.count; i++) {
        rest += comparison->why.rows[i].change_us;
        changed += comparison->why.rows[i].change_us != 0;
    }
    if (changed > 0)
        tp_text_add(text,
                    "  %+11.3f ms  in %zu further changes (/compare/why)\n",
                    rest / 1e3, changed);
    const double residual =
        steps ? comparison->steps.rows[0].change - all : 0;
    tp_text_add(text, "  %+11.3f ms  in nothing of these: the residual\n",
                fabs(residual) < 0.0005 ? 0 : residual / 1e3);
}

void tp_compare_why_text(const struct tp_trace_comparison *comparison,
                         bool device, size_t top, struct tp_text *text)
{
    const double base = comparison->why_base_us;
    const double test = comparison->why_test_us;
    const double least = TP_WHY_TOLD * fmax(base, test);
    const char *per = comparison->why_per;
    size_t told = 0;
    if (comparison->why.count == 0)
        return;
    while (told < comparison->why.count && !(top && told == top) &&
           fabs(comparison->why.rows[told].change_us) >= least &&
           comparison->why.rows[told].change_us != 0)
        told++;
    tp_text_add(text, "\nWhy: a %s takes %.3f ms instead of %.3f: %+.3f ms\n",
                per, test / 1e3, base / 1e3, (test - base) / 1e3);
    if (told == 0)
        tp_text_add(text, "  nothing changed by %.0f %% of a %s or more\n",
                    100 * TP_WHY_TOLD, per);
    for (size_t i = 0; i < told; i++)
        add_sentence(&comparison->why.rows[i], device, per, text);
    add_rest(comparison, told, text);
}
