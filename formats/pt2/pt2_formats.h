/* SPDX-License-Identifier: MIT */
#ifndef TP_PT2_PT2_FORMATS_H
#define TP_PT2_PT2_FORMATS_H

#include "data/tensor_file.h"

/* The format of this folder, for the table in reader.c. */
extern const struct tp_format tp_format_pt2;

#endif
