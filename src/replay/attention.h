/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_ATTENTION_H
#define TP_REPLAY_ATTENTION_H

#include "base/error.h"
#include "replay/array.h"

/* Where a head lies in a tensor whose last axis has its elements: steps from
 * one stack, head and row to the next. */
struct tp_attention_side {
    const struct tp_array *array;
    int64_t stack, head, row;
};

/* What hides a key from a row of Q. */
enum tp_attention_hides {
    TP_ATTENTION_FALSE, /* false in the mask, or what it adds               */
    TP_ATTENTION_TRUE   /* true in the mask                                 */
};

/* What is broadcast to the scores; array NULL: nothing. */
struct tp_attention_term {
    const struct tp_array *array;
    int64_t steps[TP_LIMIT_DIMS]; /* along each axis of the scores          */
};

/*
 * softmax(scale (Q K^T + bias) + mask) V, [stacks][heads][rows] of width and
 * depth elements; `shared` heads of Q have one head of K and V.
 */
struct tp_attention {
    int64_t stacks, heads, shared, rows, keys, width, depth;
    struct tp_attention_side q, k, v;
    int dims; /* of the scores: those of stacks and heads, rows, keys        */
    int64_t shape[TP_LIMIT_DIMS];
    struct tp_attention_term mask, bias;
    enum tp_attention_hides hides;
    bool causal;
    int64_t ahead; /* causal: keys from row + ahead + 1 on are hidden       */
    double scale;
    double unit, own; /* of a rounding that accumulates, and of the tensors */
};

/* Fills in a result with bounds, which lies as `at` says; its array is written
 * to. TP_E_UNSUPPORTED: a row hides every key, which is NaN in one
 * implementation and 0 in another; TP_E_MEMORY. */
enum tp_status tp_attention_run(const struct tp_attention *attention,
                                const struct tp_attention_side *at,
                                struct tp_array *output, struct tp_error *err);

/* Sets the steps of a term; false: it does not fit the scores. */
bool tp_attention_fit(const struct tp_attention *attention,
                      struct tp_attention_term *term);

/* Fills in the gradients of Q, K and V, which lie as these and are zero, from
 * that of the result. That of K NULL: the first is of the probabilities, one
 * matrix after the other, and only that of V is made beside it. */
enum tp_status tp_attention_gradients(const struct tp_attention *attention,
                                      const struct tp_attention_side *given,
                                      struct tp_array *const gradients[3],
                                      struct tp_error *err);

#endif
