/* SPDX-License-Identifier: MIT */
#include "cli/merged_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "cli/keep_state.h"

/* The folder that two paths lie in, one of which may be it; its length. */
static size_t common_folder(const char *a, const char *b)
{
    size_t end = 0;
    for (size_t i = 0;; i++) {
        const bool ends = !a[i] || a[i] == '/', other = !b[i] || b[i] == '/';
        if (ends && other)
            end = i;
        if (!a[i] || a[i] != b[i])
            return end;
    }
}

/* The folder that holds all inputs of the states, as one run over it would be
 * told; where there is none, the inputs. Sorted by bytes, the first and the
 * last have the least in common. */
static void reduce_inputs(char **inputs, size_t count,
                          struct tp_options *options)
{
    const size_t length =
        count ? common_folder(inputs[0], inputs[count - 1]) : 0;
    if (length) {
        inputs[0][length] = '\0';
        count = 1;
    }
    options->inputs = (const char **)inputs;
    options->input_count = count;
}

/* Makes the roots the inputs of options. */
static enum tp_status set_inputs(struct tp_merged_inputs *merged,
                                 struct tp_options *options,
                                 struct tp_error *err)
{
    size_t lines = 0;
    if (merged->roots.failed)
        return tp_fail_memory(err);
    for (size_t i = 0; i < merged->roots.length; i++)
        lines += merged->roots.data[i] == '\n';
    merged->inputs = calloc(lines + 1, sizeof *merged->inputs);
    if (!merged->inputs)
        return tp_fail_memory(err);
    char *at = merged->roots.data;
    for (size_t i = 0; i < lines; i++) {
        merged->inputs[i] = at;
        at = strchr(at, '\n');
        *at++ = '\0';
    }
    lines = tp_sort_text_once((const char **)merged->inputs, lines);
    reduce_inputs(merged->inputs, lines, options);
    return TP_OK;
}

enum tp_status tp_merged_take(struct tp_merged_inputs *merged,
                              const struct tp_merged_states *states,
                              struct tp_options *options, struct tp_error *err)
{
    const struct tp_merged_state first = states->state(states->merge, 0);
    size_t at = 0;
    enum tp_status status = TP_OK;
    for (size_t i = 1; i < states->count && status == TP_OK; i++) {
        at = i;
        status = tp_compare_shapes(states->state(states->merge, i).options,
                                   first.options, states->paths[0], err);
    }
    if (status == TP_OK) {
        at = 0;
        status = tp_options_take(options, states->command, first.options, err);
    }
    if (status != TP_OK) {
        tp_error_in_file(err, states->paths[at]);
        return status;
    }
    for (size_t i = 0; i < states->count; i++)
        tp_text_add(&merged->roots, "%s",
                    states->state(states->merge, i).roots);
    return set_inputs(merged, options, err);
}

void tp_merged_inputs_clear(struct tp_merged_inputs *merged)
{
    tp_text_clear(&merged->roots);
    free(merged->inputs);
    *merged = (struct tp_merged_inputs){.inputs = NULL};
}

void tp_merged_text(const struct tp_merged_count *count, struct tp_text *text)
{
    tp_text_add(text,
                "\nMerged\n  %zu state%s, %zu file%s; %zu in several states, "
                "counted once",
                count->states, count->states == 1 ? "" : "s", count->files,
                count->files == 1 ? "" : "s", count->twice);
    if (count->twice) {
        tp_text_add(text, ". First: ");
        tp_text_printable(text, count->first_twice);
    }
    tp_text_add(text, "\n");
}
