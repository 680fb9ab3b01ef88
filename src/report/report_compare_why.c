/* SPDX-License-Identifier: MIT */
#include "report/report_compare_why.h"

#include <math.h>
#include <string.h>

#include "base/text_wrap.h"
#include "trace/trace_compare_why.h"

enum {
    PATH_SHOWN = 110, /* bytes of a path; its end tells most              */
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

/* "0.3 ms each instead of 0.1 (10 a step)" */
static void add_duration(const struct tp_why_row *row, const char *per,
                         struct tp_text *text)
{
    tp_text_add(text, " takes %.4g ms each instead of %.4g (%.4g a %s)",
                each(row->test_us, row->test_per_step) / 1e3,
                each(row->base_us, row->base_per_step) / 1e3,
                row->test_per_step, per);
}

static void add_sums(const struct tp_why_row *row, const char *per,
                     struct tp_text *text)
{
    if (row->how == TP_WHY_ADDED || row->how == TP_WHY_REMOVED)
        tp_text_add(text, "%.3f ms a %s", (row->test_us + row->base_us) / 1e3,
                    per);
    else
        tp_text_add(text, "%.3f ms a %s instead of %.3f", row->test_us / 1e3,
                    per, row->base_us / 1e3);
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
        if (row->others)
            tp_text_add(text, " and %zu other%s", row->others,
                        row->others == 1 ? "" : "s");
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
    tp_text_add(text, "%s",
                row->how == TP_WHY_RESHAPED ? "it runs " : " runs ");
    add_name(row->test_name, NAME_SHOWN, text);
    tp_text_add(text, ", %.3f ms a %s, instead of ", row->test_us / 1e3, per);
    add_name(row->base_name, NAME_SHOWN, text);
    tp_text_add(text, ", %.3f ms", row->base_us / 1e3);
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

static void add_host(const struct tp_why_row *row, bool device, const char *per,
                     struct tp_text *text)
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
        const char *inputs =
            *row->test_inputs ? row->test_inputs : row->base_inputs;
        add_path(row->path, text);
        tp_text_add(text, "%s", *inputs ? " of " : "");
        if (*inputs)
            add_given(inputs, shapes_of(inputs), text);
    }
    tp_text_add(text, "%s for ", device ? " with the GPU idle" : "");
    add_sums(row, per, text);
    add_numbers(row, text);
}

/* "f and all that it calls, 49.9 ms a step (14 changes, ..)" */
static void add_whole(const struct tp_cause_row *cause, const char *per,
                      struct tp_text *text)
{
    const struct tp_why_row *row = cause->largest;
    char root[PATH_SHOWN + 1];
    const size_t length = cause->root < PATH_SHOWN ? cause->root : PATH_SHOWN;
    memcpy(root, row->path, length);
    root[length] = 0;
    tp_text_printable(text, root);
    tp_text_add(text,
                " and all that it calls, %.3f ms a %s (%zu changes, the "
                "largest %.3f ms",
                (cause->test_us + cause->base_us) / 1e3, per, cause->members,
                fabs(row->change_us) / 1e3);
    if (row->path[cause->root])
        add_place(row, text);
    tp_text_add(text, ")");
}

/* The largest of several rows stands for all: sums of them, and its place. */
static void add_several(const struct tp_cause_row *cause, bool device,
                        const char *per, struct tp_text *text)
{
    struct tp_why_row all = *cause->largest;
    all.base_us = cause->base_us;
    all.test_us = cause->test_us;
    all.base_per_step = cause->base_per_step;
    all.test_per_step = cause->test_per_step;
    if (all.what == TP_SPENT_GAP) {
        add_gap(&all, device, per, text);
    } else if (all.what != TP_SPENT_DEVICE) {
        all.how = all.how == TP_WHY_RESHAPED ? TP_WHY_SLOWER : all.how;
        all.base_inputs = all.test_inputs = "";
        add_host(&all, device, per, text);
        tp_text_add(text, ", with %zu kinds of inputs", cause->members);
        return;
    } else if (all.how >= TP_WHY_ADDED &&
               strcmp(all.base_name, all.test_name) != 0 && *all.base_name &&
               *all.test_name) {
        add_name(all.test_name, NAME_SHOWN, text);
        tp_text_add(text, ", %.3f ms a %s, instead of ", all.test_us / 1e3,
                    per);
        add_name(all.base_name, NAME_SHOWN, text);
        tp_text_add(text, ", %.3f ms, most in ", all.base_us / 1e3);
        add_path(all.path, text);
    } else {
        add_name(*all.test_name ? all.test_name : all.base_name, NAME_SHOWN,
                 text);
        tp_text_add(text, all.others ? " and others take " : " takes ");
        add_sums(&all, per, text);
        add_numbers(&all, text);
        tp_text_add(text, ", most in ");
        add_path(all.path, text);
    }
    tp_text_add(text, "; %zu places in all", cause->members);
}

