/* SPDX-License-Identifier: MIT */
/*
 * The command line from one table. An option's row holds its name, its kind,
 * the choices with the enum members they mean (the enum's own list of words
 * where it has one), bounds, default and help, and the place of its value;
 * parsing, checks and their messages, defaults and --help iterate over the
 * rows. Defaults are texts and go through the same checks as what a user
 * gives. getopt_long() would parse as well, but knows neither values nor
 * bounds, so that each option would need a case besides its row; and it takes
 * unique prefixes, which would break scripts when an option is added. Cost: a
 * look through the table for each argument.
 */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/pool.h"
#include "data/severity.h"
#include "tensors/cast_plan.h"
#include "trace/trace_rows.h"

#define AT(member) offsetof(struct tp_options, member)

/* Choices are stored as the int that an enum is. */
_Static_assert(sizeof(enum tp_scale_rule) == sizeof(int), "an enum is an int");

static const char *const axes[] = {"0", "1", "2", "3", NULL};
static const char *const devices[] = {"auto", "cpu", "cuda", NULL};
static const struct tp_option_choice dims_modes[] = {{"worst", TP_DIMS_WORST},
                                                     {"all", TP_DIMS_ALL},
                                                     {"none", TP_DIMS_NONE},
                                                     {NULL, 0}};
static const struct tp_option_choice group_choices[] = {
    {"none", TP_GROUP_NONE},
    {"shape", TP_GROUP_SHAPE},
    {"stack", TP_GROUP_STACK},
    {"module", TP_GROUP_MODULE},
    {NULL, 0}};
static const char *const forms[] = {"text", "json", NULL};
static const char *const check_forms[] = {"text", "json", "sarif", NULL};
static const char *const pairs_modes[] = {"all", "base", "none", NULL};

#define KIND(word, member) .kind = TP_OPTION_##word, .offset = AT(member)
#define FLAG(member) KIND(FLAG, member)
#define TEXT(member, word) KIND(TEXT, member), .argument = word
#define CHOICE(member, list) KIND(CHOICE, member), .choices = list
#define WORDS(member, list) KIND(CHOICE, member), .words = list
#define NUMBER(word, unit, member, low, high) \
    KIND(word, member), .argument = unit, .least = low, .most = high

/* A count of iterations may be what any run has. */
#define ITERATIONS(member) \
    NUMBER(COUNT, "N", member, 1, (double)TP_LIMIT_ITERATIONS)

enum {
    FOR_DUMPS = TP_FOR_TENSORS | TP_FOR_INSPECT,
    FOR_ROWS = TP_FOR_TENSORS | TP_FOR_MERGE,
    FOR_MSPROBE = TP_FOR_DUMP | TP_FOR_COMPARE | TP_FOR_REPLAY,
    FOR_FIGURES = TP_FOR_TENSORS | TP_FOR_TRACE | TP_FOR_DUMP | TP_FOR_COMPARE |
                  TP_FOR_REPLAY | TP_FOR_MERGE
};

