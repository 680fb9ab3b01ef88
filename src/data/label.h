/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_LABEL_H
#define TP_DATA_LABEL_H

#include <stdint.h>

/* Which way the pass goes that a tensor was saved in. */
enum tp_direction { TP_DIRECTION_UNKNOWN, TP_FORWARD, TP_BACKWARD };

/* What a tensor is to the model, as far as its names tell: any of these. */
enum tp_role {
    TP_ROLE_WEIGHT = 1,    /* what an optimiser updates, or its gradient  */
    TP_ROLE_BIAS = 2,
    TP_ROLE_ATTENTION = 4, /* probabilities [batch, heads, query, key], by
                              the name attention_weights, too: no weight  */
    TP_ROLE_ACTIVATION = 8,     /* input or output of an operation        */
    TP_ROLE_GRAD_OUTPUT = 16,   /* gradient that reaches an operation     */
    TP_ROLE_GRAD_INPUT = 32,    /* gradient that leaves it                */
    TP_ROLE_MASKED = 64,        /* -inf may stand in it for "not this one" */
    /* of a checkpoint, by the role in its key; never a weight or a bias:  */
    TP_ROLE_MOMENT_1 = 128,     /* of the gradient, kept by an optimiser   */
    TP_ROLE_MOMENT_2 = 256,     /* of its square                           */
    TP_ROLE_MASTER = 512,       /* a parameter in a wider dtype            */
    TP_ROLE_GRADIENT = 1024,    /* of a parameter                          */
    TP_ROLE_SCALE = 2048,       /* multiplies or divides codes             */
    TP_ROLE_BUFFER = 4096,      /* kept with parameters, not learned       */
    TP_ROLE_COUNTER = 8192      /* of steps or batches: nothing of a model */
};

/* The roles of what an optimizer keeps of a parameter. */
#define TP_ROLES_OF_MOMENTS (TP_ROLE_MOMENT_1 | TP_ROLE_MOMENT_2)
#define TP_ROLES_OF_STATE \
    (TP_ROLES_OF_MOMENTS | TP_ROLE_MASTER | TP_ROLE_GRADIENT)

/*
 * What a tensor is: where in the model and the run it was saved. The words
 * are tensor_saver's, and readers of other tools' files give the same; what
 * they mean is in `direction` and `roles`, which tp_label_classify sets.
 * Absent numbers are -1, absent texts are "" (never NULL); texts are owned by
 * whoever made the label.
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
    const char *module;      /* of a key: path of the module              */
    int64_t expert;          /* of a key: number among the experts        */
    int64_t part;            /* of the model, where ranks name other parts
                                alike; 0: a name is the same on all ranks */
    enum tp_direction direction;
    unsigned roles;          /* of enum tp_role, added up                 */
};

/* A label with everything absent. */
#define TP_LABEL_NONE                                                        \
    {                                                                        \
        .layer_type = "", .layer_idx = -1, .operation = "", .phase = "",     \
        .component = "", .quant_type = "", .tensor_name = "", .rank = -1,    \
        .sample_idx = -1, .group_idx = -1, .iteration = -1, .counter = -1,   \
        .timestamp = "", .batch_size = -1, .module = "", .expert = -1        \
    }

/* "forward", "backward"; "" for the unknown one. */
const char *tp_direction_word(enum tp_direction direction);

/* Sets direction and roles from the words; called where they were parsed. */
void tp_label_classify(struct tp_label *label);

/* The roles that a name alone tells: weight, bias, attention. */
unsigned tp_roles_of_name(const char *name);

/*
 * What a tensor of a backward file is really called: savers call the gradient
 * that reaches an operation its `input`, and what leaves it its `output`.
 */
const char *tp_backward_name(const char *name);

/*
 * What a tensor is to be called where the passes stand side by side: by its
 * name or, without one, by `path`.
 */
const char *tp_label_true_name(const struct tp_label *label, const char *path);

#endif
