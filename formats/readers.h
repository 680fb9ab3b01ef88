/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_READERS_H
#define TP_FORMATS_READERS_H

#include "formats/reader.h"

/* The formats, one per file; the rows of the table in reader.c. */
extern const struct tp_format tp_format_torch_zip;
extern const struct tp_format tp_format_torch_legacy;
extern const struct tp_format tp_format_torch_pickle;
extern const struct tp_format tp_format_torch_tar;

#endif
