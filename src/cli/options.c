/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/pool.h"
#include "tensors/cast_plan.h"

#define AT(member) offsetof(struct tp_options, member)

const struct tp_option tp_option_table[] = {
    {"alert_window", "N", NULL, "50",
     "alarms within so many iterations are one", TP_OPTION_COUNT,
     TP_FOR_TENSORS, AT(alert_window)},
    {"backward_format", "ID", NULL, NULL,
     "number format of backward tensors in MX runs", TP_OPTION_TEXT,
     TP_FOR_TENSORS | TP_FOR_INSPECT, AT(backward_format)},
    {"baseline", NULL, "online|retro", "retro",
     "how the usual level of a number is found", TP_OPTION_CHOICE,
     TP_FOR_TENSORS, AT(baseline)},
    {"block_axis", NULL, "0|1|2|3", "0",
     "axis of blocks, counted from the last", TP_OPTION_CHOICE,
     TP_FOR_TENSORS | TP_FOR_INSPECT, AT(block_axis)},
    {"compare", NULL, NULL, NULL, "compare two traces or directories",
     TP_OPTION_FLAG, TP_FOR_TRACE, AT(compare)},
    {"device", NULL, "auto|cpu|cuda", "auto", "where to compute",
     TP_OPTION_CHOICE, TP_FOR_TENSORS | TP_FOR_INSPECT, AT(device)},
    {"device_memory", "BYTES[K|M|G]", NULL, "half of what is free",
     "memory to use on the device", TP_OPTION_BYTES,
     TP_FOR_TENSORS | TP_FOR_INSPECT, AT(device_memory)},
    {"dims", NULL, "worst|all|none", "worst",
     "statistics by index that are kept", TP_OPTION_CHOICE, TP_FOR_TENSORS,
     AT(dims)},
    {"fail_on", NULL, "none|low|medium|high", "none",
     "exit 1 when a finding is at least this severe", TP_OPTION_CHOICE,
     TP_FOR_TENSORS | TP_FOR_TRACE, AT(fail_on)},
    {"format", NULL, "text|json", "text", "form of the result on stdout",
     TP_OPTION_CHOICE, TP_FOR_TENSORS | TP_FOR_INSPECT | TP_FOR_TRACE,
     AT(format)},
    {"formats", "LIST", NULL, "the common ones",
     "number formats to simulate, or none", TP_OPTION_TEXT, TP_FOR_TENSORS,
     AT(formats)},
    {"help", NULL, NULL, NULL, "show this help", TP_OPTION_FLAG, TP_FOR_ALL,
     AT(help)},
    {"jobs", "N", NULL, "one per processor", "threads to use", TP_OPTION_COUNT,
     TP_FOR_TENSORS | TP_FOR_INSPECT | TP_FOR_TRACE, AT(jobs)},
    {"max_underflow", "PERCENT", NULL, "1",
     "underflow that a recommended format may have", TP_OPTION_REAL,
     TP_FOR_TENSORS, AT(max_underflow)},
    {"min_sqnr", "DB", NULL, "20", "SQNR that a recommended format must reach",
     TP_OPTION_REAL, TP_FOR_TENSORS, AT(min_sqnr)},
    {"mx_nonfinite", NULL, "block|elem", "block",
     "what a NaN or Inf makes of its block", TP_OPTION_CHOICE, TP_FOR_TENSORS,
     AT(mx_nonfinite)},
    {"mx_scale", NULL, "floor|ceil|even|rceil|rceil_f32", "floor",
     "rule for MX block scales", TP_OPTION_CHOICE,
     TP_FOR_TENSORS | TP_FOR_INSPECT, AT(mx_scale)},
    {"no_plots", NULL, NULL, NULL, "make no figures", TP_OPTION_FLAG,
     TP_FOR_TENSORS | TP_FOR_TRACE, AT(no_plots)},
    {"output_dir", "DIR", NULL, "./draw", "where results are written",
     TP_OPTION_TEXT, TP_FOR_TENSORS | TP_FOR_TRACE, AT(output_dir)},
    {"output_json", "FILE", NULL, NULL,
     "write the metrics of the run as JSON, too", TP_OPTION_TEXT, TP_FOR_TRACE,
     AT(output_json)},
    {"plot_format", NULL, "png|svg|pdf", "png", "kind of picture",
     TP_OPTION_CHOICE, TP_FOR_TENSORS | TP_FOR_TRACE, AT(plot_format)},
    {"quiet", NULL, NULL, NULL, "no summary, no progress, no warnings",
     TP_OPTION_FLAG, TP_FOR_ALL, AT(quiet)},
    {"rounding", NULL, "ta|ta_sat|te|hybrid", "ta", "how HiF8 rounds",
     TP_OPTION_CHOICE, TP_FOR_TENSORS, AT(rounding)},
    {"sigma", "N", NULL, "3",
     "spreads that a value may be off its baseline", TP_OPTION_REAL,
     TP_FOR_TENSORS, AT(sigma)},
    {"sort", "COLUMN", NULL, "self CUDA time",
     "column that orders the operators", TP_OPTION_TEXT, TP_FOR_TRACE,
     AT(sort)},
    {"tensor_dir", "DIR", NULL, NULL,
     "directory with dumped tensors; may be repeated", TP_OPTION_TEXT,
     TP_FOR_TENSORS, AT(tensor_dir)},
    {"threshold", "NAME=VALUE", NULL, NULL,
     "change a threshold of 'list rules'; may be repeated", TP_OPTION_TEXT,
     TP_FOR_TRACE, AT(thresholds)},
    {"top", "N", NULL, "10", "operators and kernels to list", TP_OPTION_COUNT,
     TP_FOR_TRACE, AT(top)},
    {"verbose", NULL, NULL, NULL, "list everything, not only the worst",
     TP_OPTION_FLAG, TP_FOR_ALL, AT(verbose)},
    {"version", NULL, NULL, NULL, "show the version", TP_OPTION_FLAG,
     TP_FOR_ALL, AT(version)},
    {"warmup_steps", "N", NULL, "100",
     "iterations an online baseline is made from",
     TP_OPTION_COUNT, TP_FOR_TENSORS, AT(warmup_steps)},
    {NULL, NULL, NULL, NULL, NULL, TP_OPTION_FLAG, 0, 0},
};

