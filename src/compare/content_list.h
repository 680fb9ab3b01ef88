/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_LIST_H
#define TP_COMPARE_CONTENT_LIST_H

#include <signal.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number_set.h"
#include "base/pool.h"
#include "compare/content_digest.h"
#include "data/tensor_file.h"

/* The tensors of two directories or files, with the digests of each. */

/* Its own dtype, float32, float16, bfloat16. */
enum { TP_CONTENT_VIEWS = 4 };

/* A tensor in some dtype. */
struct tp_content_view {
    enum tp_dtype dtype; /* of real numbers                                */
    struct tp_content_digest digest;
};

struct tp_content_tensor {
    struct tp_found *file; /* the side's                                   */
    size_t place;     /* among the tensors of the file                     */
    const char *key;  /* its path in the file; where that is the file's only
                         tensor, the file's name without suffix            */
    const char *full; /* path of the file below the root, ":", key         */
    const char *name; /* the key, or all of `full` where the side has that
                         key several times                                 */
    const char *shape_text; /* "[2, 8]"                                    */
    const int64_t *shape;   /* [ndim]                                      */
    int ndim;
    enum tp_dtype dtype;
    int64_t numel;
    struct tp_content_view views[TP_CONTENT_VIEWS]; /* the first is its own */
    int view_count;
    double amax;   /* largest finite magnitude; NaN: none                   */
    bool constant; /* all elements have one code                            */
    bool read;     /* digests are known                                     */
};

struct tp_content_side {
    struct tp_content_tensor *tensors; /* by path of the file, then place   */
    size_t count, capacity;
    struct tp_found_list found; /* with what could not be read             */
    struct tp_arena arena;
};

/* Which files count. */
struct tp_content_wish {
    const char *root;
    const struct tp_number_set *steps, *ranks; /* of those that say one    */
};

/*
 * Lists the tensors of all files below a root, by their headers. `side` is
 * zeroed by the caller and released with tp_content_side_clear, also after a
 * failure: TP_E_NOT_FOUND, also when there is no tensor, TP_E_MEMORY.
 */
enum tp_status tp_content_list(const struct tp_content_wish *wish,
                               struct tp_content_side *side,
                               struct tp_error *err);

struct tp_content_reading {
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL    */
    /* As that of tp_compare_tensor_options, for files; may be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t all,
                     uint64_t bytes_done, uint64_t bytes_all);
    void *progress_context;
};

/*
 * Reads each tensor of both sides once, for its digests: in its own dtype, and
 * rounded to those that the other side has. What cannot be read is a problem
 * of `found`. The
 * result does not depend on the pool. TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_content_read(struct tp_content_side sides[2],
                               const struct tp_content_reading *reading,
                               struct tp_error *err);

/* A tensor in its open file; NULL: it is another file, though it has the same
 * size and time. */
const struct tp_tensor *tp_content_tensor_in(
    const struct tp_content_tensor *tensor, const struct tp_tensor_file *file);

/* Releases everything; empty afterwards. */
void tp_content_side_clear(struct tp_content_side *side);

#endif
