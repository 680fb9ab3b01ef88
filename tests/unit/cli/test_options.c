/* SPDX-License-Identifier: MIT */
/* The command line: every row of the option table, and its mistakes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/option_help.h"
#include "cli/options.h"
#include "rules/findings.h"
#include "tensors/cast_plan.h"

static enum tp_status parse(const char *line, struct tp_options *options,
                            struct tp_error *err)
{
    static char copy[512];
    char *arguments[32];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        arguments[count++] = word;
    }
    return tp_options_parse(count, arguments, TP_FOR_TENSORS, options, err);
}

Test(options, rows_are_sorted_and_complete)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        cr_assert_not_null(row->help, "%s", row->name);
        cr_assert_neq(row->commands, 0);
        cr_assert_eq(row->kind == TP_OPTION_CHOICE, row->choices || row->words,
                     "%s", row->name);
        if (row[1].name) {
            int order = strcmp(row->name, row[1].name);
            bool apart = !(row->commands & row[1].commands);
            cr_assert(order < 0 || (order == 0 && apart), "%s", row->name);
        }
    }
}

/* check has a form that others have not. */
Test(options, rows_are_those_of_the_command)
{
    struct tp_options options;
    struct tp_error err = {0};
    char name[] = "--format", value[] = "sarif";
    char *sarif[] = {name, value};
    cr_expect_eq(tp_options_parse(2, sarif, TP_FOR_CHECK, &options, &err),
                 TP_OK);
    cr_expect_eq(options.format, TP_FORM_SARIF);
    cr_expect(tp_options_given(&options, "format"));
    cr_expect(!tp_options_given(&options, "lang"));
    tp_options_clear(&options);
    cr_expect_eq(tp_options_parse(2, sarif, TP_FOR_DUMP, &options, &err),
                 TP_E_USAGE);
    tp_options_clear(&options);
}

/* A choice means the enum member at its place in the enum's words. */
Test(options, choices_are_read)
{
    struct tp_options options;
    cr_assert_eq(parse("--mx_scale rceil --mx_nonfinite elem --rounding te "
                       "--plot_format pdf --fail_on medium --dims none "
                       "--reduce_dtype fp16",
                       &options, NULL),
                 TP_OK);
    cr_expect_eq(options.mx_scale, TP_SCALE_RCEIL);
    cr_expect_eq(options.mx_nonfinite, TP_NONFINITE_ELEMENT);
    cr_expect_eq(options.rounding, TP_ROUND_EVEN);
    cr_expect_eq(options.plot_format, TP_PLOT_PDF);
    cr_expect_eq(options.fail_on, TP_SEVERITY_MEDIUM);
    cr_expect_eq(options.dims, TP_DIMS_NONE);
    cr_expect_eq(options.reduce_dtype, TP_REDUCE_FP16);
    tp_options_clear(&options);
}

/* Defaults pass the checks that are made of what a user gives. */
Test(options, defaults_are_set)
{
    struct tp_options options;
    cr_assert_eq(parse("", &options, NULL), TP_OK);
    cr_expect_eq(options.sigma, 3);
    cr_expect_eq(options.top, 10);
    cr_expect_eq(options.min_sqnr, 20);
    cr_expect_eq(options.warmup_steps, 100);
    cr_expect_eq(options.alert_window, 50);
    cr_expect_eq(options.jobs, 0);
    cr_expect_eq(options.dims, TP_DIMS_WORST);
    cr_expect_eq(options.baseline, TP_BASELINE_RETRO);
    cr_expect_str_eq(options.output_dir, "./draw");
    cr_expect_str_eq(options.formats, TP_QUANT_FORMATS);
    tp_options_clear(&options);
}

/* What lies on a bound is taken, what lies beyond is not. */
Test(options, bounds_are_those_of_the_row)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (row->kind != TP_OPTION_COUNT && row->kind != TP_OPTION_REAL)
            continue;
        const double tried[] = {row->least, row->most, row->least - 1,
                                row->most + 1};
        for (int i = 0; i < 4; i++) {
            struct tp_options options;
            char line[64];
            snprintf(line, sizeof line, "--%s=%.0f", row->name, tried[i]);
            char *argument = line;
            enum tp_status status =
                tp_options_parse(1, &argument, row->commands, &options, NULL);
            cr_expect_eq(status, i < 2 ? TP_OK : TP_E_USAGE, "%s", line);
            tp_options_clear(&options);
        }
    }
}

