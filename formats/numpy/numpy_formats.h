/* SPDX-License-Identifier: MIT */
#ifndef TP_NUMPY_NUMPY_FORMATS_H
#define TP_NUMPY_NUMPY_FORMATS_H

#include "data/tensor_file.h"

/* The formats of this folder, one per file, for the table in reader.c. */
extern const struct tp_format tp_format_npy;
extern const struct tp_format tp_format_npz;

#endif
