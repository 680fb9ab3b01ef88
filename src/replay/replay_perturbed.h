/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_PERTURBED_H
#define TP_REPLAY_REPLAY_PERTURBED_H

#include "replay/free_benchmark.h"
#include "replay/perturb.h"
#include "replay/replay.h"

/* One call, run again with perturbed arguments. */

/* What is done with a call, and by whose rules. */
struct tp_perturb_wish {
    bool modes[TP_PERTURB_MODES];
    enum tp_perturb_compat compat;
    bool backward; /* calls that are perturbed: backward, not forward       */
};

/* How a result is inconsistent. */
enum tp_perturbed_kind {
    TP_PERTURBED_RATIO,   /* by a number                                   */
    TP_PERTURBED_FLIPPED, /* a sign changes                                */
    TP_PERTURBED_NAN,     /* a NaN or infinity comes or goes               */
    TP_PERTURBED_UNKNOWN  /* no number says how far, as of to_cpu          */
};

/* A result that a mode finds inconsistent. */
struct tp_perturbed_flag {
    enum tp_perturb_mode mode;
    size_t result; /* which one, of tensors                                */
    enum tp_perturbed_kind kind;
    double max_rel; /* RATIO: msprobe's ratio less 1; by our own rules the
                       relative change of the result, by L2 norms          */
};

/* All-zero bytes are none. */
struct tp_perturbed {
    struct tp_perturbed_flag *flags; /* by mode, then result               */
    size_t flag_count, flag_capacity;
    bool lists; /* the call gives a list of tensors                */
    bool ran[TP_PERTURB_MODES];
    enum tp_perturb_outcome outcomes[TP_PERTURB_MODES];
    const char *reasons[TP_PERTURB_MODES];
    double worst[TP_PERTURB_MODES]; /* the largest max_rel of a result,
                                       infinite where a sign changes or
                                       numbers come or go; NaN: no number  */
    double amplification;           /* NaN: not known                      */
    uint64_t overflows; /* finite elements beyond the dtype of their result */
    double largest;     /* magnitude of these                              */
};

/* How many times larger than that of the arguments a change of the results is
 * from which on less than half of the bits of a rounding are left: 1 / sqrt(u),
 * u the rounding of the coarsest floating tensor. */
double tp_perturbed_limit(double rounding);

/*
 * Runs a call that is replayed in the modes that are wanted. The reference of
 * noise is the call's own replay, so that the kernel cancels; of higher
 * precision it is what was dumped. By our own rules a change is inconsistent
 * beyond tp_perturbed_limit times that of the arguments, and a result of higher
 * precision beyond what one rounding and accumulation in float32 explain;
 * no_change is not the call's own (replay_repeat.h). Cleared by the caller,
 * also after a failure: as tp_replay_call_load and tp_replay_run.
 */
enum tp_status tp_perturbed_run(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                const struct tp_operator *operator,
                                const struct tp_perturb_wish * wish,
                                struct tp_perturbed *perturbed,
                                struct tp_error *err);

/* Releases the flags; empty afterwards. */
void tp_perturbed_clear(struct tp_perturbed *perturbed);

#endif