const struct tp_option tp_option_table[] = {
    {.name = "alert_window",
     ITERATIONS(alert_window),
     .initial = "50",
     .help = "alarms within so many iterations are one",
     .commands = FOR_ROWS},
    {.name = "annotate",
     TEXT(annotate, "FILE"),
     .help = "write the trace again, with what was found in it",
     .commands = TP_FOR_TRACE},
    {.name = "autodiff",
     FLAG(autodiff),
     .help = "compute operators again, to tell which one adds error",
     .commands = TP_FOR_COMPARE},
    {.name = "backward_format",
     TEXT(backward_format, "ID"),
     .help = "number format of backward tensors in MX runs",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "baseline",
     WORDS(baseline, tp_baseline_method_words),
     .initial = "retro",
     .help = "how the usual level of a number is found",
     .commands = FOR_ROWS},
    {.name = "block_axis",
     WORDS(block_axis, axes),
     .initial = "0",
     .help = "axis of blocks, counted from the last",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "compare",
     FLAG(compare),
     .help = "compare two traces or directories",
     .commands = TP_FOR_TRACE},
    {.name = "compat",
     WORDS(compat, tp_perturb_compat_words),
     .initial = "none",
     .help = "whose rules free_benchmark.csv follows",
     .commands = TP_FOR_REPLAY},
    {.name = "config",
     TEXT(config, "FILE"),
     .help = "config.json of msprobe's free_benchmark",
     .commands = TP_FOR_REPLAY},
    {.name = "crc_from",
     TEXT(crc_from, "DUMP"),
     .help = "dump whose CRC-32s the tensors should have, too",
     .commands = TP_FOR_DUMP},
    {.name = "device",
     WORDS(device, devices),
     .initial = "auto",
     .help = "where to compute",
     .commands = FOR_DUMPS},
    {.name = "device_memory",
     NUMBER(BYTES, "BYTES[K|M|G]", device_memory, 1, 0x1p40),
     .shown = "half of what is free",
     .help = "memory to use on the device",
     .commands = FOR_DUMPS},
    {.name = "dims",
     CHOICE(dims, dims_modes),
     .initial = "worst",
     .help = "statistics by index that are kept",
     .commands = TP_FOR_TENSORS,
     .shapes = true},
    {.name = "fail_on",
     WORDS(fail_on, tp_severity_words),
     .initial = "none",
     .help = "exit 1 when a finding is at least this severe",
     .commands = FOR_FIGURES | TP_FOR_CHECK},
    {.name = "format",
     WORDS(format, forms),
     .initial = "text",
     .help = "form of the result on stdout",
     .commands = FOR_FIGURES | TP_FOR_INSPECT},
    {.name = "format",
     WORDS(format, check_forms),
     .initial = "text",
     .help = "form of the result on stdout",
     .commands = TP_FOR_CHECK},
    {.name = "formats",
     TEXT(formats, "LIST"),
     .initial = TP_QUANT_FORMATS,
     .shown = "the common ones",
     .help = "number formats to simulate, or none",
     .commands = TP_FOR_TENSORS,
     .shapes = true},
    {.name = "fuzz_device",
     TEXT(fuzz_device, "npu|cpu"),
     .shown = "npu",
     .help = "cpu: only with the mode to_cpu",
     .commands = TP_FOR_REPLAY},
    {.name = "fuzz_level",
     TEXT(fuzz_level, "L1"),
     .shown = "L1",
     .help = "calls of operators",
     .commands = TP_FOR_REPLAY},
    {.name = "fuzz_stage",
     TEXT(fuzz_stage, "forward|backward"),
     .shown = "forward",
     .help = "which calls are perturbed",
     .commands = TP_FOR_REPLAY},
    {.name = "fuzzy_match",
     FLAG(fuzzy_match),
     .help = "match names without the numbers of calls",
     .commands = TP_FOR_COMPARE},
    {.name = "gpu",
     TEXT(gpu, "NAME"),
     .shown = "by the trace",
     .help = "device of 'list gpus' for the roofs",
     .commands = TP_FOR_TRACE,
     .shapes = true},
    {.name = "group_by",
     CHOICE(group_by, group_choices),
     .initial = "none",
     .help = "tables of operators by this, too",
     .commands = TP_FOR_TRACE,
     .shapes = true},
    {.name = "handler_type",
     TEXT(handler_type, "check|fix"),
     .shown = "check",
     .help = "what is done with perturbed results",
     .commands = TP_FOR_REPLAY},
    {.name = "help",
     FLAG(help),
     .help = "show this help",
     .commands = TP_FOR_ALL},
    {.name = "if_preheat",
     FLAG(if_preheat),
     .help = "find thresholds in the first steps of the dump",
     .commands = TP_FOR_REPLAY},
    {.name = "ignore",
     TEXT(ignore, "LIST"),
     .help = "rules of 'list checks' to leave out",
     .commands = TP_FOR_CHECK},
    {.name = "include_tests",
     FLAG(include_tests),
     .help = "check tests, too: tests/, test_*.py, *_test.py",
     .commands = TP_FOR_CHECK},
    {.name = "jobs",
     NUMBER(COUNT, "N", jobs, 1, TP_LIMIT_JOBS),
     .shown = "one per processor",
     .help = "threads to use",
     .commands = FOR_FIGURES | TP_FOR_INSPECT | TP_FOR_CHECK},
    {.name = "lang",
     WORDS(lang, tp_check_lang_words),
     .initial = "en",
     .help = "language of findings in scripts",
     .commands = TP_FOR_CHECK},
    {.name = "list",
     TEXT(list, "LIST"),
     .shown = "all",
     .help = "calls whose names have one of these parts",
     .commands = TP_FOR_REPLAY},
    {.name = "map",
     TEXT(map, "FILE"),
     .help = "what names of A are in B, as LEFT: RIGHT",
     .commands = TP_FOR_COMPARE},
    {.name = "match",
     WORDS(match, tp_compare_by_words),
     .initial = "name",
     .help = "how tensors of A and B find each other",
     .commands = TP_FOR_COMPARE},
    {.name = "max_sample",
     NUMBER(COUNT, "N", max_sample, 1, 1e9),
     .shown = "20",
     .help = "calls of an operator that a step samples",
     .commands = TP_FOR_REPLAY},
    /* percent */
    {.name = "max_underflow",
     NUMBER(REAL, "PERCENT", max_underflow, 0, 100),
     .initial = "1",
     .help = "underflow that a recommended format may have",
     .commands = FOR_ROWS},
    {.name = "memory_limit",
     NUMBER(BYTES, "BYTES[K|M|G]", memory_limit, 1, 0x1p60),
     .shown = "3/4 of what there is",
     .help = "memory to take at most",
     .commands = TP_FOR_ALL},
    /* dB are beyond any use at 1000 */
    {.name = "min_sqnr",
     NUMBER(REAL, "DB", min_sqnr, 0, 1000),
     .initial = "20",
     .help = "SQNR that a recommended format must reach",
     .commands = FOR_ROWS},
    {.name = "mode",
     WORDS(compare_mode, tp_compare_mode_words),
     .initial = "auto",
     .help = "what is compared",
     .commands = TP_FOR_COMPARE},
    {.name = "mx_nonfinite",
     WORDS(mx_nonfinite, tp_nonfinite_words),
     .initial = "block",
     .help = "what a NaN or Inf makes of its block",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "mx_scale",
     WORDS(mx_scale, tp_scale_rule_words),
     .initial = "floor",
     .help = "rule for MX block scales",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "no_html",
     FLAG(no_html),
     .help = "write no HTML report",
     .commands = FOR_FIGURES | TP_FOR_CHECK},
    {.name = "no_plots",
     FLAG(no_plots),
     .help = "make no figures",
     .commands = FOR_FIGURES},
    {.name = "no_sandbox",
     FLAG(no_sandbox),
     .help = "read with all rights, to look for errors",
     .commands = TP_FOR_ALL & ~TP_FOR_LIST},
    {.name = "output_dir",
     TEXT(output_dir, "DIR"),
     .initial = "./draw",
     .help = "where results are written",
     .commands = FOR_FIGURES},
    {.name = "output_dir",
     TEXT(output_dir, "DIR"),
     .help = "where an HTML report is written, too",
     .commands = TP_FOR_CHECK},
    {.name = "output_json",
     TEXT(output_json, "FILE"),
     .help = "write the metrics of the run as JSON, too",
     .commands = TP_FOR_TRACE},
    {.name = "pairs",
     WORDS(pairs, pairs_modes),
     .initial = "all",
     .help = "quant types compared by element",
     .commands = FOR_ROWS},
    {.name = "parts",
     FLAG(parts),
     .help = "rows for parts of tensors in several files, too",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "peak",
     TEXT(peaks, "NAME=VALUE"),
     .help = "a roof of the GPU: TFLOP/s or GB/s; may be repeated",
     .commands = TP_FOR_TRACE,
     .shapes = true},
    {.name = "pert_mode",
     TEXT(pert_mode, "LIST"),
     .shown = "improve_precision",
     .help = "perturbations, or all",
     .commands = TP_FOR_REPLAY},
    {.name = "plot_format",
     WORDS(plot_format, tp_plot_format_words),
     .initial = "png",
     .help = "kind of picture",
     .commands = FOR_FIGURES},
    {.name = "preheat_step",
     NUMBER(COUNT, "N", preheat_step, 2, 1e9),
     .shown = "15",
     .help = "steps that thresholds are found in",
     .commands = TP_FOR_REPLAY},
    {.name = "quiet",
     FLAG(quiet),
     .help = "no summary, no progress, no warnings",
     .commands = TP_FOR_ALL},
    {.name = "rank",
     TEXT(ranks, "LIST"),
     .shown = "all",
     .help = "ranks to read, as 0,2,8-11",
     .commands = FOR_MSPROBE},
    {.name = "recover",
     FLAG(recover),
     .help = "use names of files where dump.json is lost",
     .commands = FOR_MSPROBE},
    {.name = "reduce_dtype",
     WORDS(reduce_dtype, tp_dim_reduce_words),
     .initial = "stored",
     .help = "dtype of sums that the risk of axes is for",
     .commands = FOR_DUMPS,
     .shapes = true},
    {.name = "rounding",
     WORDS(rounding, tp_rounding_words),
     .initial = "ta",
     .help = "how HiF8 rounds",
     .commands = TP_FOR_TENSORS,
     .shapes = true},
    /* within one spread is where values belong */
    {.name = "scope",
     TEXT(scope, "LIST"),
     .shown = "all",
     .help = "calls by their whole names",
     .commands = TP_FOR_REPLAY},
    {.name = "scripts",
     TEXT(scripts, "DIR"),
     .help = "scripts of the run, and what check says of them",
     .commands = TP_FOR_DUMP | TP_FOR_TENSORS | TP_FOR_TRACE},
    {.name = "select",
     TEXT(select, "LIST"),
     .shown = "all",
     .help = "rules of 'list checks' to apply",
     .commands = TP_FOR_CHECK},
    {.name = "sigma",
     NUMBER(REAL, "N", sigma, 1, 1000),
     .initial = "3",
     .help = "spreads that a value may be off its baseline",
     .commands = FOR_ROWS},
    {.name = "sort",
     TEXT(sort, "COLUMN"),
     .shown = "self CUDA time",
     .help = "column that orders the operators",
     .commands = TP_FOR_TRACE | TP_FOR_MERGE},
    {.name = "stack_depth",
     NUMBER(COUNT, "N", stack_depth, 1, 1000),
     .initial = "5",
     .help = "frames that --group_by stack tells apart",
     .commands = TP_FOR_TRACE,
     .shapes = true},
    {.name = "state",
     TEXT(state, "FILE"),
     .help = "keep what was read, and read only what is new",
     .commands = TP_FOR_TENSORS | TP_FOR_TRACE},
    {.name = "state_every",
     NUMBER(REAL, "SECONDS", state_every, 0, 86400),
     .initial = "30",
     .help = "how often the state is written meanwhile",
     .commands = TP_FOR_TENSORS | TP_FOR_TRACE},
    {.name = "step",
     TEXT(steps, "LIST"),
     .shown = "all",
     .help = "steps to read, as 0,2,8-11",
     .commands = FOR_MSPROBE},
    {.name = "target",
     WORDS(target, tp_check_target_words),
     .initial = "all",
     .help = "precision that scripts are checked for",
     .commands = TP_FOR_CHECK},
    {.name = "tensor_dir",
     TEXT(inputs, "DIR"),
     .shown = "$" TP_INPUT_VARIABLE,
     .help = "directory of dumps; repeatable",
     .commands = TP_FOR_TENSORS},
    {.name = "threshold",
     TEXT(thresholds, "NAME=VALUE"),
     .help = "change a threshold of 'list rules'; may be repeated",
     .commands = TP_FOR_TRACE | TP_FOR_MERGE},
    {.name = "top",
     NUMBER(COUNT, "N", top, 1, 1000000),
     .initial = "10",
     .help = "operators and kernels to list",
     .commands = TP_FOR_TRACE | TP_FOR_MERGE},
    {.name = "trace_dir",
     TEXT(inputs, "DIR"),
     .help = "directory with profiler traces; may be repeated",
     .commands = TP_FOR_TRACE},
    {.name = "verbose",
     FLAG(verbose),
     .help = "list everything, not only the worst",
     .commands = TP_FOR_ALL},
    {.name = "verify",
     WORDS(verify, tp_dump_verify_words),
     .initial = "all",
     .help = "what files of tensors are read for",
     .commands = TP_FOR_DUMP},
    {.name = "version",
     FLAG(version),
     .help = "show the version",
     .commands = TP_FOR_ALL},
    /* up to a week */
    {.name = "wait",
     NUMBER(REAL, "SECONDS", wait, 0, 604800),
     .initial = "0",
     .help = "wait so long for a run that still writes",
     .commands = TP_FOR_TENSORS},
    {.name = "warmup_steps",
     ITERATIONS(warmup_steps),
     .initial = "100",
     .help = "iterations an online baseline is made from",
     .commands = FOR_ROWS},
    {.name = NULL},
};

