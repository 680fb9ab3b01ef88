/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DIVERGENCE_ROW_H
#define TP_REPLAY_DIVERGENCE_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* What a search for the first divergence of two runs gives (divergence.h). */

enum tp_divergence_verdict {
    TP_DIVERGENCE_EQUAL,     /* all tensors are equal to the last bit        */
    TP_DIVERGENCE_ROUNDING,  /* equal arguments, results differ by no more
                                than rounding: another kernel or order      */
    TP_DIVERGENCE_INHERITED, /* arguments differ, and nothing is added       */
    TP_DIVERGENCE_SHARDED,   /* one run has only a part of a tensor          */
    TP_DIVERGENCE_UNKNOWN,   /* tensors cannot be read                       */
    TP_DIVERGENCE_LOW_PRECISION, /* results of one run are only explained by
                                    every step rounded to the tensors' dtype */
    /* From here on, an origin. */
    TP_DIVERGENCE_RANDOM,   /* random results differ                        */
    TP_DIVERGENCE_RECEIVED, /* equal arguments, and other ranks sent others */
    TP_DIVERGENCE_ONLY_A,   /* the other run makes no such call             */
    TP_DIVERGENCE_ONLY_B,
    TP_DIVERGENCE_ARGUMENTS, /* a number, text or dtype is another one       */
    TP_DIVERGENCE_DATA,      /* a tensor differs that no call made: a weight,
                                the input                                    */
    TP_DIVERGENCE_DIFFERS,   /* equal arguments, results differ: of integers, or
                                only their checksums are there              */
    TP_DIVERGENCE_UNBOUNDED, /* equal arguments, results differ; the call is
                                not replayed, and neither its dtype nor the
                                length of its reduction explain it          */
    TP_DIVERGENCE_ADDED_A,   /* results of one run are not what its arguments
                                give                                        */
    TP_DIVERGENCE_ADDED_B,
    TP_DIVERGENCE_ADDED_BOTH
};

enum { TP_DIVERGENCE_VERDICTS = TP_DIVERGENCE_ADDED_BOTH + 1 };

/* A word for each: "equal", "within rounding", ... */
extern const char *const tp_divergence_words[TP_DIVERGENCE_VERDICTS];

/* A pair of calls. Differences are relative, by L2 norms, over that of run B
 * or of the replay. NaN: not measured. */
struct tp_divergence_row {
    int64_t order;        /* of the pair                                    */
    int64_t layer;        /* of the module it is in; -1: not known          */
    const char *api_name; /* of run A; of B where it is only there          */
    const char *dtype;    /* of the first result, as run A has it           */
    double e_in;          /* of floating arguments                          */
    double e_local_a, e_local_b; /* added: result against the replay        */
    double e_out;                /* of floating results                     */
    double gain;                 /* e_out / e_in                            */
    double bound;                /* most that is explained to be added      */
    double excess_a, excess_b;   /* worst element over its limit            */
    enum tp_divergence_verdict verdict;
    const char *evidence; /* a sentence; "": nothing to say                 */
};

/* All-zero bytes are none. */
struct tp_divergence {
    struct tp_divergence_row *rows;
    size_t count, capacity;
    size_t first; /* row of the first origin; SIZE_MAX: none                */
    size_t added; /* the first that adds error by itself; SIZE_MAX: none    */
    size_t low;   /* the first of low precision; SIZE_MAX: none             */
    uint64_t verdicts[TP_DIVERGENCE_VERDICTS];
    uint64_t judged, unsupported; /* calls that were (not) replayed         */
    uint64_t unread; /* tensors and calls whose files were not read         */
    const char *first_unread; /* a call of these, and why; NULL: none       */
    bool sharded;  /* the runs divide tensors differently            */
    bool recast;   /* most floating tensors have another dtype in B           */
    bool misfiled; /* later calls of both runs were given what the other run has
                      for the first result that error is added to, none what
                      its own file has                                      */
    const char *sentence;  /* what comes out of it                           */
    struct tp_arena arena; /* owns the texts                                */
};

#endif
