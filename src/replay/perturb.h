/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_PERTURB_H
#define TP_REPLAY_PERTURB_H

#include "replay/replay_call.h"

/*
 * The small changes of a call's arguments that msprobe's free_benchmark makes,
 * of the same tensor and by the same amount.
 */

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

/* A change that was made. Zeroed before; ended by tp_perturb_end. */
struct tp_perturbation {
    enum tp_perturb_outcome outcome;
    const char *reason;     /* why it is CANCELLED or SKIPPED; else ""      */
    struct tp_array *array; /* the call's tensor that was changed; or NULL  */
    double *saved;          /* [array->count]: what it held                 */
};

/* Changes the tensors of a loaded call. TP_E_MEMORY. */
enum tp_status tp_perturb_begin(struct tp_replay_call *replay,
                                enum tp_perturb_mode mode,
                                struct tp_perturbation *perturbation,
                                struct tp_error *err);

/* Puts the values back. */
void tp_perturb_end(struct tp_perturbation *perturbation);

#endif
