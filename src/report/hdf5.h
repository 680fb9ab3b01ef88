/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HDF5_H
#define TP_REPORT_HDF5_H

#include <stdint.h>

#include "base/error.h"
#include "data/table.h"

/* What the root attributes of a summary say. Texts are borrowed. */
struct tp_hdf5_header {
    const char *tool_version;
    const char *command_line;
    uint64_t input_files; /* number of files read */
    uint64_t input_bytes;
    const char *sandbox; /* what was in force; NULL: not said */
};

/* Version of the layout of our HDF5 and JSON files. */
enum { TP_SCHEMA_VERSION = 1 };

/*
 * Writes the tables as compound datasets of one HDF5 file, aside and renamed
 * at the end. Texts become NUL-padded UTF-8 as wide as their longest value;
 * each column's unit is the attribute "<column>.unit" of its dataset. Equal
 * tables give equal bytes. One thread at a time. Fails with TP_E_IO (then
 * nothing is left under `path`) or TP_E_MEMORY.
 */
enum tp_status tp_hdf5_write(const char *path,
                             const struct tp_hdf5_header *header,
                             const struct tp_table *tables, size_t count,
                             struct tp_error *err);

#endif
