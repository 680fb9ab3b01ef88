/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_RUN_H
#define TP_REPLAY_REPLAY_RUN_H

#include <signal.h>

#include "base/pool.h"
#include "data/table.h"
#include "replay/dropout.h"
#include "replay/replay_explain.h"
#include "replay/replay_perturbed.h"
#include "replay/replay_repair.h"

/* A whole dump, call by call: computed again, perturbed and judged. */

struct tp_replay_options {
    struct tp_perturb_wish wish;
    const char *const *scope, *const *list; /* keys of calls; parts of these.
                                               Of none: all calls           */
    size_t scope_count, list_count;
    int64_t preheat_step, max_sample; /* steps that find the limits of ratios,
                                         and calls that each samples; 0: none */
    void (*progress)(void *context, uint64_t done, uint64_t all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
};

/* A call of an API, forward or backward. Texts are the dump's, the run's or
 * constant. NaN: not measured. */
struct tp_replay_row {
    int64_t step, rank, order;
    const char *api_name;
    const char *module; /* of tp_dump_call_module                           */
    const char *stage;  /* "forward", "backward"                           */
    const char *status; /* "replayed", or why not in a word                */
    const char *reason; /* in a sentence; "": replayed                     */
    const char *dtype;  /* of the first result, "torch.bfloat16"           */
    const char *shape;  /* "torch.Size([2, 8])"                            */
    const char *judgement; /* "explained", "narrow", "wrong"; "": not judged  */
    const char *cause;  /* of a wrong result one of tp_explain_words; of
                           one that loses digits of tp_repair_words; or "" */
    double error;       /* of the results against fp64, by L2 norms        */
    double bound;       /* what rounding explains at most, alike           */
    double ulp, ulp_rounded; /* see tp_replay_verdict                       */
    const char *family;      /* of tp_op_family_words; "": not replayed      */
    double excess; /* worst element over its limit                    */
    double limit;  /* of msprobe's ratio, by preheat; NaN: the usual  */
    double error_fp32, error_bf16, error_fp8; /* relative, of the results with
                             arguments in these; NaN: not measured          */
    int64_t repeats;      /* the first call with its arguments, its row; -1:
                             none came before                               */
    uint64_t nonfinite;   /* NaN and infinities made of numbers             */
    double amplification; /* relative change of the results over that of
                             the arguments, each with its last bit turned  */
    /* the worst result: ratio - 1; infinite where a sign changes */
    double improve_precision, add_noise, bit_noise, no_change, change_value;
    uint64_t overflows; /* finite elements beyond the dtype of a result  */
    double largest;     /* magnitude of these                            */
    uint64_t flags; /* results that are inconsistent, in all modes         */
    struct tp_replay_verdict verdict;
    struct tp_explain explain;
    struct tp_replay_repair repair;
    double rounding; /* of its coarsest floating tensor                     */
    bool differs;    /* from the call that it repeats                       */
    struct tp_dropout dropout;
    size_t place, call; /* in the dump                                     */
    enum tp_perturb_outcome outcomes[TP_PERTURB_MODES];
    const char *reasons[TP_PERTURB_MODES]; /* of outcomes; NULL: mode not
                                              wanted, or call not replayed */
    uint64_t sample, sample_total; /* of preheat: it is this call of so many
                                      of its API; 0: it is not sampled     */
};

/* A result that a perturbation changes too much: a row of
 * free_benchmark.csv. */
struct tp_replay_flag {
    int64_t rank;
    const char *pert_mode, *stage;
    int64_t step;
    const char *api_name;
    const char *max_rel; /* as Python writes it; "symbol_flipping"; ""     */
    const char *dtype, *shape;
    int64_t output_index; /* -1: the call gives one tensor                 */
};

/* How many calls came to what. */
struct tp_replay_counts {
    uint64_t calls; /* calls of APIs that were chosen                      */
    uint64_t states[TP_REPLAY_STATES];
    uint64_t modules;                   /* forward calls of modules         */
    uint64_t runs[TP_PERTURB_MODES];    /* calls that were run again        */
    uint64_t flagged[TP_PERTURB_MODES]; /* calls with an inconsistent result */
};

/* All-zero bytes are none. */
struct tp_replay_results {
    struct tp_replay_row *rows; /* by place, then order                    */
    size_t count;
    struct tp_replay_flag *flags; /* by mode, place, order                 */
    size_t flag_count, flag_capacity;
    struct tp_replay_counts counts;   /* of forward calls                   */
    struct tp_replay_counts backward; /* the same, of backward calls        */
    struct tp_arena arena;
};

/*
 * Goes through all places. Each thread holds the tensors of one call; the
 * result does not depend on their number. `results` is zeroed, and released
 * with tp_replay_results_clear also after a failure: TP_E_UNSUPPORTED, the dump
 * has no tensors; TP_E_NOT_FOUND, no call is chosen; TP_E_MEMORY,
 * TP_E_INTERRUPTED.
 */
enum tp_status tp_replay_dump(const struct tp_dump *dump,
                              const struct tp_replay_options *options,
                              struct tp_replay_results *results,
                              struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_replay_results_clear(struct tp_replay_results *results);

#endif
