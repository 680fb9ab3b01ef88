/* SPDX-License-Identifier: MIT */
#include "cli/option_help.h"

void tp_options_help(unsigned command, struct tp_text *text)
{
    for (const struct tp_option *row = tp_option_table; row->name; row++) {
        if (!(row->commands & command))
            continue;
        struct tp_text left = {0};
        tp_text_add(&left, "--%s%s%s", row->name,
                    row->kind == TP_OPTION_FLAG ? "" : " ",
                    row->argument ? row->argument : "");
        if (row->kind == TP_OPTION_CHOICE)
            tp_option_add_words(row, &left);
        tp_text_add(text, "  %-34s %s", tp_text_get(&left), row->help);
        tp_text_clear(&left);
        const char *initial = row->shown ? row->shown : row->initial;
        if (initial)
            tp_text_add(text, " [%s]", initial);
        tp_text_add(text, "\n");
    }
}