Test(options, bytes_have_units)
{
    static const struct {
        const char *line;
        uint64_t bytes; /* 0: refused */
    } cases[] = {
        {"--device_memory 5", 5},
        {"--device_memory 3K", 3072},
        {"--device-memory=800M", 838860800},
        {"--device_memory 2G", 2147483648},
        {"--device_memory 1024G", 1099511627776},
        {"--device_memory 1025G", 0},
        {"--device_memory 99999999999999999999", 0},
        {"--device_memory 0G", 0},
        {"--device_memory G", 0},
        {"--device_memory -1", 0},
        {"--device_memory 2k", 0},
        {"--device_memory 2GB", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_options options;
        enum tp_status status = parse(cases[i].line, &options, NULL);
        cr_assert_eq(status, cases[i].bytes ? TP_OK : TP_E_USAGE, "%s",
                     cases[i].line);
        cr_assert_eq(options.device_memory, cases[i].bytes, "%s",
                     cases[i].line);
        tp_options_clear(&options);
    }
}

Test(options, every_row_parses_its_own_values)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        struct tp_options options;
        char line[128], value[32] = "";
        if (row->kind == TP_OPTION_CHOICE) {
            snprintf(value, sizeof value, "%s",
                     tp_option_choice_at(row, 0).word);
        } else if (row->kind == TP_OPTION_COUNT ||
                   row->kind == TP_OPTION_REAL ||
                   row->kind == TP_OPTION_BYTES) {
            strcpy(value, "3");
        } else if (row->kind == TP_OPTION_TEXT) {
            strcpy(value, "x");
        }
        if (!(row->commands & TP_FOR_TENSORS)) {
            continue;
        }
        snprintf(line, sizeof line, "--%s %s", row->name, value);
        cr_assert_eq(parse(line, &options, NULL), TP_OK, "%s", line);
        tp_options_clear(&options);
        if (*value) {
            snprintf(line, sizeof line, "--%s", row->name);
            cr_assert_eq(parse(line, &options, NULL), TP_E_USAGE, "%s", line);
            tp_options_clear(&options);
        }
    }
}

Test(options, hyphens_equals_and_positionals_are_the_same)
{
    static const char *const lines[] = {
        "--tensor_dir a --tensor_dir b --output_dir o --jobs 2",
        "--tensor-dir=a b --output-dir=o --jobs=2",
        "a --jobs 2 --output_dir o -- b",
    };
    for (size_t i = 0; i < 3; i++) {
        struct tp_options options;
        cr_assert_eq(parse(lines[i], &options, NULL), TP_OK);
        cr_assert_eq(options.input_count, 2);
        cr_assert_str_eq(options.inputs[0], "a");
        cr_assert_str_eq(options.inputs[1], "b");
        cr_assert_str_eq(options.output_dir, "o");
        cr_assert_eq(options.jobs, 2);
        tp_options_clear(&options);
    }
}

Test(options, after_two_hyphens_everything_is_input)
{
    struct tp_options options;
    cr_assert_eq(parse("-- --jobs -x", &options, NULL), TP_OK);
    cr_assert_eq(options.input_count, 2);
    cr_assert_str_eq(options.inputs[0], "--jobs");
    tp_options_clear(&options);
}

Test(options, mistakes_name_what_is_wrong)
{
    static const struct {
        const char *line, *word;
    } mistakes[] = {
        {"--nonsense", "--nonsense"},
        {"-x", "-x"},
        {"--job 2", "--job"},
        {"--jobs 0", "\"0\""},
        {"--jobs -1", "\"-1\""},
        {"--jobs 1x", "\"1x\""},
        {"--jobs 99999999999999999999", "1024"},
        {"--min_sqnr -1", "0 to 1000"},
        {"--min_sqnr nan", "\"nan\""},
        {"--max_underflow 1%", "\"1%\""},
        {"--rounding up", "ta|ta_sat|te|hybrid"},
        {"--format xml", "text|json"},
        {"--format tex", "\"tex\""},
        {"--device", "needs a value"},
        {"--quiet=yes", "no value"},
        {"--output_dir=", "empty"},
        {"--tensor_dir=", "empty"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct tp_options options;
        struct tp_error err = {.code = TP_OK};
        cr_assert_eq(parse(mistakes[i].line, &options, &err), TP_E_USAGE, "%s",
                     mistakes[i].line);
        cr_assert_not_null(strstr(err.message, mistakes[i].word), "%s: %s",
                           mistakes[i].line, err.message);
        tp_options_clear(&options);
    }
}

Test(options, help_has_a_line_per_row_and_none_is_too_wide)
{
    struct tp_text text = {.data = NULL};
    tp_options_help(TP_FOR_ALL, &text);
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        cr_assert_not_null(strstr(tp_text_get(&text), row->name));
    }
    const char *line = tp_text_get(&text);
    while (*line) {
        size_t width = strcspn(line, "\n");
        cr_assert_leq(width, 90, "%.*s", (int)width, line);
        line += width + 1;
    }
    tp_text_clear(&text);
}
