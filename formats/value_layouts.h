/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_VALUE_LAYOUTS_H
#define TP_FORMATS_VALUE_LAYOUTS_H

#include "data/tensor_file.h"

/*
 * Quantised checkpoints: names and dtypes of tensors that belong together as
 * codes and scales, as the tools that write them name these.
 */

/*
 * Adds to an open file, behind each tensor of codes whose scales are there,
 * "X#value", the tensor of the values (data/scaled.h), and marks codes and
 * scales as encoded. Where they contradict each other, or are of a layout that
 * is only known by name, there is a skip that says so and no values. Codes
 * without scales are a skip where config.json, beside the file of this name,
 * says that there must be some. Fails only with TP_E_MEMORY.
 */
enum tp_status tp_value_layouts_add(const char *name,
                                    struct tp_tensor_file *file,
                                    struct tp_error *err);

#endif
