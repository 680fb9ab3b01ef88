/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_MERGED_INPUTS_H
#define TP_CLI_MERGED_INPUTS_H

#include "cli/options.h"

/* What the states of a merge were read from. All-zero bytes: nothing. */
struct tp_merged_inputs {
    struct tp_text roots; /* lines                                         */
    char **inputs;        /* these, apart                                  */
};

/* What is said of a merge. */
struct tp_merged_count {
    size_t states, files;
    size_t twice; /* files that were in several states                     */
    const char *first_twice;
};
void tp_merged_text(const struct tp_merged_count *count, struct tp_text *text);

/* Adds the roots of a state. */
void tp_merged_inputs_add(struct tp_merged_inputs *merged, const char *roots);

/* Makes them the inputs of options: the folder that holds them all, as one run
 * over it would be told; where there is none, each once. TP_E_MEMORY. */
enum tp_status tp_merged_inputs_set(struct tp_merged_inputs *merged,
                                    struct tp_options *options,
                                    struct tp_error *err);

/* Releases it, once the options are no longer used. */
void tp_merged_inputs_clear(struct tp_merged_inputs *merged);

#endif
