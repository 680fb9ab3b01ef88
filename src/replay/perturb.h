/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_PERTURB_H
#define TP_REPLAY_PERTURB_H

#include "replay/replay_call.h"

/*
 * The small changes of a call's arguments that free_benchmark makes: by rules
 * of our own, or of the tensor and by the amount that msprobe takes.
 */

/* Words of --compat. */
enum tp_perturb_compat {
    TP_COMPAT_NONE,    /* every floating tensor, by a step of it at least;
                          what changes more than its arguments explain      */
    TP_COMPAT_MSPROBE, /* as msprobe's third generation has it              */
    TP_COMPAT_MSPROBE_CHUNK /* the same, and of results of 32 MB and more
                               only the last chunk decides, as it does there */
};

/* "none", "msprobe", "msprobe_chunk", NULL. */
extern const char *const tp_perturb_compat_words[];

enum tp_perturb_mode {
    TP_PERTURB_IMPROVE,   /* half precision becomes float32                 */
    TP_PERTURB_ADD,       /* x + eps where |x| > sqrt(eps)                  */
    TP_PERTURB_BIT,       /* the last bit, where x is normal                */
    TP_PERTURB_NO_CHANGE, /* the same again                                 */
    TP_PERTURB_CHANGE,    /* the first and the last value swapped           */
    TP_PERTURB_TO_CPU,    /* as IMPROVE, compared otherwise                 */
    TP_PERTURB_MODES
};

/* "improve_precision", "add_noise", ... in this order, then NULL. */
extern const char *const tp_perturb_words[TP_PERTURB_MODES + 1];

/* Whether the arguments become float32, so that the reference is what was
 * dumped; of all other modes it is the replay without the change. */
bool tp_perturb_improves(enum tp_perturb_mode mode);

/* eps of a dtype, an absolute number; 0: it is not perturbed. */
double tp_perturb_epsilon(enum tp_dtype dtype);

/* What becomes of a call. */
enum tp_perturb_outcome {
    TP_PERTURB_APPLIED,
    TP_PERTURB_CANCELLED, /* nothing was changed; it is run all the same    */
    TP_PERTURB_SKIPPED,   /* it is not run again                            */
    TP_PERTURB_NO_INPUT   /* no positional argument is a floating tensor or
                             a list                                         */
};

/* A tensor of the call that was changed, and what it held. */
struct tp_perturbed_array {
    struct tp_array *array;
    double *saved; /* [array->count]                                        */
};

/* A change that was made. Zeroed before; ended by tp_perturb_end. */
struct tp_perturbation {
    enum tp_perturb_outcome outcome;
    const char *reason; /* why it is CANCELLED or SKIPPED; else ""          */
    struct tp_perturbed_array *changed;
    size_t count;
    double relative; /* the largest change of one of them, by L2 norms of its
                        finite elements                                     */
};

/* Changes the tensors of a loaded call; of a backward call those of its forward
 * call, too. TP_E_MEMORY. */
enum tp_status tp_perturb_begin(struct tp_replay_call *replay,
                                enum tp_perturb_mode mode,
                                enum tp_perturb_compat compat,
                                struct tp_perturbation *perturbation,
                                struct tp_error *err);

/* Turns the last bit of every floating tensor that goes into the call, or only
 * of its item `item` unless that is SIZE_MAX; items of the forward call of a
 * backward call are numbered behind its own. TP_E_MEMORY. */
enum tp_status tp_perturb_bits(struct tp_replay_call *replay, size_t item,
                               struct tp_perturbation *perturbation,
                               struct tp_error *err);

/* Puts the values back. */
void tp_perturb_end(struct tp_perturbation *perturbation);

#endif
