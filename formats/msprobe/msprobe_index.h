/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_INDEX_H
#define TP_MSPROBE_MSPROBE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/*
 * What the files beside a dump's tensors say of them: the order in which they
 * were saved, and the layer of the module that called.
 */

/* A text and a number of it. */
struct tp_msprobe_key {
    const char *text;
    int64_t number;
};

struct tp_msprobe_keys {
    struct tp_msprobe_key *keys; /* sorted by text once they are complete   */
    size_t count, capacity;
};

struct tp_msprobe_index {
    struct tp_arena arena;         /* owns the texts                         */
    struct tp_msprobe_keys files;  /* of dump.json: file name, order         */
    struct tp_msprobe_keys layers; /* of construct.json: call, layer        */
};

/*
 * Reads dump.json and, where it is there, construct.json of a directory. Of a
 * damaged file what could be read is kept, and the failure returned. `index`
 * is zeroed by the caller and released with tp_msprobe_index_clear, also after
 * a failure.
 */
enum tp_status tp_msprobe_index_read(const char *directory,
                                     struct tp_msprobe_index *index,
                                     struct tp_error *err);

/* Releases what an index owns; it is empty afterwards. */
void tp_msprobe_index_clear(struct tp_msprobe_index *index);

/* From 0, in the order of dump.json; -1: it does not name the file. */
int64_t tp_msprobe_index_order(const struct tp_msprobe_index *index,
                               const char *file_name);

/* The layer that the call of a file's tensor belongs to: the first number in
 * the path of the nearest module above it that has one; -1: not known. */
int64_t tp_msprobe_index_layer(const struct tp_msprobe_index *index,
                               const char *file_name);

#endif