_Static_assert(sizeof tp_option_table / sizeof *tp_option_table <=
                   TP_OPTIONS_MOST,
               "each row has a place in given[]");

/* Not in the help: the manual's check asks for the table's names. */
static const struct tp_option dump_options = {
    .name = "dump_options", FLAG(dump_options), .commands = TP_FOR_ALL};

static bool same_name(const char *name, const char *given, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = given[i] == '-' ? '_' : given[i];
        if (name[i] != c) /* also where name ends */
            return false;
    }
    return name[length] == '\0';
}

/* A name may have a row for some commands and one for others. */
static const struct tp_option *find(const char *given, size_t length,
                                    unsigned command)
{
    const struct tp_option *found = NULL;
    if (same_name(dump_options.name, given, length))
        return &dump_options;
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (same_name(row->name, given, length) &&
            (!found || (row->commands & command)))
            found = row;
    }
    return found;
}

static enum tp_status add_input(struct tp_options *options, const char *path,
                                struct tp_error *err)
{
    if (!*path)
        return tp_fail(err, TP_E_USAGE, -1, "a directory name is empty");
    enum tp_status status =
        tp_grow(&options->inputs, &options->input_capacity,
                options->input_count + 1, sizeof *options->inputs, err);
    if (status == TP_OK)
        options->inputs[options->input_count++] = path;
    return status;
}

