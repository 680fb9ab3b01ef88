/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_PERTURBED_H
#define TP_REPLAY_REPLAY_PERTURBED_H

#include "replay/free_benchmark.h"
#include "replay/perturb.h"
#include "replay/replay.h"

/* One call, run again with perturbed arguments. */

/* A result that a mode finds inconsistent. */
struct tp_perturbed_flag {
    enum tp_perturb_mode mode;
    size_t result;                   /* which one, of tensors              */
    struct tp_benchmark_ratio ratio; /* of to_cpu nothing                  */
};

/* All-zero bytes are none. */
struct tp_perturbed {
    struct tp_perturbed_flag *flags; /* by mode, then result               */
    size_t flag_count, flag_capacity;
    bool lists; /* the call gives a list of tensors                */
    bool ran[TP_PERTURB_MODES];
    enum tp_perturb_outcome outcomes[TP_PERTURB_MODES];
    const char *reasons[TP_PERTURB_MODES];
    double worst[TP_PERTURB_MODES]; /* ratio - 1, infinite where a sign
                                       changes; NaN: no ratio              */
    double amplification;           /* NaN: not known                      */
    uint64_t overflows; /* finite elements beyond the dtype of their result */
    double largest;     /* magnitude of these                              */
};

/*
 * Runs a call that is replayed in the modes that are wanted. The reference of
 * noise is the call's own replay, so that the kernel cancels; of higher
 * precision it is what was dumped. Cleared by the caller, also after a failure:
 * as tp_replay_call_load and tp_replay_run.
 */
enum tp_status tp_perturbed_run(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                const struct tp_operator *operator,
                                const bool wanted[TP_PERTURB_MODES],
                                struct tp_perturbed *perturbed,
                                struct tp_error *err);

/* Releases the flags; empty afterwards. */
void tp_perturbed_clear(struct tp_perturbed *perturbed);

#endif
