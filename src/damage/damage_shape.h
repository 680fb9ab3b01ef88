/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_SHAPE_H
#define TP_DAMAGE_DAMAGE_SHAPE_H

#include "base/text.h"
#include "damage/damage_set.h"
#include "data/label.h"

/* What pattern the damaged elements of a tensor form. */

/*
 * The patterns, in the order in which they are tried; rows of
 * tp_damage_shapes. The last four are what happened to the elements, wherever
 * these are.
 */
enum tp_damage_name {
    TP_DAMAGE_NONE,
    TP_DAMAGE_EVERYTHING,
    TP_DAMAGE_ELEMENT,
    TP_DAMAGE_TAIL,
    TP_DAMAGE_HEAD,
    TP_DAMAGE_EXPERT,
    TP_DAMAGE_TOKENS,
    TP_DAMAGE_CHANNEL,
    TP_DAMAGE_STRIDE,
    TP_DAMAGE_ROWS,
    TP_DAMAGE_COLUMNS,
    TP_DAMAGE_CHECKERBOARD,
    TP_DAMAGE_BAND,
    TP_DAMAGE_BLOCK,
    TP_DAMAGE_SCATTERED,
    TP_DAMAGE_BIT,
    TP_DAMAGE_BITS,
    TP_DAMAGE_ROUNDING,
    TP_DAMAGE_NAMES
};

/* One row of the table of patterns. */
struct tp_damage_info {
    const char *id;
    const char *help;  /* one line: what it is                             */
    const char *cause; /* what it is likely of: a sentence; "" of none     */
};

/* Rows by enum tp_damage_name, ended by one whose id is NULL. */
extern const struct tp_damage_info tp_damage_shapes[];

/* What was found. Of no meaning is what does not belong to `where`. */
struct tp_damage_shape {
    enum tp_damage_name name;  /* BIT, BITS, ROUNDING, or as where         */
    enum tp_damage_name where; /* one of the others                        */
    uint64_t damaged, numel;
    uint64_t elements; /* of the pattern                                   */
    uint64_t inside;   /* damaged ones of them; those outside two axes may
                          count twice as outside                           */
    bool few; /* scattered, as so few may be in any pattern by chance      */

    int axis; /* of the plan: TAIL to COLUMNS; -1: in the order of memory  */
    struct tp_damage_set sets[TP_LIMIT_DIMS + 1]; /* that axis; BLOCK: all */
    int64_t tile;     /* TAIL: begins at a multiple of it                  */
    int64_t head_dim; /* HEAD: columns of one; 0: an axis is the heads'    */

    int stretches; /* BAND, and ROWS and TAIL in the order of memory       */
    struct tp_damage_stretch stretch[TP_DAMAGE_STRETCHES];
    int64_t width, step; /* STRIDE in the order of memory                  */
    int64_t first, end;  /* the first damaged element, and behind the last */

    int bit;      /* BIT: which, 0 the lowest                              */
    int ulp_bits; /* ROUNDING: 99 % are less than 2^ulp_bits ULP apart     */
};

/*
 * Finds the pattern, once all elements were added. `label` (or NULL) tells what
 * the axes mean, without which there are no heads, experts, tokens; a head only
 * where its layer is one of attention.
 */
void tp_damage_shape_find(const struct tp_damage_plan *plan,
                          const struct tp_damage *damage, const int64_t *cells,
                          const struct tp_label *label,
                          struct tp_damage_shape *shape);

/* Appends where the damaged elements are: "columns 4 and 5 of 64 along axis
 * 1". Elements are numbered from 0. */
void tp_damage_tell_where(const struct tp_damage_plan *plan,
                          const struct tp_damage_shape *shape,
                          struct tp_text *text);

/* Appends what is not as the pattern says: "; 3 of them lie elsewhere"; nothing
 * where all is. */
void tp_damage_tell_exceptions(const struct tp_damage_plan *plan,
                               const struct tp_damage_shape *shape,
                               struct tp_text *text);

/* All of it, with how many they are and what they hold: "columns 4 and 5 of 64
 * along axis 1: 512 elements, all of them NaN". */
void tp_damage_tell(const struct tp_damage_plan *plan,
                    const struct tp_damage *damage,
                    const struct tp_damage_shape *shape, struct tp_text *text);

/*
 * Appends where the damaged elements of one kind ("NaN") are: "its NaN are in
 * columns 4 to 7 of 64 along axis 1; 3 of them lie elsewhere"; or "all of its
 * elements are NaN".
 */
void tp_damage_tell_kind(const struct tp_damage_plan *plan,
                         const struct tp_damage_shape *shape, const char *word,
                         struct tp_text *text);

/* Bits of a distance in units in the last place that another order of summation
 * may give: elements less than 2^that apart are told to differ by rounding. */
int tp_damage_rounding_bits(enum tp_dtype dtype);

#endif
