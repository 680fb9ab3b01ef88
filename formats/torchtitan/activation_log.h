/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCHTITAN_ACTIVATION_LOG_H
#define TP_TORCHTITAN_ACTIVATION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

/*
 * rank_R_activations.log, as torchtitan's activation tracer writes it
 * (agent_tooling/numerics_debugging/activation_tracer.py): statistics of what
 * each operator gave, as text; no values.
 *
 *     Total captured activations: 4
 *     Excluded ops dispatched: _to_copy, view
 *     ====
 *
 *     [layers.0.attention.wq/op_0_mm]
 *       Shape: torch.Size([4, 256]), Dtype: torch.float32
 *       L2 norm: 3.216091e+01
 *       Min: -3.708036e+00
 *       Max: 2.846534e+00
 *       Mean: -6.417043e-02
 *       Output hash: 8.201540e+02
 *       Input hashes: 1.234560e+02, 7.890120e+03
 *       Input producers: embedding/op_0_embedding;
 *       Location: common/attention.py:534
 *       Phase: backward
 *
 * The phase is left out of what is forward. Hashes are L1 norms: that of an
 * input is finite where all its elements are. Lines of other words are passed
 * over.
 */

/* What the hashes tell of what an operator was given. */
enum tp_activation_inputs {
    TP_ACTIVATION_UNKNOWN, /* some is not told, or Inf, which finite numbers
                              may add up to, too                           */
    TP_ACTIVATION_FINITE,
    TP_ACTIVATION_NAN
};

enum tp_activation_stat {
    TP_ACTIVATION_MAX,
    TP_ACTIVATION_MIN,
    TP_ACTIVATION_MEAN,
    TP_ACTIVATION_NORM, /* L2 */
    TP_ACTIVATION_STATS
};

/* One of them; texts are valid during the call it is handed out in, and "" of
 * what is not said. */
struct tp_activation {
    const char *name;   /* MODULE/op_N_OPERATOR                            */
    int64_t offset;     /* byte of its name's line in the file             */
    bool backward;
    int ndim;           /* -1: no shape is said                            */
    int64_t shape[TP_LIMIT_DIMS];
    const char *dtype;  /* "torch.float32"                                 */
    bool has[TP_ACTIVATION_STATS];
    double stats[TP_ACTIVATION_STATS];
    enum tp_activation_inputs inputs;
    const char *producers; /* names, each followed by ';'                  */
    const char *location;  /* "common/attention.py:534"                    */
};

/* Who reads; anything but TP_OK ends the reading with it. */
struct tp_activation_sink {
    void *context;
    enum tp_status (*activation)(void *context,
                                 const struct tp_activation *activation,
                                 struct tp_error *err);
};

/* The rank of a file of this name, a last component of a path that ends in
 * rank_R_activations.log; -1: it is not the name of such a log. */
int64_t tp_activation_log_rank(const char *name);

/*
 * Reads a log, a piece at a time. One that ends before what its first line
 * announces, or amid a line, fails with TP_E_DAMAGED and the byte, after all
 * that is whole was handed out. TP_E_UNSUPPORTED: it begins otherwise; TP_E_IO,
 * TP_E_MEMORY.
 */
enum tp_status tp_activation_log_read(const struct tp_bytes *bytes,
                                      const struct tp_activation_sink *sink,
                                      struct tp_error *err);

#endif
