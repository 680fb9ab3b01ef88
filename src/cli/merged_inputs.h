/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_MERGED_INPUTS_H
#define TP_CLI_MERGED_INPUTS_H

#include "cli/options.h"

/* The states of a merge, of whatever they are. */
struct tp_merged_state {
    char *options; /* lines, which are cut when they are taken             */
    const char *roots;
};
struct tp_merged_states {
    const char *const *paths; /* [count]                                   */
    size_t count;
    unsigned command; /* whose options they have: TP_FOR_...               */
    struct tp_merged_state (*state)(const void *merge, size_t index);
    const void *merge;
};

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

/*
 * Makes options those of the runs that are merged, with the folder that holds
 * all that these read as their input, as one run over it would be told; where
 * there is none, each once. TP_E_USAGE where the options of states differ; as
 * tp_options_take; TP_E_MEMORY. Errors name the state.
 */
enum tp_status tp_merged_take(struct tp_merged_inputs *merged,
                              const struct tp_merged_states *states,
                              struct tp_options *options, struct tp_error *err);

/* Releases it, once the options are no longer used. */
void tp_merged_inputs_clear(struct tp_merged_inputs *merged);

#endif