static enum tp_status add_setting(struct tp_option_settings *list,
                                  const char *setting, struct tp_error *err)
{
    enum tp_status status = tp_grow(&list->texts, &list->capacity,
                                    list->count + 1, sizeof *list->texts, err);
    if (status == TP_OK)
        list->texts[list->count++] = setting;
    return status;
}

static enum tp_status set_text(struct tp_options *options,
                               const struct tp_option *row, const char *value,
                               struct tp_error *err)
{
    if (row->offset == AT(inputs))
        return add_input(options, value, err);
    if (row->offset == AT(thresholds))
        return add_setting(&options->thresholds, value, err);
    if (row->offset == AT(peaks))
        return add_setting(&options->peaks, value, err);
    if (!*value)
        return tp_fail(err, TP_E_USAGE, -1, "--%s is empty", row->name);
    memcpy((char *)options + row->offset, &value, sizeof value);
    return TP_OK;
}

static enum tp_status set_value(struct tp_options *options,
                                const struct tp_option *row, const char *value,
                                struct tp_error *err)
{
    return row->kind == TP_OPTION_TEXT
               ? set_text(options, row, value, err)
               : tp_option_set((char *)options + row->offset, row, value, err);
}

/* One "--name", "--name=value" or "--name value"; *index is moved on. */
static enum tp_status parse_option(int count, char **arguments, int *index,
                                   unsigned command, struct tp_options *options,
                                   struct tp_error *err)
{
    const char *given = arguments[*index];
    const char *name = !strcmp(given, "-h") ? "help" : given + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    bool is_long = !strncmp(given, "--", 2) || !strcmp(given, "-h");
    const struct tp_option *row = is_long ? find(name, length, command) : NULL;
    if (!row || !(row->commands & command))
        return tp_fail(err, TP_E_USAGE, -1, "%s option %s",
                       row ? "this command does not take the" : "unknown",
                       given);
    if (row != &dump_options)
        options->given[row - tp_option_table] = true;
    if (row->kind == TP_OPTION_FLAG) {
        if (equals)
            return tp_fail(err, TP_E_USAGE, -1, "--%s takes no value",
                           row->name);
        return set_value(options, row, "", err);
    }
    if (!equals && *index + 1 >= count)
        return tp_fail(err, TP_E_USAGE, -1, "--%s needs a value", row->name);
    return set_value(options, row, equals ? equals + 1 : arguments[++*index],
                     err);
}