/* Not in the help: the manual's check asks for the table's names. */
static const struct tp_option dump_options = {
    "dump_options", NULL,           NULL,       NULL,
    NULL,           TP_OPTION_FLAG, TP_FOR_ALL, AT(dump_options)};

static bool same_name(const char *name, const char *given, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = given[i] == '-' ? '_' : given[i];
        if (name[i] != c) /* also where name ends */
            return false;
    }
    return name[length] == '\0';
}

static const struct tp_option *find(const char *given, size_t length)
{
    if (same_name(dump_options.name, given, length))
        return &dump_options;
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (same_name(row->name, given, length))
            return row;
    }
    return NULL;
}

static bool is_choice(const char *values, const char *given)
{
    size_t length = strlen(given);
    for (const char *v = values; length; v++) {
        size_t word = strcspn(v, "|");
        if (word == length && !strncmp(v, given, word))
            return true;
        v += word;
        if (!*v)
            break;
    }
    return false;
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

static enum tp_status add_threshold(struct tp_options *options,
                                    const char *setting, struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&options->thresholds, &options->threshold_capacity,
                options->threshold_count + 1, sizeof *options->thresholds, err);
    if (status == TP_OK)
        options->thresholds[options->threshold_count++] = setting;
    return status;
}

static enum tp_status set_count(void *slot, const struct tp_option *row,
                                const char *value, struct tp_error *err)
{
    /* iterations: what any run has; rows: as many as a table may have names */
    const uint64_t most = row->offset == AT(jobs)  ? TP_LIMIT_JOBS
                          : row->offset == AT(top) ? 1000000
                                                   : TP_LIMIT_ITERATIONS;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || number < 1 ||
        number > most)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes a number from 1 to %" PRIu64 ", not \"%s\"",
                       row->name, most, value);
    uint64_t count = number;
    memcpy(slot, &count, sizeof count);
    return TP_OK;
}

static enum tp_status set_real(void *slot, const struct tp_option *row,
                               const char *value, struct tp_error *err)
{
    /* percent; dB are beyond any use at 1000 */
    const double most = row->offset == AT(max_underflow) ? 100 : 1000;
    /* within one spread is where values belong */
    const double least = row->offset == AT(sigma) ? 1 : 0;
    char *end;
    double number = strtod(value, &end);
    bool plain = (*value >= '0' && *value <= '9') || *value == '.';
    if (!plain || *end || !(number >= least && number <= most))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes a number from %g to %g, not \"%s\"",
                       row->name, least, most, value);
    memcpy(slot, &number, sizeof number);
    return TP_OK;
}

