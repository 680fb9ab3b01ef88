/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_RECOVER_H
#define TP_DUMP_DUMP_RECOVER_H

#include "dump/dump.h"

/*
 * Adds the calls that only names of files tell of, as when a dump was killed
 * before its dump.json was written: in the order of their names, each with an
 * item for each file, of which nothing else is known. Sorts the calls.
 * TP_E_MEMORY only.
 */
enum tp_status tp_dump_recover(struct tp_dump_place *place,
                               struct tp_error *err);

#endif
