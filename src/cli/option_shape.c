/* SPDX-License-Identifier: MIT */
#include "cli/option_shape.h"

static bool shapes(const struct tp_option *row, unsigned command)
{
    return row->shapes && (row->commands & command);
}

static void add_value(const struct tp_options *options,
                      const struct tp_option *row, struct tp_text *lines)
{
    if (row->offset != offsetof(struct tp_options, peaks)) {
        tp_option_add_value((const char *)options + row->offset, row, lines);
        return;
    }
    for (size_t i = 0; i < options->peaks.count; i++)
        tp_text_add(lines, "%s%s", i ? " " : "", options->peaks.texts[i]);
}

void tp_options_shape(const struct tp_options *options, unsigned command,
                      struct tp_text *lines)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (!shapes(row, command))
            continue;
        tp_text_add(lines, "%s=", row->name);
        add_value(options, row, lines);
        tp_text_add(lines, "\n");
    }
}

enum tp_status tp_options_only(const struct tp_options *options,
                               unsigned command, const char *what,
                               struct tp_error *err)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (options->given[row - tp_option_table] && !(row->commands & command))
            return tp_fail(err, TP_E_USAGE, -1, "--%s is not for %s", row->name,
                           what);
    }
    return TP_OK;
}