static enum tp_status set_bytes(void *slot, const struct tp_option *row,
                                const char *value, struct tp_error *err)
{
    static const char units[] = "KMG"; /* 2^10, 2^20, 2^30 */
    const uint64_t most = UINT64_C(1) << 40;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (*value < '0' || *value > '9' || (*end && (!unit || end[1])) || errno ||
        number < 1 || number > most >> shift)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes bytes, as 800M or 2G, up to 1024G, not "
                       "\"%s\"",
                       row->name, value);
    uint64_t bytes = (uint64_t)number << shift;
    memcpy(slot, &bytes, sizeof bytes);
    return TP_OK;
}

static enum tp_status set_value(struct tp_options *options,
                                const struct tp_option *row, const char *value,
                                struct tp_error *err)
{
    void *slot = (char *)options + row->offset;
    if (row->kind == TP_OPTION_COUNT)
        return set_count(slot, row, value, err);
    if (row->kind == TP_OPTION_REAL)
        return set_real(slot, row, value, err);
    if (row->kind == TP_OPTION_BYTES)
        return set_bytes(slot, row, value, err);
    if (row->kind == TP_OPTION_CHOICE && !is_choice(row->values, value))
        return tp_fail(err, TP_E_USAGE, -1, "--%s takes %s, not \"%s\"",
                       row->name, row->values, value);
    if (row->offset == AT(tensor_dir))
        return add_input(options, value, err);
    if (row->offset == AT(thresholds))
        return add_threshold(options, value, err);
    if (!*value)
        return tp_fail(err, TP_E_USAGE, -1, "--%s is empty", row->name);
    memcpy(slot, &value, sizeof value);
    return TP_OK;
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
    const struct tp_option *row = is_long ? find(name, length) : NULL;
    if (!row || !(row->commands & command))
        return tp_fail(err, TP_E_USAGE, -1, "%s option %s",
                       row ? "this command does not take the" : "unknown",
                       given);
    if (row->kind == TP_OPTION_FLAG) {
        if (equals)
            return tp_fail(err, TP_E_USAGE, -1, "--%s takes no value",
                           row->name);
        *((bool *)((char *)options + row->offset)) = true;
        return TP_OK;
    }
    if (!equals && *index + 1 >= count)
        return tp_fail(err, TP_E_USAGE, -1, "--%s needs a value", row->name);
    return set_value(options, row, equals ? equals + 1 : arguments[++*index],
                     err);
}

enum tp_status tp_options_parse(int count, char **arguments, unsigned command,
                                struct tp_options *options,
                                struct tp_error *err)
{
    *options = (struct tp_options){.output_dir = "./draw",
                                   .device = "auto",
                                   .format = "text",
                                   .plot_format = "png",
                                   .fail_on = "none",
                                   .mx_scale = "floor",
                                   .mx_nonfinite = "block",
                                   .block_axis = "0",
                                   .formats = TP_QUANT_FORMATS,
                                   .dims = "worst",
                                   .rounding = "ta",
                                   .top = 10,
                                   .min_sqnr = 20,
                                   .max_underflow = 1,
                                   .baseline = "retro",
                                   .warmup_steps = 100,
                                   .alert_window = 50,
                                   .sigma = 3};
    enum tp_status status = TP_OK;
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
    return status;
}

void tp_options_clear(struct tp_options *options)
{
    free(options->inputs);
    free(options->thresholds);
    memset(options, 0, sizeof *options);
}

void tp_options_help(unsigned command, struct tp_text *text)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (!(row->commands & command))
            continue;
        char left[64];
        const char *value = row->values ? row->values : row->argument;
        snprintf(left, sizeof left, "--%s%s%s", row->name, value ? " " : "",
                 value ? value : "");
        tp_text_add(text, "  %-34s %s", left, row->help);
        if (row->initial)
            tp_text_add(text, " [%s]", row->initial);
        tp_text_add(text, "\n");
    }
}

unsigned tp_options_jobs(const struct tp_options *options)
{
    return options->jobs ? (unsigned)options->jobs : tp_pool_processors();
}
