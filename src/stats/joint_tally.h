/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_JOINT_TALLY_H
#define TP_STATS_JOINT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/tally.h"

/*
 * MX tallies of several formats from one count. Under the rules that look at
 * the exponent of a block's largest magnitude alone, that exponent gives the
 * scale for every format: so codes are counted by it, once, and what becomes of
 * them is told at the end, for each format and each pair that occurs.
 */
enum {
    TP_JOINT_BELOW = 16, /* exponents below the first normal one           */
    TP_JOINT_KEYS = 256 + 1 + TP_JOINT_BELOW,
    TP_JOINT_CODES = 65536
};

/* About 72 MB, of which little is touched. All-zero bytes are empty; at most
 * 2^32 - 1 codes between two flushes. */
struct tp_joint_tally {
    uint32_t blocks[TP_TALLY_CODES]; /* by their largest magnitude         */
    bool used[TP_JOINT_KEYS];
    uint16_t largest[TP_JOINT_KEYS]; /* of some block of the key           */
    uint32_t count[TP_JOINT_KEYS][TP_JOINT_CODES]; /* of 8 bits: 256 each  */
};

/* Whether a cast that can be tallied can be so jointly, with any others of the
 * same scale rule. */
bool tp_joint_tally_applies(const struct tp_quant_spec *spec,
                            enum tp_dtype dtype);

/* Plans of casts of one dtype and scale rule, all of which apply. */
struct tp_joint_plans {
    struct tp_tally_plan *const *plan;
    size_t count;
};

/* Counts rows of blocks, which are not columns: all blocks but those with a
 * NaN or an infinity. */
void tp_joint_tally_rows(const struct tp_joint_plans *plans,
                         const struct tp_block_rows *rows,
                         struct tp_joint_tally *joint);

/* Tallies those, for each plan. */
void tp_joint_tally_special(const struct tp_joint_plans *plans,
                            const struct tp_block_rows *rows,
                            struct tp_tally *tallies);

/* Adds the count to the tally of each plan and empties it. */
void tp_joint_tally_flush(const struct tp_joint_plans *plans,
                          struct tp_joint_tally *joint,
                          struct tp_tally *tallies);

#endif