/* The defaults are given as a user would, and pass the same checks. */
static enum tp_status set_defaults(struct tp_options *options,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *options = (struct tp_options){0};
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (row->initial && status == TP_OK)
            status = set_value(options, row, row->initial, err);
    }
    return status;
}

/* Without any input: what tensor_saver was told, if it was. */
static enum tp_status add_default_input(unsigned command,
                                        struct tp_options *options,
                                        struct tp_error *err)
{
    const char *path = getenv(TP_INPUT_VARIABLE);
    if (command != TP_FOR_TENSORS || options->input_count || !path || !*path)
        return TP_OK;
    options->input_from_environment = true;
    return add_input(options, path, err);
}

enum tp_status tp_options_parse(int count, char **arguments, unsigned command,
                                struct tp_options *options,
                                struct tp_error *err)
{
    enum tp_status status = set_defaults(options, err);
    bool only_inputs = false;
    for (int i = 0; i < count && status == TP_OK; i++) {
        const char *given = arguments[i];
        if (!only_inputs && !strcmp(given, "--"))
            only_inputs = true;
        else if (!only_inputs && given[0] == '-' && given[1])
            status = parse_option(count, arguments, &i, command, options, err);
        else
            status = add_input(options, given, err);
    }
    return status == TP_OK ? add_default_input(command, options, err) : status;
}

