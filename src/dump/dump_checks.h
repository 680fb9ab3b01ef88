/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_CHECKS_H
#define TP_DUMP_DUMP_CHECKS_H

#include "dump/dump_findings.h"
#include "dump/dump_integrity.h"

/* The checks behind tp_dump_integrity_check, one of which each file
 * dump_check_X.c has. All append findings; TP_E_MEMORY only. */

struct tp_dump_checker {
    const struct tp_dump *dump;
    const struct tp_dump_check_options *options;
    struct tp_dump_findings *findings;
    struct tp_dump_integrity *integrity;
};

/* json files, and what the files beside them say of these. */
enum tp_status tp_dump_check_files(const struct tp_dump_checker *checker,
                                   const struct tp_dump_place *place,
                                   struct tp_error *err);

/* construct.json is a tree. */
enum tp_status tp_dump_check_tree(const struct tp_dump_checker *checker,
                                  const struct tp_dump_place *place,
                                  struct tp_error *err);

/* Steps and ranks have the same calls; none is absent. */
enum tp_status tp_dump_check_sets(const struct tp_dump_checker *checker,
                                  struct tp_error *err);

/* An item of a place. */
struct tp_dump_at {
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
    const struct tp_dump_item *item;
    const struct tp_dump_checked *checked;
};

/* Appends a finding about an item. */
enum tp_status tp_dump_check_add(const struct tp_dump_checker *checker,
                                 const struct tp_dump_at *at,
                                 enum tp_dump_check_id check,
                                 enum tp_severity level,
                                 struct tp_dump_finding **finding,
                                 struct tp_error *err);

/* dtype, shape and statistics of an item that was read. */
enum tp_status tp_dump_check_values(const struct tp_dump_checker *checker,
                                    const struct tp_dump_at *at,
                                    struct tp_error *err);

/* CRC-32 or xor of all items of place number `index`, against its json and
 * against another dump. */
enum tp_status tp_dump_check_crc(const struct tp_dump_checker *checker,
                                 size_t index, struct tp_error *err);

#endif
