/* SPDX-License-Identifier: MIT */
#ifndef TP_SAFETENSORS_SAFETENSORS_CHECK_H
#define TP_SAFETENSORS_SAFETENSORS_CHECK_H

#include "data/tensor_file.h"

/* What the header of a safetensors file holds, and the checks that need all of
 * it: see safetensors_header.h. */

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

/* A dtype of safetensors. */
struct tp_safetensors_dtype {
    const char *name;    /* "F32"                                          */
    unsigned bits;       /* of an element                                  */
    enum tp_dtype dtype;
};
extern const struct tp_safetensors_dtype tp_safetensors_dtypes[];

/*
 * Sorts the entries by place and checks them: names, places, sizes, in this
 * order. Their begins and ends, so far in the data, which starts at byte `data`
 * of `size`, become those of the input. TP_E_DAMAGED names the tensor.
 */
enum tp_status tp_safetensors_check(struct tp_safetensors_header *header,
                                    uint64_t data, uint64_t size,
                                    struct tp_error *err);

/* Adds "while reading the tensor NAME" to a failure; returns `status`. */
enum tp_status tp_safetensors_about(enum tp_status status,
                                    const struct tp_safetensors_entry *entry,
                                    struct tp_error *err);

#endif
