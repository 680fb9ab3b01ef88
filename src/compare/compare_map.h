/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_MAP_H
#define TP_COMPARE_COMPARE_MAP_H

#include <stdbool.h>

#include "base/memory.h"

/*
 * What the names of A are in B: a text of lines
 *
 *     LEFT: RIGHT        # a comment
 *
 * where LEFT and RIGHT are whole names or some of their components, with or
 * without quotes: "decoder.layers.0.attention: model.layers.0.self_attn",
 * "Torch.add: Tensor.__add__". msprobe's files of data mappings and cell
 * mappings have that form. Its layer mappings have such lines, indented, below
 * the class of a module of A,
 *
 *     CLASS:
 *         LEFT: RIGHT
 *
 * and mean the names of what is in modules of that class; TopLayer (in older
 * files Cell) is the whole. Of RIGHT what is behind a '(' is left out there.
 */

/* The class of the whole. */
#define TP_COMPARE_TOP_LAYER "TopLayer"

struct tp_compare_rule {
    const char *layer;        /* CLASS; NULL: of all names                  */
    const char *left, *right; /* not empty                                  */
    size_t line;              /* from 1                                     */
};

struct tp_compare_map {
    struct tp_compare_rule *rules; /* those of all names, then by class; of
                                      each the longest left first           */
    size_t count, capacity;
    size_t flat; /* rules of all names                                      */
    struct tp_arena arena; /* owns the texts                               */
};

/*
 * Reads a text. TP_E_USAGE names the line that is none of the above, or whose
 * LEFT stood before, of the same class; TP_E_MEMORY. `map` is zeroed by the
 * caller and released with tp_compare_map_clear, also after a failure.
 */
enum tp_status tp_compare_map_parse(const char *text, size_t length,
                                    struct tp_compare_map *map,
                                    struct tp_error *err);

/* The same of a file: TP_E_IO, and TP_E_LIMIT beyond TP_LIMIT_MAP_BYTES. */
enum tp_status tp_compare_map_read(const char *path, struct tp_compare_map *map,
                                   struct tp_error *err);

/*
 * What a name of A is in B by the rules of all names: the longest LEFT that is
 * some of its components is replaced by its RIGHT, once. *whole: it was all of
 * the name. The name itself or a text of the arena; NULL without memory.
 */
const char *tp_compare_map_name(const struct tp_compare_map *map,
                                const char *name, struct tp_arena *arena,
                                bool *whole);

/* Releases everything; empty afterwards. */
void tp_compare_map_clear(struct tp_compare_map *map);

#endif
