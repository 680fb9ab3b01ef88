/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_INPUTS_H
#define TP_TRACE_TRACE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* What an operator was given, from a text of tp_events.inputs. */

enum { TP_OP_ARGS_MAX = 24, TP_OP_AXES_MAX = 8 };

/* What an element of a tensor is, as far as speed and bytes depend on it. */
enum tp_precision {
    TP_PRECISION_NONE, /* not said, or no number                           */
    TP_PRECISION_FP64,
    TP_PRECISION_FP32,
    TP_PRECISION_TF32, /* of matrix products of fp32; no tensor's          */
    TP_PRECISION_FP16,
    TP_PRECISION_BF16,
    TP_PRECISION_FP8,
    TP_PRECISION_FP4,
    TP_PRECISION_INT8,
    TP_PRECISION_OTHER, /* other integers, truth values, complex numbers   */
    TP_PRECISIONS
};

/* "bf16"; "" for those that have no word. */
const char *tp_precision_word(enum tp_precision precision);

/* Bytes of the JSON that an argument is, without its quotes. */
struct tp_op_word {
    const char *text;
    size_t length;
};

struct tp_op_arg {
    int64_t axes;      /* -1: no tensor                                    */
    int64_t dims[TP_OP_AXES_MAX]; /* the first of them                     */
    double elements;   /* of a list of tensors: of all of them; 0: none    */
    double bytes;      /* of an element; 0: not known                      */
    enum tp_precision precision;
    const char *word;  /* of the type: "bf16", "int64"; ""                */
    struct tp_op_word shape, type, strides, value; /* as recorded          */
};

struct tp_op_args {
    size_t count;      /* at most TP_OP_ARGS_MAX; more are left out        */
    struct tp_op_arg args[TP_OP_ARGS_MAX]; /* of what is not there, axes -1 */
};

/* Reads a text of tp_events.inputs. What cannot be read is absent. */
void tp_op_args_read(const char *inputs, struct tp_op_args *args);

/* Appends what an operator was given, as in "bf16[5, 512], bf16[512,
 * 64]/[1, 512], 1, -": of tensors type and shape, and strides if they are not
 * dense; of others the value, or - if it was not recorded. What is longer than
 * TP_OP_SHOWN_MAX bytes is cut. */
enum { TP_OP_SHOWN_MAX = 200 };
void tp_op_args_write(const struct tp_op_args *args, struct tp_text *text);

/* The integers of a value such as "[16, 16]" or "3", at most `most`; how
 * many. */
size_t tp_op_integers(const struct tp_op_word *value, int64_t *numbers,
                      size_t most);

/* Whether a value is this word: "True". */
bool tp_op_is(const struct tp_op_word *value, const char *word);

#endif
