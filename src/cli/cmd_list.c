/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check_rules.h"
#include "cli/cli.h"
#include "compare/compare_findings.h"
#include "cuda/device.h"
#include "damage/damage_shape.h"
#include "data/dtype.h"
#include "data/number.h"
#include "dump/dump_findings.h"
#include "figures/compare_figures.h"
#include "figures/figures.h"
#include "figures/replay_figures.h"
#include "figures/trace_compare_figures.h"
#include "figures/trace_figures.h"
#include "formats/param_table.h"
#include "formats/reader.h"
#include "formats/saved_place.h"
#include "replay/replay_findings.h"
#include "rules/rules.h"
#include "stats/stats.h"
#include "trace/trace_device.h"
#include "verdict/trace_change.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

static void list_formats(struct tp_text *text)
{
    for (size_t i = 0; tp_formats[i]; i++)
        tp_text_add(text, "  %-14s %s\n", tp_formats[i]->name,
                    tp_formats[i]->help);
}

static void list_stats(struct tp_text *text)
{
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++)
        tp_text_add(text, "  %-22s %-6s %s\n", stat->name, stat->unit,
                    stat->help);
}

/* The largest finite value that is stored; of a complex dtype, in one part. */
static double largest_stored(enum tp_dtype dtype)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    const struct tp_number *number = tp_number_by_dtype(info->real);
    if (dtype == TP_FLOAT8_E8M0FNU)
        number = &tp_number_e8m0;
    if (number)
        return number->max;
    if (dtype == TP_BOOL)
        return 1;
    return ldexp(1, 8 * info->size - (info->name[0] != 'u')) - 1;
}

static void add_number(const struct tp_number *n, struct tp_text *text)
{
    tp_text_add(text, "  %-12s %4d %5d %9d %12.6g %12.6g %12.6g  %s\n", n->id,
                n->bits, n->block, n->precision, n->max, n->min_normal,
                n->min_subnormal, n->help);
}

static void list_dtypes(struct tp_text *text)
{
    tp_text_add(text, "stored\n  %-18s %6s %12s %12s\n", "dtype", "bytes",
                "significand", "max");
    for (int i = 0; i < TP_DTYPE_COUNT; i++) {
        const struct tp_dtype_info *info = tp_dtype_info((enum tp_dtype)i);
        tp_text_add(text, "  %-18s %6u %12u %12.6g\n", info->name, info->size,
                    info->significand, largest_stored((enum tp_dtype)i));
    }
    tp_text_add(text,
                "\nnumber formats\n  %-12s %4s %5s %9s %12s %12s %12s"
                "  %s\n",
                "id", "bits", "block", "precision", "max", "min normal",
                "min positive", "");
    for (const struct tp_number *n = tp_number_formats; n->id; n++)
        add_number(n, text);
    add_number(&tp_number_e8m0, text);
}

static void list_figures(struct tp_text *text)
{
    char path[128];
    for (const struct tp_figure_info *row = tp_figure_table; row->id; row++) {
        snprintf(path, sizeof path, "%s/%s", row->category, row->id);
        tp_text_add(text, "  %-46s %s\n", path, row->caption);
    }
    for (const struct tp_trace_figure_info *row = tp_trace_figure_table;
         row->id; row++) {
        snprintf(path, sizeof path, "%s/%s", TP_TRACE_FIGURE_CATEGORY, row->id);
        tp_text_add(text, "  %-46s %s\n", path, row->caption);
    }
    for (const struct tp_trace_compare_figure_info *row =
             tp_trace_compare_figure_table;
         row->id; row++) {
        snprintf(path, sizeof path, "%s/%s", TP_TRACE_COMPARE_CATEGORY,
                 row->id);
        tp_text_add(text, "  %-46s %s\n", path, row->caption);
    }
    for (const struct tp_compare_figure_info *row = tp_compare_figure_table;
         row->id; row++) {
        snprintf(path, sizeof path, "%s/%s", TP_COMPARE_FIGURE_CATEGORY,
                 row->id);
        tp_text_add(text, "  %-46s %s\n", path, row->caption);
    }
    for (const struct tp_replay_figure_info *row = tp_replay_figure_table;
         row->id; row++) {
        snprintf(path, sizeof path, "%s/%s", TP_REPLAY_FIGURE_CATEGORY,
                 row->id);
        tp_text_add(text, "  %-46s %s\n", path, row->caption);
    }
}

/* A rule, and its section of the guide. */
static void add_rule(const char *id, const char *help, const char *guide,
                     struct tp_text *text)
{
    tp_text_add(text, "  %-14s %s [tprof-guide: %s]\n", id, help, guide);
}

