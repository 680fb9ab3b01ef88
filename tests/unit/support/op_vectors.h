/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_OP_VECTORS_H
#define TP_TESTS_OP_VECTORS_H

#include "replay/replay_call.h"

/* Calls of testdata/op_vectors (tests/op_vectors.py says how a file looks), as
 * a dump of msprobe would have them. */

enum { OP_VECTOR_ITEMS = 128 };

struct op_vector {
    int line;        /* of its "call"                             */
    uint64_t digest; /* of its API and arguments                  */
    char key[2][96]; /* forward, backward                         */
    struct tp_dump_call calls[2];
    struct tp_dump_place place; /* of both, with these items                */
    struct tp_dump_item items[OP_VECTOR_ITEMS];
    struct tp_array arrays[OP_VECTOR_ITEMS]; /* of items that are tensors   */
    struct tp_arena arena;
};

typedef void op_vector_fn(struct op_vector *vector, void *context);

/* Gives each call of a file to `each`. False: it cannot be read; said on
 * stderr. */
bool op_vectors_each(const char *path, op_vector_fn *each, void *context);

/* The forward (0) or backward (1) call as tp_replay_call_load makes it, with
 * copies of its tensors; in fp64. Cleared with tp_replay_call_clear. */
bool op_vector_load(const struct op_vector *vector, int which,
                    const char *signature, struct tp_replay_call *replay);

/* Tensor number k of the results of a call. */
const struct tp_array *op_vector_result(const struct op_vector *vector,
                                        int which, size_t k);

#endif
