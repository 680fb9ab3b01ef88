/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_PLACE_H
#define TP_COMPARE_COMPARE_PLACE_H

#include "dump/dump.h"

/* Which place of A is compared with which of B. */

struct tp_compare_places {
    struct {
        size_t a, b; /* places of the dumps                                */
    } * pairs;
    size_t count, capacity;
    bool steps_differ; /* the only step of A and that of B have two numbers */
};

/*
 * Pairs places of the same step and rank. Where each side has one step only
 * these are compared whatever their numbers, and within a step the only rank of
 * each side. What has no partner is a note in `notes`, with texts of `arena`.
 * TP_E_NOT_FOUND: no place has one. Release `places` with free(pairs), also
 * after a failure; it is zeroed by the caller.
 */
enum tp_status tp_compare_places(const struct tp_dump *a,
                                 const struct tp_dump *b,
                                 struct tp_arena *arena, struct tp_notes *notes,
                                 struct tp_compare_places *places,
                                 struct tp_error *err);

#endif
