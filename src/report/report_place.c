/* SPDX-License-Identifier: MIT */
#include "report/report_place.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static void add_word(struct tp_text *text, const char *word)
{
    if (!*word)
        return;
    if (text->length && text->data[text->length - 1] != ' ')
        tp_text_add(text, " ");
    tp_text_printable(text, word);
}

static void add_number(struct tp_text *text, const char *name, int64_t value)
{
    if (value >= 0)
        tp_text_add(text, " %s%" PRId64, name, value);
}

void tp_report_label(const struct tp_label *label, const char *path,
                     int64_t ordinal, struct tp_text *text)
{
    add_word(text, label->quant_type);
    add_word(text, label->layer_type);
    add_number(text, "L", label->layer_idx);
    add_word(text, label->operation);
    add_word(text, label->phase);
    add_word(text, label->tensor_name);
    if (!*label->layer_type && !*label->operation &&
        !tp_text_ends_with(label->tensor_name, path))
        add_word(text, path); /* no labels of a training dump */
    else if (ordinal > 0)
        add_number(text, "#", ordinal);
    add_number(text, "rank ", label->rank);
    add_number(text, "iteration ", label->iteration);
    add_number(text, "sample ", label->sample_idx);
}

void tp_report_place(const struct tp_row *row, struct tp_text *text)
{
    tp_report_label(&row->label, row->path, row->ordinal, text);
}