/* A value, or several of a list, with blanks between. */
static enum tp_status take_value(struct tp_options *options,
                                 const struct tp_option *row, char *value,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    while (row->offset == AT(peaks) && strchr(value, ' ') && status == TP_OK) {
        char *end = strchr(value, ' ');
        *end = '\0';
        status = set_value(options, row, value, err);
        value = end + 1;
    }
    return status == TP_OK ? set_value(options, row, value, err) : status;
}

enum tp_status tp_options_take(struct tp_options *options, unsigned command,
                               char *lines, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (char *at = lines, *end; (end = strchr(at, '\n')) && status == TP_OK;
         at = end + 1) {
        *end = '\0';
        char *value = at + strcspn(at, "=");
        const struct tp_option *row = find(at, (size_t)(value - at), command);
        value += *value == '=';
        if (!row || !row->shapes || !(row->commands & command))
            status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                             "made with an option that is not known: %s", at);
        else if (row->kind == TP_OPTION_FLAG)
            *(bool *)((char *)options + row->offset) = !strcmp(value, "yes");
        else if (*value)
            status = take_value(options, row, value, err);
    }
    return status;
}

void tp_options_clear(struct tp_options *options)
{
    free(options->inputs);
    free(options->thresholds.texts);
    free(options->peaks.texts);
    memset(options, 0, sizeof *options);
}

bool tp_options_given(const struct tp_options *options, const char *name)
{
    for (size_t i = 0; tp_option_table[i].name; i++) {
        if (options->given[i] && !strcmp(tp_option_table[i].name, name))
            return true;
    }
    return false;
}

unsigned tp_options_jobs(const struct tp_options *options)
{
    return options->jobs ? (unsigned)options->jobs : tp_pool_processors();
}
