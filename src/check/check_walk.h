/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_WALK_H
#define TP_CHECK_CHECK_WALK_H

#include "check/check_findings.h"

/*
 * Follows the names through the functions of a script and adds what the rules
 * find, in the order of the lines; `path` tells what the script is for, NULL:
 * unknown. Fails with TP_E_MEMORY.
 */
enum tp_status tp_check_walk(const struct tp_script *script, const char *path,
                             struct tp_check_findings *findings,
                             struct tp_error *err);

#endif
