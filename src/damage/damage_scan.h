/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_SCAN_H
#define TP_DAMAGE_DAMAGE_SCAN_H

#include "damage/damage.h"
#include "scan/pair_scan.h"

/* Reading tensors for the damage in them. */

/* What a reading found. All-zero bytes are nothing. */
struct tp_damage_found {
    struct tp_damage_plan plan;
    struct tp_damage damage;
    int64_t *cells; /* [plan.cells], owned                                 */
};

/* Releases what it owns; it is empty afterwards. */
void tp_damage_found_clear(struct tp_damage_found *found);

/*
 * Reads a tensor of at least one element and finds the elements that are of one
 * of the `kinds` (enum tp_damage_kind, added up). `found` is zeroed by the
 * caller and cleared with tp_damage_found_clear, also after a failure. Called
 * as a scan is, and fails as one: TP_E_DAMAGED, TP_E_IO, TP_E_MEMORY,
 * TP_E_INTERRUPTED; TP_E_LIMIT as tp_pair_view_make.
 */
enum tp_status tp_damage_scan(struct tp_readers *readers, unsigned worker,
                              const struct tp_tensor *tensor, unsigned kinds,
                              struct tp_damage_found *found,
                              struct tp_error *err);

/* The same of a pair: what of y differs from x, in the view of both. */
enum tp_status tp_damage_scan_pair(struct tp_readers *readers, unsigned worker,
                                   const struct tp_tensor *x,
                                   const struct tp_tensor *y,
                                   struct tp_damage_found *found,
                                   struct tp_error *err);

#endif
