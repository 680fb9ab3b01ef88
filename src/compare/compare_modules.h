/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_MODULES_H
#define TP_COMPARE_COMPARE_MODULES_H

#include "compare/compare_entry.h"
#include "compare/compare_map.h"

/*
 * Names of modules of A in B by a layer mapping: the path of a module is gone
 * through from the top, and at each module the names that its class has in the
 * map are replaced.
 */

/* The class of a module; spans of a name of A. */
struct tp_compare_class {
    struct tp_msprobe_part path, name;
};

struct tp_compare_modules {
    const struct tp_compare_map *map;
    struct tp_compare_class *classes; /* by path                            */
    size_t count;
};

/* Finds the classes of all modules in rows of A; borrows both. `layers` is
 * zeroed by the caller and released with tp_compare_modules_clear, also after a
 * failure: TP_E_MEMORY. */
enum tp_status tp_compare_modules_init(const struct tp_compare_map *map,
                                       const struct tp_compare_entries *a,
                                       struct tp_compare_modules *layers,
                                       struct tp_error *err);

/*
 * The name under which a row of A, or of B, is looked for: without the class of
 * the module, which differs between frameworks, and of A with the path that it
 * has in B. Names of other calls stay. The name itself or a text of the arena;
 * NULL without memory.
 */
const char *tp_compare_modules_name(const struct tp_compare_modules *layers,
                                    const char *name, bool of_a,
                                    struct tp_arena *arena);

/* Releases everything; empty afterwards. */
void tp_compare_modules_clear(struct tp_compare_modules *layers);

#endif
