/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_SCALED_H
#define TP_DATA_SCALED_H

#include "base/memory.h"
#include "data/number.h"
#include "data/tensor.h"

/*
 * Values that are stored as codes of a few bits and scales for blocks of them.
 * A reader that found codes and scales describes here how they become values;
 * the description is a storage of binary32 values, made when they are read,
 * so that whatever works on tensors works on them.
 *
 *     value = (code - zero) * multiplier
 *
 * in binary32, where the multiplier is scale, scale * factor, scale / factor
 * or scale * factor * (1 / (6 * amax_for)).
 */

/* How codes lie in what is stored, always along the last axis. */
enum tp_packing {
    TP_PACKED_NOT,     /* an element each                                 */
    TP_PACKED_NIBBLES, /* two in a byte, the even one in the low half     */
    TP_PACKED_WORDS    /* a stream of bits in words of 32, low bits first;
                          each line begins with a word                    */
};

/* Blocks of at most so many axes; more is refused. */
enum { TP_SCALED_DIMS = 8 };

/* A number for each block: element [i0, i1, ...] of the value has that at
 * place sum(i / block * pitch) of the tensor's ordered walk. */
struct tp_block_scale {
    const struct tp_tensor *tensor; /* NULL: all have the constant        */
    double constant;
    enum tp_dtype dtype; /* what its codes mean; as stored, or
                            another of the same size           */
    int64_t block[TP_SCALED_DIMS];
    int64_t pitch[TP_SCALED_DIMS]; /* of the last axis: 0 or 1           */
};

enum tp_factor {
    TP_FACTOR_NONE,
    TP_FACTOR_TIMES, /* ModelOpt's weight_scale_2, torchao's              */
    TP_FACTOR_OVER,  /* compressed-tensors' weight_global_scale           */
    TP_FACTOR_AMAX   /* TransformerEngine's: the amax of the tensor       */
};

struct tp_scaled {
    struct tp_storage base;         /* of the values; first, for read      */
    const char *layout;             /* whose it is: "deepseek", ...        */
    const struct tp_tensor *codes;  /* as stored                           */
    const struct tp_number *number; /* what a code means; NULL: an integer */
    enum tp_packing packing;
    int bits;     /* of a code; PACKED_NOT: unused       */
    int64_t bias; /* of integers: code - bias            */
    int ndim;
    int64_t shape[TP_SCALED_DIMS];     /* of the values                       */
    struct tp_block_scale scale, zero; /* zero: integers, may be absent       */
    struct tp_block_scale factor;      /* may be absent                       */
    enum tp_factor factor_use;
    float amax_for; /* scale of a block with that amax     */
};

/*
 * Completes a description: checks that codes, scales, zeros and factor are as
 * large as the shape and the blocks ask for, and sets base. TP_E_DAMAGED says
 * what contradicts what. What it points to outlives it.
 */
enum tp_status tp_scaled_check(struct tp_scaled *scaled, struct tp_error *err);

/*
 * Sets block and pitch of a scale whose tensor has the value's axes, its
 * leading ones, or one element. An axis of the scale is as long as that of the
 * value (a scale each), 1 (one for all), or tells blocks of one of `sizes`,
 * ended by 0: the first that fits. False: none does. Lines of a tensor that is
 * padded are longer than needed: `padded`, where sizes alone decide.
 */
bool tp_block_scale_fit(struct tp_block_scale *scale,
                        const struct tp_scaled *scaled, const int64_t *sizes,
                        bool padded);

/* Makes the tensor of the values: path, and the shape and order of scaled, as
 * axes of the arena. Fails as tp_tensor_check does, or with TP_E_MEMORY. */
enum tp_status tp_scaled_tensor(struct tp_scaled *scaled, const char *path,
                                struct tp_arena *arena,
                                struct tp_tensor *tensor, struct tp_error *err);

/*
 * Reads in order, for who counts codes and not values. `visit` gets a piece of
 * one block's line: the element it starts with, `count` codes (as stored, low
 * bits), and the place of its scale in the walk of these.
 */
struct tp_scaled_piece {
    int64_t first, place;
    size_t count;
    const uint32_t *codes;
    double scale, zero, factor; /* 0 where there is none                  */
};
typedef void tp_scaled_visit(void *context,
                             const struct tp_scaled_piece *piece);

/* Elements [first, first + n). Fails as storage->read does. Any thread. */
enum tp_status tp_scaled_walk(const struct tp_scaled *scaled, int64_t first,
                              int64_t n, tp_scaled_visit *visit, void *context,
                              struct tp_error *err);

#endif
