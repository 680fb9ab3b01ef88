/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_FIND_H
#define TP_DUMP_DUMP_FIND_H

#include "base/number_set.h"
#include "dump/dump.h"

/*
 * The places of dumps below directories: each that has one of msprobe's json
 * files, or tensors in dump_tensor_data; each rank_R_activations.log of
 * torchtitan is one, too. The step and the rank are those of the
 * directories' names (stepN; rankN, rank, procPID), also of those above the one
 * that was named.
 */

/* What to look for. */
struct tp_dump_wish {
    const char *const *roots; /* a directory anywhere between the parent of a
                                 dump and dump_tensor_data, or one of those
                                 files */
    size_t root_count;
    struct tp_number_set steps, ranks; /* to be read; borrowed             */
};

/* Whether a file is one that a dump is read from, by its name. */
bool tp_dump_names(const char *path);

/*
 * Adds the places, with their files, sorted; no json is read. Processes that
 * are known by their number only are numbered as ranks where a step has
 * several; one alone is rank 0 to who asks for that. TP_E_NOT_FOUND: a root is
 * not there, or none has a dump, or no step or rank that was asked for. Release
 * `dump` also after a failure.
 */
enum tp_status tp_dump_find(const struct tp_dump_wish *wish,
                            struct tp_dump *dump, struct tp_error *err);

#endif
