/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_LABEL_H
#define TP_DATA_LABEL_H

#include <stdint.h>

/*
 * What a tensor is: where in the model and the run it was saved. The words
 * are tensor_saver's. Absent numbers are -1, absent texts are "" (never
 * NULL); texts are owned by whoever made the label.
 */
struct tp_label {
    const char *layer_type;  /* attention, linear, ...                    */
    int64_t layer_idx;
    const char *operation;   /* forward, backward                         */
    const char *phase;       /* pre, post                                 */
    const char *component;   /* FA, linear, ...                           */
    const char *quant_type;  /* of the run: hifp8, mxfp8, bf16, ...       */
    const char *tensor_name; /* query, input, weight, ...                 */
    int64_t rank;
    int64_t sample_idx;
    int64_t group_idx;
    int64_t iteration;
    int64_t counter;         /* of the saver, per rank; orders ordinals   */
    const char *timestamp;   /* YYYYmmdd_HHMMSS of the file name          */
    int64_t batch_size;      /* metadata batch_size; -1: not said         */
};

/* A label with everything absent. */
#define TP_LABEL_NONE                                                        \
    {                                                                        \
        .layer_type = "", .layer_idx = -1, .operation = "", .phase = "",     \
        .component = "", .quant_type = "", .tensor_name = "", .rank = -1,    \
        .sample_idx = -1, .group_idx = -1, .iteration = -1, .counter = -1,   \
        .timestamp = "", .batch_size = -1                                    \
    }

#endif
