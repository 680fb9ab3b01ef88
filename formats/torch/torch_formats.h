/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_FORMATS_H
#define TP_TORCH_TORCH_FORMATS_H

#include "data/tensor_file.h"

/* What torch.save is told to write to, in whatever format. */
#define TP_TORCH_SUFFIXES ".pt .pth .pkl .bin .ckpt"

/* The formats of this folder, one per file, for the table in reader.c. */
extern const struct tp_format tp_format_torch_zip;
extern const struct tp_format tp_format_torch_legacy;
extern const struct tp_format tp_format_torch_pickle;
extern const struct tp_format tp_format_torch_tar;
extern const struct tp_format tp_format_torch_package;

#endif