static void list_rules(struct tp_text *text)
{
    for (const struct tp_rule *rule = tp_rules; rule->id; rule++)
        add_rule(rule->id, rule->help, rule->guide, text);
    tp_text_add(text, "\nrules about two runs that are compared\n");
    for (int i = 0; i < TP_COMPARE_FINDING_IDS; i++)
        add_rule(tp_compare_rules[i].id, tp_compare_rules[i].help,
                 tp_compare_rules[i].guide, text);
    tp_text_add(text, "\nrules about traces\n");
    for (const struct tp_trace_rule *r = tp_trace_rules; r->id; r++)
        add_rule(r->id, r->help, r->guide, text);
    tp_text_add(text, "\nrules about two runs of traces\n");
    for (int i = 0; i < TP_TRACE_CHANGE_IDS; i++)
        add_rule(tp_trace_change_rules[i].id, tp_trace_change_rules[i].help,
                 tp_trace_change_rules[i].guide, text);
    tp_text_add(text, "\nchecks of dumps of msprobe\n");
    for (int i = 0; i < TP_DUMP_CHECKS; i++)
        add_rule(tp_dump_checks[i].rule.id, tp_dump_checks[i].rule.help,
                 tp_dump_checks[i].rule.guide, text);
    tp_text_add(text, "\nrules about operators that are computed again\n");
    for (int i = 0; i < TP_REPLAY_FINDING_IDS; i++)
        add_rule(tp_replay_rules[i].id, tp_replay_rules[i].help,
                 tp_replay_rules[i].guide, text);
    tp_text_add(text, "\nverdicts about traces, the first that holds\n");
    for (const struct tp_trace_verdict_info *v = tp_trace_verdict_table; v->id;
         v++)
        tp_text_add(text, "  %-16s %s\n", v->id, v->help);
    tp_text_add(text, "\nthresholds about traces, --threshold NAME=VALUE\n");
    for (int i = 0; i < TP_TRACE_LIMITS; i++) {
        const struct tp_trace_limit_info *limit = &tp_trace_limit_table[i];
        tp_text_add(text, "  %-16s %5g %-2s  %s [%s]\n", limit->name,
                    limit->value, limit->unit, limit->help, limit->source);
    }
}

/* The patterns that damaged elements form, and what each is likely of. */
static void list_damage(struct tp_text *text)
{
    for (const struct tp_damage_info *row = tp_damage_shapes; row->id; row++) {
        tp_text_add(text, "  %-13s %s", row->id, row->help);
        if (*row->cause)
            tp_text_add(text, "\n  %13s %s", "", row->cause);
        tp_text_add(text, "\n");
    }
}

/* Names, how positional arguments are read, which are parameters, and whether
 * gradients are replayed. */
static void list_ops(struct tp_text *text)
{
    for (const struct tp_operator *row = tp_operators; row->names; row++)
        tp_text_add(text, "  %s: %s%s%s%s%s\n", row->names,
                    row->run          ? row->signature
                    : *row->signature ? "random, not judged"
                                      : "not set, not judged",
                    row->run && *row->parameters ? " [parameters: " : "",
                    row->run ? row->parameters : "",
                    row->run && *row->parameters ? "]" : "",
                    row->run && !row->back ? " (forward only)" : "");
}

static void list_checks(struct tp_text *text)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++)
        tp_text_add(text, "  %-30s %-6s %s [tprof-guide: %s]\n", rule->id,
                    tp_severity_name(rule->severity), rule->help, rule->guide);
}

/* Patterns, and what matches them is. */
static void add_patterns(const char *what, const char *where, const char *words,
                         const char *example, struct tp_text *text)
{
    tp_text_add(text, "  %-14s %-25s %s%s%s\n", what, where, words,
                *example ? "; as in " : "", example);
}

/* How keys of checkpoints, files and directories become labels. */
static void list_names(struct tp_text *text)
{
    tp_text_add(text, "layer types by the words of a key, the first that "
                      "holds; else the last word of the module\n");
    for (const struct tp_param_pattern *row = tp_param_patterns; row->type;
         row++)
        add_patterns(row->type, tp_param_place_word(row->place), row->words,
                     row->example, text);
    tp_text_add(text, "\nroles (component) by the parameter, or by the state "
                      "of an optimizer; the first that holds\n");
    for (const struct tp_param_role *row = tp_param_roles; row->component;
         row++)
        add_patterns(row->component, row->state ? "a state" : "the parameter",
                     row->words, row->example, text);
    tp_text_add(text, "\nwords that are no part of a module\n");
    add_patterns("wrappers", "everywhere", tp_param_wrappers.everywhere, "",
                 text);
    add_patterns("wrappers", "in front", tp_param_wrappers.front, "", text);
    tp_text_add(text, "\nsteps and ranks by names of files and directories: S "
                      "step, E epoch, R rank, T P X D\nranks of tensors, "
                      "pipeline, experts, data, N another number\n");
    for (const struct tp_place_pattern *row = tp_place_patterns; row->pattern;
         row++)
        tp_text_add(text, "  %-28s %-5s %-10s %s\n", row->pattern,
                    row->file ? "file" : "", row->directory ? "directory" : "",
                    row->help);
}

