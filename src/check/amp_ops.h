/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_AMP_OPS_H
#define TP_CHECK_AMP_OPS_H

#include <stddef.h>

/* What autocast does to operators on CUDA, by the lists of torch 2.15. */

enum tp_amp_policy {
    TP_AMP_NONE,    /* runs in the dtype of its inputs                    */
    TP_AMP_LOWER,   /* inputs are cast to 16 bits                         */
    TP_AMP_FP32,    /* inputs are cast to fp32, or the result is fp32     */
    TP_AMP_PROMOTE, /* inputs are cast to the widest of them              */
    TP_AMP_BANNED   /* raises an error                                    */
};

/* The torch whose lists these are. */
extern const char tp_amp_version[];

struct tp_amp_op {
    const char *name;
    enum tp_amp_policy policy;
};

/* All operators of the lists, sorted by name; the last one has no name. */
extern const struct tp_amp_op tp_amp_ops[];

/* What autocast does to an operator, by its name of `length` bytes. */
enum tp_amp_policy tp_amp_policy_of(const char *name, size_t length);

#endif