static void add_alone(const struct tp_why_row *row, bool device,
                      const char *per, struct tp_text *text)
{
    if (row->what == TP_SPENT_DEVICE)
        add_device(row, per, text);
    else if (row->what == TP_SPENT_GAP)
        add_gap(row, device, per, text);
    else
        add_host(row, device, per, text);
}

/* Whether both runs have a name of `length` bytes, anywhere. */
static bool is_in_both(const struct tp_compare_row *rows, size_t count,
                       const char *name, size_t length)
{
    bool both = false;
    for (size_t i = 0; i < count && !both; i++)
        both = rows[i].base_count > 0 && rows[i].test_count > 0 &&
               !strncmp(rows[i].name, name, length) && !rows[i].name[length];
    return both;
}

/* Whether what only one run has in a place is in both all the same. */
static bool is_elsewhere(const struct tp_trace_comparison *comparison,
                         const struct tp_cause_row *cause, bool whole)
{
    const struct tp_why_row *row = cause->largest;
    const char *name = *row->test_name ? row->test_name : row->base_name;
    size_t length = strlen(name);
    if (whole || !*name) {
        const char *end = row->path + (whole ? cause->root : strlen(row->path));
        name = row->path;
        for (const char *next;
             (next = strstr(name, " > ")) != NULL && next < end;)
            name = next + 3;
        length = (size_t)(end - name);
    }
    return is_in_both(comparison->ops.rows, comparison->ops.count, name,
                      length) ||
           is_in_both(comparison->kernels.rows, comparison->kernels.count, name,
                      length);
}

static void add_cause(const struct tp_trace_comparison *comparison,
                      const struct tp_cause_row *cause, bool device,
                      struct tp_text *text)
{
    const char *per = comparison->why_per;
    const struct tp_why_row *row = cause->largest;
    const bool whole = cause->root > 0 && cause->members > 1;
    const bool added = whole ? cause->test_us > 0 : row->how == TP_WHY_ADDED;
    if (whole || added || row->how == TP_WHY_REMOVED)
        tp_text_add(text, "%sonly %s: ",
                    row->what != TP_SPENT_GAP &&
                            is_elsewhere(comparison, cause, whole)
                        ? "in this place "
                        : "",
                    added ? "after" : "before");
    if (whole)
        add_whole(cause, per, text);
    else if (cause->members > 1)
        add_several(cause, device, per, text);
    else
        add_alone(row, device, per, text);
}

static void add_sentence(const struct tp_trace_comparison *comparison,
                         const struct tp_cause_row *cause, bool device,
                         struct tp_text *text)
{
    const size_t from = text->length;
    tp_text_add(text, "  %+11.3f ms  ", cause->change_us / 1e3);
    add_cause(comparison, cause, device, text);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 18, NULL);
}

/* ": operators on the host +9.120, gaps between operators +4.007": many small
 * changes of one kind that are worth a line together. */
static void add_kinds(const double *us, double least, struct tp_text *text)
{
    static const char *const words[TP_SPENT_KINDS] = {
        [TP_SPENT_DEVICE] = "device work",
        [TP_SPENT_CALL] = "calls of the driver",
        [TP_SPENT_WAIT] = "calls that wait",
        [TP_SPENT_HOST] = "operators on the host",
        [TP_SPENT_GAP] = "gaps between operators"};
    const char *before = ", each small: ";
    for (int i = 0; i < TP_SPENT_KINDS; i++) {
        if (fabs(us[i]) < least || us[i] == 0)
            continue;
        tp_text_add(text, "%s%s %+.3f", before, words[i], us[i] / 1e3);
        before = ", ";
    }
}