static void list_commands(struct tp_text *text)
{
    for (const struct tp_command *c = tp_commands; c->name; c++)
        tp_text_add(text, "  %-10s %s\n", c->name, c->help);
}

static void list_devices(struct tp_text *text)
{
    char reason[TP_DEVICE_REASON_MAX];
    int count = tp_device_count(reason);
    tp_text_add(text, "  %-10s this machine's processors\n", "cpu");
    if (count == 0)
        tp_text_add(text, "  %-10s none: %s\n", "cuda", reason);
    for (int i = 0; i < count; i++) {
        struct tp_device device;
        if (tp_device_describe(i, &device) == 0)
            tp_text_add(text,
                        "  cuda:%-5d %s, %.1f GB, compute capability "
                        "%d.%d; %s\n",
                        i, device.name, (double)device.memory * 1e-9,
                        device.major, device.minor,
                        i > 0            ? "not used: the first one is"
                        : TP_DEVICE_AUTO ? "used by --device auto"
                                         : "used by --device cuda; not by "
                                           "auto: its start takes longer "
                                           "than most runs");
    }
}

/* A roof that a device has; else "-". */
static void add_peak(double peak, struct tp_text *text)
{
    if (peak > 0)
        tp_text_add(text, " %7.6g", peak);
    else
        tp_text_add(text, " %7s", "-");
}

static void list_gpus(struct tp_text *text)
{
    tp_text_add(text, "  dense TFLOP/s; vector: fp32 outside of tensor cores\n"
                      "  %-15s", "name");
    for (int i = TP_PRECISION_FP64; i <= TP_PRECISION_INT8; i++)
        tp_text_add(text, " %7s", tp_precision_word((enum tp_precision)i));
    tp_text_add(text, " %7s %7s  source\n", "vector", "GB/s");
    for (const struct tp_device_roof *row = tp_device_roofs; row->name; row++) {
        tp_text_add(text, "  %-15s", row->name);
        for (int i = TP_PRECISION_FP64; i <= TP_PRECISION_INT8; i++)
            add_peak(row->tflops[i], text);
        add_peak(row->vector_tflops, text);
        add_peak(row->gbps, text);
        tp_text_add(text, "  %s\n", row->source);
    }
}

/* What can be listed, in the order it is. */
static const struct {
    const char *name;
    void (*list)(struct tp_text *text);
} tables[] = {
    {"formats", list_formats}, {"stats", list_stats},
    {"dtypes", list_dtypes},   {"figures", list_figures},
    {"rules", list_rules},     {"checks", list_checks},
    {"damage", list_damage},   {"ops", list_ops},
    {"names", list_names},     {"commands", list_commands},
    {"devices", list_devices}, {"gpus", list_gpus},
};

enum { TABLES = sizeof tables / sizeof *tables };

/* Whether the user asked for a table: by name, or by naming none. */
static bool is_wanted(const struct tp_options *options, const char *name)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (!strcmp(options->inputs[i], name))
            return true;
    }
    return options->input_count == 0;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < TABLES; i++) {
        if (!strcmp(tables[i].name, name))
            return true;
    }
    return false;
}

int tp_cmd_list(const struct tp_options *options, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct tp_text text = {0};
    for (size_t i = 0; i < options->input_count; i++) {
        if (is_known(options->inputs[i]))
            continue;
        struct tp_error err = {0};
        tp_fail(&err, TP_E_USAGE, -1,
                "no table \"%s\"; there are: formats "
                "stats dtypes figures rules checks damage ops names commands "
                "devices gpus",
                options->inputs[i]);
        tp_print_error(&err);
        return TP_EXIT_USAGE;
    }
    for (size_t i = 0; i < TABLES; i++) {
        if (!is_wanted(options, tables[i].name))
            continue;
        if (options->input_count != 1)
            tp_text_add(&text, "%s%s\n", text.length ? "\n" : "",
                        tables[i].name);
        tables[i].list(&text);
    }
    return tp_print(&text) ? TP_EXIT_OK : TP_EXIT_FAILED;
}
