/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TENSOR_H
#define TP_DATA_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "data/dtype.h"

/*
 * A tensor as a file holds it: a strided view of a storage. Plain values;
 * who made it (a reader in formats/) owns everything it points to.
 */

/*
 * The raw bytes behind one or several tensors. Readers embed this struct and
 * fill it in; reading is positional and safe from any number of threads.
 */
struct tp_storage {
    /* Copies bytes [offset, offset + length) of the storage. Fails with
     * TP_E_DAMAGED (message with file offset) when they are not there. */
    enum tp_status (*read)(const struct tp_storage *storage, uint64_t offset,
                           void *buffer, size_t length, struct tp_error *err);
    uint64_t size;        /* bytes                                        */
    int64_t file_offset;  /* of its first byte, for messages; -1: unknown */
    uint32_t crc32;       /* what the container says, if has_crc32        */
    bool has_crc32;
    bool big_endian;      /* codes are stored most significant byte first */
    bool crc_checked;     /* set by who verified it, so that tensors that
                             share a storage verify it once               */
    const char *member;   /* in which file it lies, for messages; NULL: in
                             the one that was opened                      */
};

struct tp_scaled; /* of data/scaled.h */

/*
 * One tensor. Invariants, ensured by the reader: every index of the shape
 * lies inside the storage; strides are not negative; numel fits int64_t.
 */
struct tp_tensor {
    const char *path;     /* keys joined by '.', items "[i]"; root is ""  */
    enum tp_dtype dtype;
    bool conjugated;      /* lazy conjugation: imaginary parts negated    */
    bool negated;         /* lazy negation: all parts negated             */
    int ndim;
    const int64_t *shape; /* [ndim]                                       */
    const int64_t *stride; /* [ndim] in elements                          */
    int64_t offset;       /* first element, in elements of the storage    */
    int64_t numel;        /* product of shape                             */
    struct tp_storage *storage;    /* NULL only when numel is 0           */
    const struct tp_scaled *scaled; /* its values are made from codes and
                              scales; NULL: they are stored             */
    bool encoded;         /* codes or scales, whose values are another
                              tensor of the file                          */
};

/*
 * Computes numel and checks the invariants against the storage. Called by
 * every reader before it hands a tensor out. TP_E_DAMAGED names the dimension
 * or the element that lies outside; TP_E_UNSUPPORTED: a negative stride;
 * TP_E_LIMIT: a view that overlaps itself TP_LIMIT_OVERLAP-fold.
 */
enum tp_status tp_tensor_check(struct tp_tensor *tensor, struct tp_error *err);

/*
 * How to walk a tensor. Axes of length 1 are dropped and axes that continue
 * each other are joined; what is left is in row-major order. For a walk that
 * may ignore order (statistics) axes of stride 0 become `repeat` and the rest
 * is sorted by stride, so that storage is read front to back.
 */
struct tp_walk {
    const struct tp_tensor *tensor;
    int ndim;
    int64_t shape[TP_LIMIT_DIMS];
    int64_t stride[TP_LIMIT_DIMS];
    int64_t count;        /* elements the walk visits                     */
    uint64_t repeat;      /* each stands for so many; 1 in ordered walks  */
    bool dense;           /* visits elements [offset, offset + count)     */
};

/* The walk in logical (row-major) order; repeat is 1. */
void tp_walk_ordered(const struct tp_tensor *tensor, struct tp_walk *walk);

/* The walk in storage order, for statistics that ignore order. */
void tp_walk_any_order(const struct tp_tensor *tensor, struct tp_walk *walk);

/* Elements [first, first + n) of the walk, n > 0, all lie in the elements
 * [*begin, *end) of the storage, which are there. */
void tp_walk_cover(const struct tp_walk *walk, int64_t first, int64_t n,
                   int64_t *begin, int64_t *end);

/*
 * How the lines along one axis of a tensor lie in its tp_walk_any_order: as
 * an array [outer][length][inner], each element standing for `constant`
 * neighbours on its line and, as everywhere in that walk, for the rest of
 * walk.repeat in other lines. So a line has length * constant elements;
 * inner is 1 where the axis is the fastest in the storage, and constant is
 * above 1 only when the axis has stride 0 (then length is 1). For block
 * formats, whose blocks are pieces of lines.
 */
struct tp_lines {
    int64_t outer, length, inner; /* outer is 0 for an empty tensor      */
    int64_t constant;
};

/* Describes the lines along `axis`; a 0-d tensor is one line of one. */
void tp_walk_lines(const struct tp_tensor *tensor, int axis,
                   struct tp_lines *lines);

/*
 * Copies elements [first, first + n) of the walk into `codes`: n * size
 * bytes, native byte order, conjugation and negation applied. `scratch` has
 * TP_CHUNK_BYTES bytes, or is NULL when walk->dense. Fails as storage->read
 * does; any number of threads, each with its own scratch.
 */
enum tp_status tp_walk_read(const struct tp_walk *walk, int64_t first,
                            size_t n, void *codes, void *scratch,
                            struct tp_error *err);

#endif