/* What the causes from `first` on add up to, and what is in none. */
static void add_rest(const struct tp_trace_comparison *comparison, size_t first,
                     double least, struct tp_text *text)
{
    const bool steps = !strcmp(comparison->why_per, "step");
    const double all = comparison->why_test_us - comparison->why_base_us;
    double rest = 0, of_kind[TP_SPENT_KINDS] = {0};
    size_t changed = 0;
    for (size_t i = first; i < comparison->causes.count; i++) {
        rest += comparison->causes.rows[i].change_us;
        changed += comparison->causes.rows[i].change_us != 0;
        of_kind[comparison->causes.rows[i].largest->what] +=
            comparison->causes.rows[i].change_us;
    }
    if (changed > 0) {
        const size_t from = text->length;
        tp_text_add(text, "  %+11.3f ms  in %zu further causes", rest / 1e3,
                    changed);
        add_kinds(of_kind, least, text);
        tp_text_add(text, " (/compare/why)\n");
        tp_text_wrap(text, from, 18, NULL);
    }
    const double residual = steps ? comparison->steps.rows[0].change - all : 0;
    tp_text_add(text, "  %+11.3f ms  in nothing of these: the residual\n",
                fabs(residual) < 0.0005 ? 0 : residual / 1e3);
}

static void add_change(const struct tp_trace_comparison *comparison,
                       struct tp_text *text)
{
    const double base = comparison->why_base_count;
    const double test = comparison->why_test_count;
    tp_text_add(text, "a %s takes %.3f ms instead of %.3f", comparison->why_per,
                comparison->why_test_us / 1e3, comparison->why_base_us / 1e3);
    if (base != test)
        tp_text_add(text, " (a mean of %g %s%s instead of %g)", test,
                    comparison->why_per, test == 1 ? "" : "s", base);
}

/* What the largest change is to that of the whole: a part of it, more than it,
 * since others take some back, or the opposite. */
static void add_share(double all, double part, struct tp_text *text)
{
    const char *words = all * part <= 0 ? " in all, although"
                        : fabs(part) > fabs(all)
                            ? " in all; the largest change, in part undone by "
                              "others,"
                            : ", of which";
    tp_text_add(text, "%+.3f ms%s %+.3f ms: ", all / 1e3, words, part / 1e3);
}

void tp_compare_why_head(const struct tp_trace_comparison *comparison,
                         bool device, struct tp_text *change,
                         struct tp_text *cause)
{
    const double least =
        TP_WHY_TOLD * fmax(comparison->why_base_us, comparison->why_test_us);
    if (comparison->causes.count == 0)
        return;
    const struct tp_cause_row *row = &comparison->causes.rows[0];
    add_change(comparison, change);
    if (row->change_us == 0 || fabs(row->change_us) < least) {
        tp_text_add(cause, "nothing changed by %.0f %% of a %s or more",
                    100 * TP_WHY_TOLD, comparison->why_per);
        return;
    }
    add_share(comparison->why_test_us - comparison->why_base_us, row->change_us,
              cause);
    add_cause(comparison, row, device, cause);
}

void tp_compare_why_text(const struct tp_trace_comparison *comparison,
                         bool device, size_t top, struct tp_text *text)
{
    const double base = comparison->why_base_us;
    const double test = comparison->why_test_us;
    const double least = TP_WHY_TOLD * fmax(base, test);
    const char *per = comparison->why_per;
    size_t told = 0;
    if (comparison->causes.count == 0)
        return;
    while (told < comparison->causes.count && !(top && told == top) &&
           fabs(comparison->causes.rows[told].change_us) >= least &&
           comparison->causes.rows[told].change_us != 0)
        told++;
    tp_text_add(text, "\nWhy: ");
    add_change(comparison, text);
    tp_text_add(text, ": %+.3f ms\n", (test - base) / 1e3);
    if (told == 0)
        tp_text_add(text, "  nothing changed by %.0f %% of a %s or more\n",
                    100 * TP_WHY_TOLD, per);
    for (size_t i = 0; i < told; i++)
        add_sentence(comparison, &comparison->causes.rows[i], device, text);
    add_rest(comparison, told, least, text);
}
