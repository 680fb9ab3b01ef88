/* SPDX-License-Identifier: MIT */
#ifndef TP_SAFETENSORS_SAFETENSORS_H
#define TP_SAFETENSORS_SAFETENSORS_H

#include "data/tensor_file.h"

/*
 * Safetensors:
 *
 *     8 bytes    length N of the header, little-endian, at most 100 000 000
 *     N bytes    JSON: {"NAME": {"dtype": "F32", "shape": [2, 3],
 *                "data_offsets": [BEGIN, END]}, ..., "__metadata__": {...}}
 *     the rest   tensors, row-major, little-endian, at [BEGIN, END) of it
 *
 * The tensors cover the rest without a gap. What is refused, and in which
 * order, is as in the reference implementation (safetensors 0.8), which reads
 * all of a file or nothing. Two things differ: a name that is there twice is
 * refused here and there kept once; of a file that was cut, or goes on behind
 * its tensors, those that are whole are read here. README and safetensors/src/tensor.rs of it define this.
 */

extern const struct tp_format tp_format_safetensors;

/* One tensor, as the header tells. */
struct tp_safetensors_entry {
    const char *name; /* any bytes; ends in NUL                            */
    size_t name_length;
    uint64_t begin, end;   /* bytes of the input                           */
    const int64_t *shape;  /* [ndim]                                       */
    int ndim;
    int dtype;             /* row of the table of dtypes, see below        */
    int64_t at;            /* byte of its description, for messages        */
};

/* A header; texts and entries are of the arena it was read into. */
struct tp_safetensors_header {
    struct tp_safetensors_entry *entries; /* by place in the data          */
    size_t count;
    struct tp_error end;  /* TP_E_DAMAGED: the file ends before the data of
                             all, or behind it; else TP_OK                 */
    const char *sharding; /* "DCP_SHARDING_INFO" of the metadata, JSON of a
                             checkpoint of several files; NULL: none       */
};

/*
 * Reads and checks the header of an input, and answers `count` questions from
 * its metadata. TP_E_DAMAGED names the tensor and the byte.
 */
enum tp_status tp_safetensors_read(const struct tp_bytes *bytes,
                                   struct tp_metadata *metadata, size_t count,
                                   struct tp_arena *arena,
                                   struct tp_safetensors_header *header,
                                   struct tp_error *err);

/* The tensor of an entry, whose bytes are `storage`; NULL is passed on as lack
 * of memory. Path and what is made for it live in `arena`. */
enum tp_status tp_safetensors_tensor(const struct tp_safetensors_entry *entry,
                                     struct tp_storage *storage,
                                     struct tp_arena *arena,
                                     struct tp_tensor *tensor,
                                     struct tp_error *err);

/* A dtype of safetensors. */
struct tp_safetensors_dtype {
    const char *name;    /* "F32"                                          */
    unsigned bits;       /* of an element                                  */
    enum tp_dtype dtype;
};
extern const struct tp_safetensors_dtype tp_safetensors_dtypes[];

#endif
