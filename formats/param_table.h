/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_PARAM_TABLE_H
#define TP_FORMATS_PARAM_TABLE_H

#include <stdbool.h>

/* The names that keys of checkpoints are made of; formats/param_name.h says
 * what they become. */

/* Where the words of a pattern are looked for in the path of a module. */
enum tp_param_place {
    TP_PARAM_ANYWHERE, /* consecutive words of it                         */
    TP_PARAM_LAST,     /* its last word that is no number                 */
    TP_PARAM_LEAF      /* the name of the parameter                       */
};

/* One row: words joined by ' ', which may hold '*' for any text and '.'
 * between consecutive words; the case of letters does not matter. */
struct tp_param_pattern {
    const char *type; /* layer_type of what matches */
    enum tp_param_place place;
    const char *words;
    const char *example;
};

/* The layer types; the first row that matches holds. Ended by type NULL. */
extern const struct tp_param_pattern tp_param_patterns[];

/* One row: the role of a leaf; `state`: of an optimizer's state. */
struct tp_param_role {
    const char *component;
    unsigned role; /* of enum tp_role */
    bool state;
    const char *words; /* as above */
    const char *example;
};

/* The roles; the first row that matches holds. Ended by component NULL. */
extern const struct tp_param_role tp_param_roles[];

/* Words joined by ' ' that are dropped from paths: `everywhere` wherever they
 * stand, `front` where they begin one. */
struct tp_param_wrappers {
    const char *everywhere, *front;
};
extern const struct tp_param_wrappers tp_param_wrappers;

/* "in the module", ... : a place in words. */
const char *tp_param_place_word(enum tp_param_place place);

#endif
