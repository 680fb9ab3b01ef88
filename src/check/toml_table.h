/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_TOML_TABLE_H
#define TP_CHECK_TOML_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* One table of a TOML file, as pyproject.toml has one for each tool. */

enum tp_toml_kind { TP_TOML_TEXT, TP_TOML_BOOL, TP_TOML_LIST };

/* A key and its value. Texts are the arena's. */
struct tp_toml_entry {
    const char *key;
    uint32_t line; /* from 1                                              */
    enum tp_toml_kind kind;
    bool truth;
    const char *const *texts; /* of a list of texts; a text is its first  */
    size_t count;
};

/* A file, and the NAME of its table. */
struct tp_toml_source {
    const char *text;
    size_t length;
    const char *name;
};

/* The table. All-zero bytes are none. */
struct tp_toml_table {
    struct tp_toml_entry *entries; /* released with free()                */
    size_t count;
    bool found;
};

/*
 * The entries of the table [tool.NAME], in their order. Of other tables no more
 * is read than where they end. Fails with TP_E_DAMAGED and the line: what is no
 * TOML, what is in that table but no text, bool or list of texts, a key that
 * comes twice, and the table in another form, as tool.NAME.KEY = ...;
 * TP_E_MEMORY.
 */
enum tp_status tp_toml_read(const struct tp_toml_source *source,
                            struct tp_arena *arena, struct tp_toml_table *table,
                            struct tp_error *err);

#endif
